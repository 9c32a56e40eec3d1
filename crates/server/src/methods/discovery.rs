//! The methods that a caller sees: `GET /api/methods` (spec 4.1, V1-V6).

mod page;

use std::sync::{Arc, atomic::Ordering};

use svc_core::{
    GroupId, Permission, Permissions, SpaceId, UserId,
    delivery_policy::Overflow,
    name::tool_name,
    visibility::{MethodScope, Viewer, resolve, visible_name},
};
use svc_pool::{Cancelled, FairPool, PoolError};
use svc_protocol::api::{
    AccessibleMethod, GroupMethod, GroupMethods, Method, Methods, Provider, SharedThrough,
};
use thiserror::Error;

pub use self::page::MethodPage;
use super::registry::{Definition, Entry, Registry};
use crate::{
    identity::{Caller, Directory, User},
    live::Availability,
};

/// The maximum number of words in one search.
const WORDS_MAX: usize = 16;
/// The maximum number of names in the list of a group's methods.
const GROUP_NAMES_MAX: usize = 100;

#[derive(Clone)]
pub struct Discovery {
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
    /// Builds large lists.
    pub compute: FairPool,
}

/// Selects methods of a list.
#[derive(Clone, Default, Debug)]
pub struct Filter {
    /// The visible name must be equal to this.
    name: Option<String>,
    /// Words in lower case. Each must occur in the name, the description or a keyword.
    words: Vec<String>,
    /// The name of the owner.
    pub owner: Option<String>,
    pub scope: Option<MethodScope>,
    /// A space that offers the method. Only the owner of a method sees its spaces.
    pub space: Option<SpaceId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the search has {0} words; at most {WORDS_MAX} are allowed")]
pub struct TooManyWords(usize);

impl Filter {
    /// `text` contains the words to search for, in upper or lower case.
    pub fn new(name: Option<String>, text: Option<&str>) -> Result<Self, TooManyWords> {
        let words = text.unwrap_or_default().split_whitespace();
        match words.clone().count() {
            count if count > WORDS_MAX => Err(TooManyWords(count)),
            _ => Ok(Self {
                name,
                words: words.map(str::to_lowercase).collect(),
                ..Self::default()
            }),
        }
    }

    /// Whether a definition of this owner can match.
    fn accepts(&self, owner: &User, definition: &Definition) -> bool {
        self.owner
            .as_ref()
            .is_none_or(|name| owner.name.as_str() == name)
            && self.scope.is_none_or(|scope| definition.scope == scope)
    }

    /// Whether one of the spaces that offer a method matches.
    fn accepts_spaces(&self, method: &Method) -> bool {
        let is_in = |space| method.providers.iter().any(|one| one.space_id == space);
        self.space.is_none_or(is_in)
    }
}

impl Discovery {
    /// Lists the methods that a caller sees, all or one page, as the JSON of [`Methods`].
    pub async fn list_json(
        &self,
        caller: &Caller,
        filter: Filter,
        page: Option<MethodPage>,
    ) -> Result<Vec<u8>, PoolError> {
        let is_one = filter.name.is_some();
        let who = caller.clone();
        let write = move |discovery: &Self, cancelled: &Cancelled| {
            let methods = match page {
                Some(page) => discovery.list_page(&who, &filter, &page, cancelled),
                None => discovery.list(&who, &filter, cancelled),
            };
            serde_json::to_vec(&methods).expect("a list of methods is always JSON")
        };
        self.run_by_size(caller.user.id, &caller.user, is_one, write)
            .await
    }

    /// Runs small work on the current thread, and larger work on the compute pool, as a job of the
    /// user `account`. The work counts as small if `is_small` is set, or if `viewer` sees only few
    /// methods with short definitions.
    pub async fn run_by_size<T: Send + 'static>(
        &self,
        account: UserId,
        viewer: &User,
        is_small: bool,
        work: impl FnOnce(&Self, &Cancelled) -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        if is_small || self.registry.is_small_for(viewer.viewer()) {
            return Ok(work(self, &Cancelled::default()));
        }
        let discovery = self.clone();
        let work = move |cancelled: &Cancelled| work(&discovery, cancelled);
        self.compute.run(account, work).await
    }

