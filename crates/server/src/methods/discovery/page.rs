//! One page of `GET /api/methods`: the methods with the next names after a cursor.
//!
//! The cursor is the last name of the previous page. So if a method is added or removed between two
//! requests, no other method is repeated or left out. Without a filter by name or by space, only
//! the methods of the page are described; the others are compared by name and counted.

use std::{
    borrow::Cow,
    collections::{BinaryHeap, HashMap},
};

use svc_core::visibility::visible_name;
use svc_pool::Cancelled;
use svc_protocol::api::Methods;
use svc_store::{InvalidPage, PAGE_DEFAULT, PAGE_MAX};

use super::{Discovery, Filter, mentions};
use crate::identity::Caller;

/// The requested page of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodPage {
    /// The page begins with the first name after this one.
    after: String,
    limit: usize,
}

impl MethodPage {
    /// Parses `?cursor=` and `?limit=`. If both are absent, returns `None`, which means the whole
    /// list.
    pub fn parse(cursor: Option<String>, limit: Option<u32>) -> Result<Option<Self>, InvalidPage> {
        if cursor.is_none() && limit.is_none() {
            return Ok(None);
        }
        let limit = limit.unwrap_or(PAGE_DEFAULT);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(InvalidPage::Limit(limit));
        }
        Ok(Some(Self {
            after: cursor.unwrap_or_default(),
            limit: limit as usize,
        }))
    }
}

/// The smallest names after the cursor: those of the page, and one more, which shows that there is
/// a next page.
struct Selection<'a> {
    page: &'a MethodPage,
    /// The largest name on top, so that a smaller one can replace it.
    names: BinaryHeap<String>,
    /// Matches on all pages.
    count: usize,
}

impl Selection<'_> {
    fn add(&mut self, name: Cow<'_, str>) {
        self.count += 1;
        if *name <= *self.page.after {
            return;
        }
        if self.names.len() > self.page.limit {
            match self.names.peek() {
                Some(largest) if *name >= **largest => return,
                _ => drop(self.names.pop()),
            }
        }
        self.names.push(name.into_owned());
    }
}

impl Discovery {
    /// One page of [`list`](Self::list). `count` is the number of methods on all pages.
    pub fn list_page(
        &self,
        caller: &Caller,
        filter: &Filter,
        page: &MethodPage,
        cancelled: &Cancelled,
    ) -> Methods {
        let mut selection = Selection {
            page,
            names: BinaryHeap::new(),
            count: 0,
        };
        match (&filter.name, filter.space) {
            (Some(_), _) | (_, Some(_)) => {
                for method in self.list(caller, filter, cancelled).methods {
                    selection.add(method.name.into());
                }
            }
            (None, None) => self.select(caller, filter, &mut selection, cancelled),
        }
        let Selection { names, count, .. } = selection;
        let mut names = names.into_sorted_vec();
        let more = names.len() > page.limit;
        names.truncate(page.limit);
        let next_cursor = names.last().filter(|_| more).cloned();
        // A method that was withdrawn in the meantime is omitted.
        let methods = names.iter().filter_map(|name| {
            let (owner, entry) = self.find(caller, name)?;
            self.describe(caller, owner, &entry)
        });
        Methods {
            count,
            methods: methods.collect(),
            next_cursor: Some(next_cursor),
        }
    }

    fn select(
        &self,
        caller: &Caller,
        filter: &Filter,
        selection: &mut Selection<'_>,
        cancelled: &Cancelled,
    ) {
        // Owners by id. `None` for an inactive owner, whose methods no caller sees.
        let mut owners = HashMap::new();
        for (owner, definition) in self.registry.list_visible_definitions(caller.viewer()) {
            if cancelled.is_set() {
                return;
            }
            let owner = owners.entry(owner).or_insert_with(|| {
                let owner = self.directory.find_user(owner);
                owner.filter(|owner| owner.active)
            });
            let Some(owner) = owner else { continue };
            let name = visible_name(caller.user.id, owner.as_owner(), &definition.name);
            if filter.accepts(owner, &definition) && mentions(&name, &definition, &filter.words) {
                selection.add(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names selected from five methods, and the number of matches.
    fn page(after: &str, limit: usize) -> (Vec<String>, usize) {
        let page = MethodPage {
            after: after.to_owned(),
            limit,
        };
        let mut selection = Selection {
            page: &page,
            names: BinaryHeap::new(),
            count: 0,
        };
        for name in ["d", "a", "e", "c", "b"] {
            selection.add(name.into());
        }
        (selection.names.into_sorted_vec(), selection.count)
    }

    #[test]
    fn a_selection_keeps_the_next_names_and_one_more_and_counts_all() {
        for (after, limit, names) in [
            ("", 2, &["a", "b", "c"][..]),
            ("b", 2, &["c", "d", "e"]),
            ("bb", 1, &["c", "d"]),
            ("d", 5, &["e"]),
            ("e", 5, &[]),
        ] {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(page(after, limit), (names, 5), "after `{after}`");
        }
    }

    #[test]
    fn a_limit_or_a_cursor_requests_a_page() {
        assert_eq!(MethodPage::parse(None, None), Ok(None));
        let page = MethodPage::parse(Some("a".to_owned()), None).expect("valid");
        let page = page.expect("a page");
        assert_eq!((page.after.as_str(), page.limit), ("a", 100));
        for limit in [0, 1_001] {
            let refused = MethodPage::parse(None, Some(limit));
            assert_eq!(refused, Err(InvalidPage::Limit(limit)));
        }
    }
}
