//! What a caller sees of the registry: `GET /api/methods` (spec 4.1, V1-V6).

mod page;

use std::sync::{Arc, atomic::Ordering};

use svc_core::{
    GroupId, Permission, UserId,
    name::tool_name,
    visibility::{Reference, name_for_others},
};
use svc_protocol::api::{AccessibleMethod, Method, Methods, Provider, SharedThrough};

pub use self::page::MethodPage;
use super::registry::{Entry, Registry};
use crate::{
    identity::{Caller, Directory, User},
    links::Availability,
};

pub struct Discovery {
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
}

/// Narrows a list.
#[derive(Default)]
pub struct Filter<'a> {
    /// Exactly this visible name.
    pub name: Option<&'a str>,
    /// Words over name, description and keywords, in any case.
    pub text: Option<&'a str>,
}

impl Filter<'_> {
    fn words(&self) -> Vec<String> {
        let words = self.text.unwrap_or_default().split_whitespace();
        words.map(str::to_lowercase).collect()
    }
}

impl Discovery {
    /// The methods a caller sees, sorted by the names they are called by.
    pub fn list(&self, caller: &Caller, filter: &Filter<'_>) -> Methods {
        let mut methods = match filter.name {
            Some(name) => self.find(caller, name).into_iter().collect(),
            None => self.all(caller),
        };
        let words = filter.words();
        methods.retain(|method| {
            let texts = (&*method.name, &*method.description, &*method.keywords);
            words.iter().all(|word| mentions(texts, word))
        });
        methods.sort_by(|a, b| a.name.cmp(&b.name));
        Methods {
            count: methods.len(),
            methods,
            next_cursor: None,
        }
    }

    fn all(&self, caller: &Caller) -> Vec<Method> {
        let visible = self.registry.list_visible(caller.viewer());
        visible
            .iter()
            .filter_map(|(owner, entry)| self.describe(caller, *owner, entry))
            .collect()
    }

    fn find(&self, caller: &Caller, name: &str) -> Option<Method> {
        let (owner, canonical) = match Reference::parse(name) {
            Reference::Own(canonical) => (caller.user.id, canonical),
            Reference::Others { owner, canonical } => {
                (self.directory.find_user_by_name(owner)?.id, canonical)
            }
        };
        if owner == caller.user.id && matches!(Reference::parse(name), Reference::Others { .. }) {
            return None;
        }
        let entry = self
            .registry
            .find_visible(caller.viewer(), owner, canonical)?;
        self.describe(caller, owner, &entry)
    }

    /// The methods of others that a user sees, sorted, and how many of their own there are. What
    /// the user sees through a group is told to members of that group, and with `manage_groups`.
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
                    name: name_for_others(&owner.name, &definition.name),
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

    /// `None` when the owner has been deactivated or removed meanwhile.
    fn describe(&self, caller: &Caller, owner: UserId, entry: &Entry) -> Option<Method> {
        let definition = &entry.definition;
        let owner = self
            .directory
            .find_user(owner)
            .filter(|owner| owner.active)?;
        let is_own = owner.id == caller.user.id;
        let name = if is_own {
            definition.name.to_string()
        } else {
            name_for_others(&owner.name, &definition.name)
        };
        let able = |p: &&Arc<super::provider::Provider>| p.availability() == Availability::Ready;
        let groups = definition.groups.iter().flatten();
        Some(Method {
            mcp_tool: definition.tool_name.is_some(),
            mcp_tool_name: definition.tool_name.as_ref().map(|_| tool_name(&name)),
            name,
            description: definition.description.clone(),
            keywords: definition.keywords.clone(),
            scope: definition.scope.to_string(),
            params_schema: definition.params_schema.clone(),
            result_schema: definition.result_schema.clone(),
            owner_id: owner.id,
            owner: owner.name.clone(),
            provider_count: entry.providers.iter().filter(able).count(),
            local_name: entry
                .providers
                .first()
                .filter(|_| is_own)
                .map(|p| p.local_name.clone()),
            groups: if is_own {
                // A deleted group matches nobody; it must not look like no group at all.
                groups
                    .map(|g| {
                        self.directory
                            .group_name(*g)
                            .unwrap_or_else(|| g.to_string())
                    })
                    .collect()
            } else {
                Vec::new()
            },
            events: if is_own {
                definition.events.iter().map(ToString::to_string).collect()
            } else {
                Vec::new()
            },
            event_sinks: if is_own {
                definition.event_sinks.clone()
            } else {
                Vec::new()
            },
            providers: if is_own { providers(entry) } else { Vec::new() },
        })
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

/// Whether a word is in the name, the description or a keyword of a method.
fn mentions((name, description, keywords): (&str, &str, &[String]), word: &str) -> bool {
    let keywords = keywords.iter().map(String::as_str);
    [name, description]
        .into_iter()
        .chain(keywords)
        .any(|text| text.to_lowercase().contains(word))
}
