//! Takes a registration from an agent: checks every rule, resolves groups, and lets it stand as a
//! whole or not at all (spec 2.1; the server trusts no agent's own check).

use std::sync::Arc;

use svc_core::GroupId;
use svc_protocol::{
    link::{Accepted, Register},
    problem::Problem,
};
use thiserror::Error;

use super::registry::{Conflict, Definition, Publication, Registry};
use crate::{clock, identity::Directory, links::LiveSpace};

pub struct Publisher {
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
}

#[derive(Debug, Error)]
pub enum Refused {
    #[error("{0}")]
    Invalid(String),
    #[error("method `{method}` names the group `{group}`, which does not exist")]
    UnknownGroup { method: String, group: String },
    #[error(transparent)]
    Conflict(#[from] Conflict),
}

impl Refused {
    pub fn to_problem(&self) -> Problem {
        match self {
            Self::Invalid(_) => {
                Problem::new(422, "registration_invalid", "Registration refused", self.to_string())
            }
            Self::UnknownGroup { .. } => {
                let detail = format!("{self}\nhint: an administrator creates it with `svc group create <name>`");
                Problem::new(422, "unknown_group", "Registration refused", detail)
            }
            Self::Conflict(_) => {
                Problem::new(409, "registration_conflict", "Registration refused", self.to_string())
            }
        }
    }
}

/// No sink can exist before there are events; a registration may name it beforehand.
fn unknown_sink(method: &str, sink: &str) -> String {
    format!(
        "method `{method}` names the event sink `{sink}`, which does not exist; the default format applies until it does"
    )
}

impl Publisher {
    /// `accepted` is called at the moment the registration stands, before anyone can pick from
    /// it. Returns the number of methods.
    pub fn publish(
        &self,
        space: &Arc<LiveSpace>,
        register: Register,
        accepted: impl FnOnce(Accepted),
    ) -> Result<usize, Refused> {
        let identity = &space.identity;
        let checked =
            register.registration.check(&identity.name, &identity.owner).map_err(|faults| {
                let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                Refused::Invalid(faults.join("\n"))
            })?;
        let mut methods = Vec::with_capacity(checked.methods.len());
        let mut warnings = checked.warnings;
        for method in checked.methods {
            warnings.extend(method.event_sinks.iter().map(|sink| unknown_sink(&method.name, sink)));
            let groups = self.resolve_groups(&method.name, &method.groups)?;
            methods.push(Definition::new(method, groups));
        }
        let publication = Publication {
            space: Arc::clone(space),
            server: checked.server,
            methods,
            generation: register.generation,
            place: register.place,
            replace_conflicting: register.replace_conflicting,
        };
        let methods = publication.methods.len();
        self.registry.publish(&publication, clock::now_micros(), |place| {
            accepted(Accepted { place, methods, warnings });
        })?;
        Ok(methods)
    }

    /// V3: names or ids; sorted, so that the order they were written in makes no difference.
    fn resolve_groups(
        &self,
        method: &str,
        names: &[String],
    ) -> Result<Option<Vec<GroupId>>, Refused> {
        if names.is_empty() {
            return Ok(None);
        }
        let unknown =
            |group: &String| Refused::UnknownGroup { method: method.into(), group: group.clone() };
        let mut groups = names
            .iter()
            .map(|name| self.directory.resolve_group(name).ok_or_else(|| unknown(name)))
            .collect::<Result<Vec<_>, _>>()?;
        groups.sort_unstable();
        groups.dedup();
        Ok(Some(groups))
    }
}
