//! Publishes the registration of an agent: checks every rule, resolves groups, and accepts the
//! whole registration or nothing (spec 2.1). The server must not rely on the agent's own check.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use parking_lot::Mutex;
use svc_core::{
    CanonicalName, GroupId, Quota, QuotaExceeded, Quotas, ServerId, SpaceId, UserId,
    registration::{Registration, Warning},
    subscription::{Subscription, SubscriptionsExceeded},
};
use svc_link::{AcceptedRegistration, Register};
use svc_pool::{FairPool, PoolError};
use svc_protocol::problem::Problem;
use svc_store::{Store, StoreError, sinks};
use thiserror::Error;

use super::registry::{Conflict, Definition, Publication, Registry};
use crate::{
    identity::Directory,
    limits::{OverMinuteLimit, RegistrationLimit},
    live::{Link, LiveSpace},
};

/// With more other homes than this, their limits are forgotten.
const HOMES_MAX: usize = 100;

pub struct Publisher {
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
    pub store: Store,
    /// The quotas of users without overrides.
    pub quotas: Quotas,
    /// Checks registrations, and parses large messages of agents.
    pub compute: FairPool,
    pub limits: RegistrationLimits,
}

/// The limits on the registrations of an owner's spaces. Each server of the zone accepts as many as
/// its limit allows, and agents then bring them to all other servers. So a server has a limit for its
/// own home links, and one for each other home.
pub struct RegistrationLimits {
    per_minute: usize,
    /// Registrations on home links.
    here: Arc<RegistrationLimit>,
    /// Registrations on side links, by the server of the home link.
    elsewhere: Mutex<HashMap<ServerId, Arc<RegistrationLimit>>>,
}

/// A registration that is valid by itself. It may still conflict with other registrations.
pub struct CheckedPublication {
    publication: Publication,
    warnings: Vec<Warning>,
    digest: RegistrationDigest,
}

/// SHA-256 of a registration as JSON. All servers of the same version compute the same digest.
pub type RegistrationDigest = [u8; 32];