    /// Lists the methods that a caller sees, sorted by visible name. Stops early once cancelled.
    pub fn list(&self, caller: &Caller, filter: &Filter, cancelled: &Cancelled) -> Methods {
        let visible = match &filter.name {
            Some(name) => self.find(caller, name).into_iter().collect(),
            None => self.registry.list_visible(caller.viewer()),
        };
        let mut methods: Vec<_> = visible
            .iter()
            .take_while(|_| !cancelled.is_set())
            .filter(|(owner, entry)| self.is_wanted(caller, *owner, entry, filter))
            .filter_map(|(owner, entry)| self.describe(caller, *owner, entry))
            .filter(|method| filter.accepts_spaces(method))
            .collect();
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        Methods {
            count: methods.len(),
            methods,
            next_cursor: None,
        }
    }

    /// Whether a method matches the words, the owner and the scope of a filter.
    fn is_wanted(&self, caller: &Caller, owner: UserId, entry: &Entry, filter: &Filter) -> bool {
        let definition = &entry.definition;
        let owner = self.directory.find_user(owner);
        owner.is_some_and(|owner| {
            let name = visible_name(caller.user.id, owner.as_owner(), &definition.name);
            filter.accepts(&owner, definition) && mentions(&name, definition, &filter.words)
        })
    }

    fn find(&self, caller: &Caller, name: &str) -> Option<(UserId, Entry)> {
        let find_owner = |name: &str| self.directory.find_active_user(name);
        let (owner, canonical) = resolve(caller.user.id, name, find_owner)?;
        let entry = self
            .registry
            .find_visible(caller.viewer(), owner, canonical)?;
        Some((owner, entry))
    }

    /// Lists the methods that a user sees and that belong to other active users, sorted by name.
    /// Also counts the user's own methods. A method that the user sees through groups is listed
    /// only if the caller is a member of one of these groups or holds `manage_groups`.
    pub fn shared_with(&self, user: &User, caller: &Caller) -> (Vec<AccessibleMethod>, usize) {
        let all_groups = caller.may(Permission::ManageGroups);
        let visible = self.registry.list_visible(user.viewer());
        let (own, others): (Vec<_>, Vec<_>) =
            visible.iter().partition(|(owner, _)| *owner == user.id);
        let mut methods: Vec<_> = others
            .into_iter()
            .filter_map(|(owner, entry)| {
                let owner = self.directory.find_user(*owner);
                let owner = owner.filter(|owner| owner.active)?;
                let definition = &entry.definition;
                let groups = definition.groups.iter().flatten();
                let known = |group: &&GroupId| all_groups || caller.user.groups.contains(group);
                let mut shared = groups
                    .filter(|group| user.groups.contains(group))
                    .filter(known)
                    .peekable();
                if definition.groups.is_some() && shared.peek().is_none() {
                    return None;
                }
                Some(AccessibleMethod {
                    name: visible_name(user.id, owner.as_owner(), &definition.name).into_owned(),
                    owner: owner.name.clone(),
                    through: match definition.groups {
                        Some(_) => SharedThrough::Group,
                        None => SharedThrough::Everyone,
                    },
                    groups: shared
                        .filter_map(|group| self.directory.group_name(*group))
                        .collect(),
                })
            })
            .collect();
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        (methods, own.len())
    }

    /// The methods that are limited to a group. All of them are counted, and at most
    /// [`GROUP_NAMES_MAX`] are listed by name. The list contains the caller's own methods. For
    /// callers with `manage_users`, and for members of the group with `use_methods`, it also
    /// contains the methods of other owners.
    pub async fn list_limited_to(
        &self,
        group: GroupId,
        caller: &Caller,
    ) -> Result<GroupMethods, PoolError> {
        let (discovery, caller) = (self.clone(), caller.clone());
        let user = caller.user.id;
        let list = move |_: &Cancelled| discovery.limited_to(group, &caller);
        self.compute.run(user, list).await
    }

