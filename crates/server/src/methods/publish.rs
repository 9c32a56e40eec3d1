//! Takes a registration from an agent: checks every rule, resolves groups, and lets it stand as a
//! whole or not at all (spec 2.1; the server trusts no agent's own check).

use std::sync::Arc;

use svc_core::{
    CanonicalName, GroupId, Quota, QuotaExceeded, Quotas, SpaceId, UserId, registration::Warning,
};
use svc_protocol::{
    link::{Accepted, Register},
    problem::Problem,
};
use thiserror::Error;
use tokio::sync::Semaphore;

use super::registry::{Conflict, Definition, Publication, Registry, Subscription};
use crate::{
    clock,
    identity::Directory,
    links::LiveSpace,
    store::{Store, StoreError, sinks},
};

/// Registrations that are checked at the same time.
const CHECKS_AT_ONCE: usize = 2;

pub struct Publisher {
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
    store: Store,
    /// What a user may have, unless another value was set for them.
    quotas: Quotas,
    /// Checks that run at the same time.
    checks: Semaphore,
}

/// A registration that may stand, if no other is in its way.
pub struct CheckedPublication {
    publication: Publication,
    warnings: Vec<Warning>,
}

#[derive(Debug, Error)]
pub enum Refused {
    #[error("{0}")]
    Invalid(String),
    #[error("method `{method}` names the group `{group}`, which does not exist")]
    UnknownGroup { method: String, group: String },
    #[error(transparent)]
    Conflict(#[from] Conflict),
    #[error("the subscriptions could not be stored: {0}")]
    Store(#[from] StoreError),
}

impl Refused {
    fn stopping() -> Self {
        Self::Invalid("the registration was not checked: the server is stopping".to_owned())
    }

    pub fn to_problem(&self) -> Problem {
        match self {
            Self::Invalid(_) => Problem::new(
                422,
                "registration_invalid",
                "Registration refused",
                self.to_string(),
            ),
            Self::UnknownGroup { .. } => {
                let detail = format!(
                    "{self}\nhint: an administrator creates it with `svc group create <name>`"
                );
                Problem::new(422, "unknown_group", "Registration refused", detail)
            }
            Self::Store(_) => {
                Problem::new(503, "unavailable", "Registration refused", self.to_string())
            }
            Self::Conflict(Conflict::Quota(exceeded)) => Problem::quota_exceeded(exceeded),
            Self::Conflict(Conflict::DefinitionBytes { limit, .. }) => {
                Problem::new(409, QuotaExceeded::CODE, "Conflict", self.to_string())
                    .with_limit(*limit, Quota::Methods.setting())
            }
            Self::Conflict(_) => Problem::new(
                409,
                "registration_conflict",
                "Registration refused",
                self.to_string(),
            ),
        }
    }
}

/// A registration may name a sink before it exists.
fn unknown_sink(method: &str, sink: &str) -> String {
    format!(
        "method `{method}` names the event sink `{sink}`, which does not exist; the default format applies until it does"
    )
}

impl CheckedPublication {
    pub fn subscriptions(&self) -> Vec<Subscription> {
        let methods = self.publication.methods.iter();
        methods
            .filter_map(|(definition, _)| Subscription::of(definition))
            .collect()
    }
}

impl Publisher {
    pub fn new(
        registry: Arc<Registry>,
        directory: Arc<Directory>,
        store: Store,
        quotas: Quotas,
    ) -> Self {
        Self {
            registry,
            directory,
            store,
            quotas,
            checks: Semaphore::new(CHECKS_AT_ONCE),
        }
    }

    /// Checks everything that needs no other registration. Schemas are an agent's to choose, so
    /// this is work of unknown size: it is done aside, few at a time.
    pub async fn check(
        &self,
        space: &Arc<LiveSpace>,
        register: Register,
    ) -> Result<CheckedPublication, Refused> {
        let Register {
            registration,
            generation,
            replace_conflicting,
            place,
        } = register;
        let identity = space.identity.clone();
        let _turn = self
            .checks
            .acquire()
            .await
            .map_err(|_| Refused::stopping())?;
        let checking = tokio::task::spawn_blocking(move || {
            registration.check(&identity.name, &identity.owner)
        });
        let checked = checking
            .await
            .map_err(|_| Refused::stopping())?
            .map_err(|faults| {
                let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                Refused::Invalid(faults.join("\n"))
            })?;
        let mut methods = Vec::with_capacity(checked.methods.len());
        let mut warnings = checked.warnings;
        for method in checked.methods {
            let unknown = self.unknown_sinks(space, &method.event_sinks).await?;
            warnings.extend(unknown.iter().map(|sink| unknown_sink(&method.name, sink)));
            let groups = self.resolve_groups(&method.name, &method.groups)?;
            methods.push(Definition::new(method, groups));
        }
        let publication = Publication {
            space: Arc::clone(space),
            server: checked.server,
            methods,
            generation,
            place,
            replace_conflicting,
            quotas: self.quotas_of(space.owner),
        };
        Ok(CheckedPublication {
            publication,
            warnings,
        })
    }

    /// Whether a checked registration would be refused just now.
    pub fn check_conflicts(&self, checked: &CheckedPublication) -> Result<(), Refused> {
        Ok(self.registry.check(&checked.publication)?)
    }

    /// Lets a registration stand. `accepted` is called at that moment, before anyone can pick
    /// from it. Returns the methods that were taken from other spaces.
    pub fn publish(
        &self,
        checked: CheckedPublication,
        accepted: impl FnOnce(Accepted),
    ) -> Result<Vec<(SpaceId, CanonicalName)>, Refused> {
        let CheckedPublication {
            publication,
            warnings,
        } = checked;
        let methods = publication.methods.len();
        let displaced = self
            .registry
            .publish(&publication, clock::now_micros(), |place| {
                accepted(Accepted {
                    place,
                    methods,
                    warnings,
                });
            })?;
        Ok(displaced)
    }

    /// Those of the names that are no json-rpc sink of the owner's or of everyone's.
    async fn unknown_sinks(
        &self,
        space: &LiveSpace,
        names: &[String],
    ) -> Result<Vec<String>, StoreError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let (owner, names) = (space.owner, names.to_vec());
        self.store
            .read(move |tx| {
                let known = sinks::list_json_rpc(tx, owner)?;
                let is_known = |name: &String| known.iter().any(|sink| sink.name == *name);
                Ok(names.into_iter().filter(|name| !is_known(name)).collect())
            })
            .await
    }

    fn quotas_of(&self, owner: UserId) -> Quotas {
        let owner = self.directory.find_user(owner);
        owner.map_or(self.quotas, |owner| owner.quotas(&self.quotas))
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
        let unknown = |group: &String| Refused::UnknownGroup {
            method: method.into(),
            group: group.clone(),
        };
        let mut groups = names
            .iter()
            .map(|name| {
                self.directory
                    .resolve_group(name)
                    .ok_or_else(|| unknown(name))
            })
            .collect::<Result<Vec<_>, _>>()?;
        groups.sort_unstable();
        groups.dedup();
        Ok(Some(groups))
    }
}
