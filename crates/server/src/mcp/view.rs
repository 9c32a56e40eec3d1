//! The tools of one user, serialised once. An answer to `tools/list` does not copy the serialised
//! tools.

mod cache;
mod list;

pub use cache::Views;
pub use list::{List, Page};

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde::Serialize;

use super::{
    era::Era,
    search::Index,
    tools::{ListedTool, Tool},
};
use crate::{identity::User, methods::registry::ToolsVersion};

/// Everything a view depends on: equal stamps mean equal views.
#[derive(Clone)]
pub struct Stamp {
    user: Arc<User>,
    tools: ToolsVersion,
    scripts: u64,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        let is_same_user = Arc::ptr_eq(&self.user, &other.user)
            || self.user.id == other.user.id
                && self.user.permissions == other.user.permissions
                && self.user.groups == other.user.groups;
        is_same_user && self.tools == other.tools && self.scripts == other.scripts
    }
}

/// The tools of one user.
pub struct View {
    stamp: Stamp,
    /// Sorted by name.
    tools: Vec<Tool>,
    by_name: HashMap<Arc<str>, usize>,
    legacy: List,
    modern: List,
    /// The hidden tools as a JSON array, if there are any.
    hidden: Option<Arc<str>>,
    index: OnceLock<Index>,
}

/// A tool that is not listed, because another tool has the same name.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct HiddenTool {
    pub tool: String,
    pub hidden: Source,
    pub listed: Source,
}

/// The method or script of a tool.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    pub kind: &'static str,
    pub name: String,
}

/// The maximum number of hidden tools that a list reports.
const HIDDEN_MAX: usize = 100;

impl View {
    /// Of several tools with the same name, keeps the first one in this order: the user's own tools
    /// before other tools, methods before scripts, earlier registrations before later ones.
    fn new(stamp: Stamp, mut listed: Vec<ListedTool>) -> (Self, Vec<HiddenTool>) {
        listed.sort_by(|a, b| {
            let rank = |p: &ListedTool| (!p.is_own, p.place);
            let by_name = a.tool.name.cmp(&b.tool.name);
            by_name
                .then_with(|| rank(a).cmp(&rank(b)))
                .then_with(|| a.tool.source_name().cmp(b.tool.source_name()))
        });
        let mut hidden = Vec::new();
        listed.dedup_by(|later, kept| {
            let is_duplicate = later.tool.name == kept.tool.name;
            if is_duplicate {
                hidden.push(HiddenTool {
                    tool: kept.tool.name.to_string(),
                    hidden: Source::of(&later.tool),
                    listed: Source::of(&kept.tool),
                });
            }
            is_duplicate
        });
        let modern = List::new(listed.iter().map(|p| p.modern.as_str()));
        let legacy = if listed.iter().any(|p| p.legacy.is_some()) {
            List::new(
                listed
                    .iter()
                    .map(|p| p.legacy.as_ref().unwrap_or(&p.modern).as_str()),
            )
        } else {
            modern.clone()
        };
        let tools: Vec<_> = listed.into_iter().map(|p| p.tool).collect();
        let by_name = tools.iter().enumerate();
        let view = Self {
            by_name: by_name
                .map(|(at, tool)| (Arc::clone(&tool.name), at))
                .collect(),
            stamp,
            tools,
            legacy,
            modern,
            hidden: (!hidden.is_empty()).then(|| write_hidden(&hidden)),
            index: OnceLock::new(),
        };
        (view, hidden)
    }

    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(|&at| &self.tools[at])
    }

    pub fn list(&self, era: Era) -> &List {
        match era {
            Era::Legacy => &self.legacy,
            Era::Modern => &self.modern,
        }
    }

    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The index for searches, which the first search builds.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(&self.tools))
    }

    /// The page after a cursor; `None` if the cursor is malformed.
    pub fn page(&self, era: Era, cursor: Option<&str>) -> Option<Page> {
        let from = match cursor {
            None => 0,
            Some(cursor) => {
                let after = read_cursor(cursor)?;
                // By name and not by index: the list may have changed since the last page.
                self.tools.partition_point(|tool| *tool.name <= *after)
            }
        };
        let (tools, end) = self.list(era).page(from);
        let next = (end < self.tools.len()).then(|| write_cursor(&self.tools[end - 1].name));
        let hidden = self.hidden.clone().filter(|_| cursor.is_none());
        Some(Page {
            tools,
            next,
            hidden,
        })
    }

    /// The approximate memory of the view.
    fn bytes(&self) -> usize {
        let lists = self.legacy.bytes() + self.modern.bytes();
        // The index is about as large as the list.
        lists + self.modern.bytes() + self.tools.len() * 500
    }
}

impl Source {
    fn of(tool: &Tool) -> Self {
        Self {
            kind: tool.source_kind(),
            name: tool.source_name().to_owned(),
        }
    }
}

fn write_hidden(hidden: &[HiddenTool]) -> Arc<str> {
    let reported = &hidden[..hidden.len().min(HIDDEN_MAX)];
    let json = serde_json::to_string(reported).expect("texts are always JSON");
    json.into()
}

/// A cursor is this mark and the last name of the previous page, in Base64. A text without the mark
/// is rejected.
const CURSOR_MARK: &str = "after:";

fn write_cursor(name: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{CURSOR_MARK}{name}"))
}

fn read_cursor(cursor: &str) -> Option<String> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    text.strip_prefix(CURSOR_MARK).map(str::to_owned)
}