#[derive(Debug, Error)]
pub enum RegistrationRejected {
    #[error("{0}")]
    Invalid(String),
    #[error("method `{method}` names the group `{group}`, which does not exist")]
    UnknownGroup { method: String, group: String },
    #[error(transparent)]
    Conflict(#[from] Conflict),
    #[error(transparent)]
    Subscriptions(#[from] SubscriptionsExceeded),
    #[error("cannot store the subscriptions: {0}")]
    Store(#[from] StoreError),
    #[error("cannot check the registration: {0}")]
    Unchecked(#[from] PoolError),
    #[error("the registration has no valid ticket of the agent's home server")]
    Ticket,
    #[error("a newer registration of the space is in effect at this server")]
    Outdated,
    #[error(
        "your spaces have made {} registrations within a minute, the most that `registrations_per_minute` allows",
        .0.per_minute
    )]
    TooMany(OverMinuteLimit),
}

impl RegistrationRejected {
    pub fn to_problem(&self) -> Problem {
        let mut detail = self.to_string();
        let (status, code) = match self {
            Self::Invalid(_) => (422, "registration_invalid"),
            Self::UnknownGroup { .. } => {
                detail += "\nhint: an administrator creates it with `svc group create <name>`";
                (422, "unknown_group")
            }
            Self::Store(_) | Self::Unchecked(_) => (503, "unavailable"),
            // Agents keep their registration at the other servers of the zone when they get a 5xx.
            Self::TooMany(over) => {
                let seconds = over.retry_after.as_secs() + 1;
                detail += &format!("\nhint: register again in {seconds} s");
                (503, "too_many_registrations")
            }
            Self::Ticket => (403, "ticket_invalid"),
            Self::Outdated => (409, "registration_outdated"),
            Self::Conflict(Conflict::Quota(exceeded)) => return Problem::quota_exceeded(exceeded),
            Self::Conflict(Conflict::DefinitionBytes { limit, .. })
            | Self::Subscriptions(SubscriptionsExceeded { limit, .. }) => {
                return Problem::new(409, QuotaExceeded::CODE, "Conflict", detail)
                    .with_limit(*limit, Quota::Methods.setting());
            }
            Self::Conflict(_) => (409, "registration_conflict"),
        };
        Problem::new(status, code, "Registration refused", detail)
    }
}

impl RegistrationLimits {
    pub fn new(per_minute: usize) -> Self {
        Self {
            per_minute,
            here: Arc::new(RegistrationLimit::new(per_minute)),
            elsewhere: Mutex::default(),
        }
    }

    fn of(&self, link: &Link) -> Arc<RegistrationLimit> {
        let Some(home) = link.home() else {
            return Arc::clone(&self.here);
        };
        let mut elsewhere = self.elsewhere.lock();
        // Servers that ended long ago are forgotten.
        if elsewhere.len() > HOMES_MAX {
            elsewhere.clear();
        }
        let limit = elsewhere.entry(home);
        Arc::clone(limit.or_insert_with(|| Arc::new(RegistrationLimit::new(self.per_minute))))
    }
}

impl CheckedPublication {
    pub fn subscriptions(&self) -> Vec<Subscription> {
        let methods = self.publication.methods.iter();
        methods
            .filter_map(|(definition, _)| definition.subscription())
            .collect()
    }

    pub fn digest(&self) -> &RegistrationDigest {
        &self.digest
    }

    pub fn quotas(&self) -> Quotas {
        self.publication.quotas
    }

    pub fn generation(&self) -> u32 {
        self.publication.generation
    }

    /// Whether the registration replaces conflicting methods of the owner's other spaces.
    pub fn replaces(&self) -> bool {
        self.publication.replace_conflicting
    }
}

impl Publisher {
    /// Counts a registration against the limit of the owner, before any work for it.
    pub fn admit(&self, space: &LiveSpace, link: &Link) -> Result<(), RegistrationRejected> {
        let is_first = link.take_first_registration();
        let taken = self
            .limits
            .of(link)
            .take((space.owner, space.id), is_first, Instant::now());
        taken.map_err(RegistrationRejected::TooMany)
    }

    /// Checks everything except conflicts with other registrations. Agents choose the schemas, so a
    /// check may take long. It runs on the compute pool and counts as work of the owner.
    pub async fn check(
        &self,
        space: &Arc<LiveSpace>,
        register: Register,
    ) -> Result<CheckedPublication, RegistrationRejected> {
        let Register {
            registration,
            generation,
            replace_conflicting,
            place,
            ticket: _,
        } = register;
        let (identity, directory) = (space.identity.clone(), self.directory.clone());
        let check = move |_: &_| {
            let digest = digest_of(&registration);
            let checked = registration.check(&identity.name, &identity.owner);
            let checked = checked.map_err(|faults| {
                let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                RegistrationRejected::Invalid(faults.join("\n"))
            })?;
            let methods = checked.methods.into_iter().map(|method| {
                let groups = resolve_groups(&directory, &method.name, &method.groups)?;
                Ok(Definition::new(method, groups))
            });
            let methods = methods.collect::<Result<Vec<_>, RegistrationRejected>>()?;
            Ok::<_, RegistrationRejected>((checked.server, methods, checked.warnings, digest))
        };
        // An agent has one registration in progress at a time, so the number of checks is bounded.
        let (server, methods, mut warnings, digest) =
            self.compute.run_unbounded(space.owner, check).await??;
        warnings.extend(self.unknown_sinks(space, &methods).await?);
        let publication = Publication {
            space: Arc::clone(space),
            server,
            methods,
            generation,
            place,
            replace_conflicting,
            accepted_elsewhere: false,
            quotas: self.quotas_of(space.owner),
        };
        Ok(CheckedPublication {
            publication,
            warnings,
            digest,
        })
    }

    /// [`check`](Self::check) for a registration that the agent's home server has accepted. The
    /// caller verifies the ticket.
    pub async fn check_accepted(
        &self,
        space: &Arc<LiveSpace>,
        register: Register,
    ) -> Result<CheckedPublication, RegistrationRejected> {
        let replaces = register.ticket.as_ref().map(|ticket| ticket.replaces);
        let mut checked = self.check(space, register).await?;
        checked.publication.replace_conflicting = replaces.unwrap_or_default();
        checked.publication.accepted_elsewhere = true;
        Ok(checked)
    }

    /// Checks a registration for conflicts, without publishing it.
    pub fn check_conflicts(
        &self,
        checked: &CheckedPublication,
    ) -> Result<(), RegistrationRejected> {
        Ok(self.registry.check(&checked.publication)?)
    }

    /// Publishes a registration. `accepted` is called before any call can be routed to the new
    /// providers. Returns the methods that were removed from other spaces.
    pub fn publish(
        &self,
        checked: CheckedPublication,
        accepted: impl FnOnce(AcceptedRegistration),
    ) -> Result<Vec<(SpaceId, CanonicalName)>, RegistrationRejected> {
        let CheckedPublication {
            publication,
            warnings,
            digest: _,
        } = checked;
        let methods = publication.methods.len();
        let displaced = self
            .registry
            .publish(&publication, svc_clock::now_micros(), |place| {
                accepted(AcceptedRegistration {
                    place,
                    methods,
                    warnings,
                    ticket: None,
                });
            })?;
        Ok(displaced)
    }

    /// Warns about each name in `event_sinks` for which the owner has no json-rpc sink and no
    /// global one exists. This is not an error: a registration may name a sink before the sink
    /// exists.
    async fn unknown_sinks(
        &self,
        space: &LiveSpace,
        methods: &[(Arc<Definition>, String)],
    ) -> Result<Vec<Warning>, StoreError> {
        let names_sinks = |(method, _): &(Arc<Definition>, String)| !method.event_sinks.is_empty();
        if !methods.iter().any(names_sinks) {
            return Ok(Vec::new());
        }
        let owner = space.owner;
        let known = self
            .store
            .read(move |tx| sinks::list_json_rpc(tx, owner))
            .await?;
        let known: HashSet<_> = known.iter().map(|sink| sink.name.as_str()).collect();
        let named = methods.iter().flat_map(|(method, _)| {
            let sinks = method.event_sinks.iter();
            sinks.map(|sink| (method.name.as_str(), sink))
        });
        let unknown = named.filter(|(_, sink)| !known.contains(sink.as_str()));
        let warnings = unknown.map(|(method, sink)| {
            format!(
                "method `{method}` names the event sink `{sink}`, but no json-rpc sink has this name; until there is one, the method gets events in the default format"
            )
        });
        Ok(warnings.collect())
    }

    fn quotas_of(&self, owner: UserId) -> Quotas {
        let owner = self.directory.find_user(owner);
        owner.map_or(self.quotas, |owner| owner.quotas(&self.quotas))
    }
}

fn digest_of(registration: &Registration) -> RegistrationDigest {
    let json = serde_json::to_vec(registration).expect("a registration is always JSON");
    svc_crypto::sha256(json)
}

/// Resolves names or ids of groups (V3). The result is sorted, because the order of the groups in
/// the file must not matter.
fn resolve_groups(
    directory: &Directory,
    method: &str,
    names: &[String],
) -> Result<Option<Vec<GroupId>>, RegistrationRejected> {
    if names.is_empty() {
        return Ok(None);
    }
    let unknown = |group: &String| RegistrationRejected::UnknownGroup {
        method: method.into(),
        group: group.clone(),
    };
    let mut groups = names
        .iter()
        .map(|name| directory.resolve_group(name).ok_or_else(|| unknown(name)))
        .collect::<Result<Vec<_>, _>>()?;
    groups.sort_unstable();
    groups.dedup();
    Ok(Some(groups))
}