    fn limited_to(&self, group: GroupId, caller: &Caller) -> GroupMethods {
        let groups = [group];
        // An imaginary user who is a member of this group only and owns no methods.
        let member = Viewer {
            id: UserId::NIL,
            permissions: Permissions::all(),
            groups: &groups,
        };
        let is_member = caller.user.groups.contains(&group);
        let sees_all = caller.may(Permission::ManageUsers)
            || (is_member && caller.may(Permission::UseMethods));
        let visible = self.registry.list_visible_definitions(member);
        let limited = visible
            .iter()
            .filter(|(_, definition)| definition.groups.is_some());
        let (mut total, mut only) = (0, 0);
        let mut methods = Vec::new();
        for (owner, definition) in limited {
            let is_only = definition.groups.as_ref().is_some_and(|all| all.len() == 1);
            total += 1;
            only += usize::from(is_only);
            let owner = self.directory.find_user(*owner);
            let Some(owner) = owner.filter(|owner| sees_all || owner.id == caller.user.id) else {
                continue;
            };
            let name = visible_name(caller.user.id, owner.as_owner(), &definition.name);
            methods.push(GroupMethod {
                name: name.into_owned(),
                owner: owner.name.clone(),
                only: is_only,
            });
        }
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        methods.truncate(GROUP_NAMES_MAX);
        GroupMethods {
            total,
            only,
            methods,
            script_sinks: 0,
        }
    }

    /// Returns `None` if the owner is inactive or deleted.
    fn describe(&self, caller: &Caller, owner: UserId, entry: &Entry) -> Option<Method> {
        let definition = &entry.definition;
        let owner = self
            .directory
            .find_user(owner)
            .filter(|owner| owner.active)?;
        let is_own = owner.id == caller.user.id;
        let name = visible_name(caller.user.id, owner.as_owner(), &definition.name).into_owned();
        let able = |p: &&Arc<super::provider::Provider>| p.availability() == Availability::Ready;
        let mut method = Method {
            mcp_tool: definition.tool_name.is_some(),
            mcp_tool_name: definition.tool_name.as_ref().map(|_| tool_name(&name)),
            name,
            title: definition.title.clone(),
            annotations: definition.annotations,
            description: definition.description.clone(),
            keywords: definition.keywords.clone(),
            scope: definition.scope.to_string(),
            params_schema: definition.params_schema.clone(),
            result_schema: definition.result_schema.clone(),
            journal: definition.journal.level,
            journal_redact: definition.journal.redact.to_vec(),
            owner_id: owner.id,
            owner: owner.name.clone(),
            provider_count: entry.providers.iter().filter(able).count(),
            local_name: None,
            groups: Vec::new(),
            deleted_groups: 0,
            events: Vec::new(),
            event_sinks: Vec::new(),
            event_overflow: Overflow::default(),
            providers: Vec::new(),
        };
        if is_own {
            let first = entry.providers.first();
            method.local_name = first.map(|provider| provider.local_name.clone());
            let groups = definition.groups.iter().flatten();
            let names = groups
                .clone()
                .filter_map(|group| self.directory.group_name(*group));
            method.groups = names.collect();
            // Without this number, an empty list of groups would look like "shared with all users".
            method.deleted_groups = groups.count() - method.groups.len();
            method.events = definition.events.iter().map(ToString::to_string).collect();
            method.event_sinks.clone_from(&definition.event_sinks);
            method.event_overflow = definition.event_overflow;
            method.providers = providers(entry);
        }
        Some(method)
    }
}

fn providers(entry: &Entry) -> Vec<Provider> {
    entry
        .providers
        .iter()
        .map(|provider| Provider {
            space_id: provider.space.id,
            space: provider.space.name.clone(),
            in_flight: provider.in_flight.load(Ordering::Relaxed),
            state: provider.availability().as_str().to_owned(),
        })
        .collect()
}

/// Whether each word occurs in the name, the description or a keyword of a method.
fn mentions(name: &str, definition: &Definition, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let keywords = definition.keywords.iter().map(String::as_str);
    let texts = [name, &definition.description].into_iter().chain(keywords);
    let texts: Vec<_> = texts.map(str::to_lowercase).collect();
    let is_in = |word: &String| texts.iter().any(|text| text.contains(word.as_str()));
    words.iter().all(is_in)
}
