//! The overview (`GET /api/stats`): calls of the last hour, and numbers of spaces, methods, sinks
//! and events. `calls` has the calls of longer ranges, [`methods`] the statistics of one method,
//! `sinks` of one sink, `activity` the last day of all methods and sinks of a caller, and `quotas`
//! the use of quotas.

mod activity;
mod calls;
pub mod methods;
mod quotas;
mod sinks;

use std::{sync::Arc, time::Duration};

use svc_core::{
    Permission::{ManageOwnEventSinks, ManageSpaces, UseSpaces, ViewAudit},
    Quotas, UserId,
    activity_stats::{ALL_USERS, StatsRange},
};
use svc_pool::{Cancelled, FairPool, PoolError};
use svc_protocol::api::{CallMinute, MethodStatsPoint, SinkCounts, SpaceCounts, Stats};
use svc_store::{Store, StoreError, Tx, events, sinks as sink_rows, spaces};

use crate::{
    events::sinks::owner_keys,
    identity::{Caller, Directory},
    methods::registry::Registry,
    metrics::{CallStats, Metrics},
    records::{RecordError, Result},
    spaces::Spaces,
    streams::Streams,
};

const HOUR: Duration = Duration::from_secs(60 * 60);
/// Events are counted up to this number, which is precise enough for an overview.
const EVENTS_MAX: u32 = 10_000;
/// The maximum number of failing sinks that an answer lists, and of failing spaces. Further ones are
/// only counted.
const FAILING_MAX: u32 = 100;

/// The scope of the statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "StatsScope")]
pub enum Scope {
    /// The caller's own calls, events, spaces and sinks, and the methods that the caller sees.
    #[default]
    Caller,
    Server,
}

impl Scope {
    /// The user whose calls are in this scope, or [`ALL_USERS`].
    fn user_of(self, caller: &Caller) -> Result<UserId> {
        match self {
            Self::Caller => Ok(caller.user.id),
            Self::Server if caller.may(ViewAudit) => Ok(ALL_USERS),
            Self::Server => Err(RecordError::new(
                "permission_denied",
                "only users with the permission `view_audit` see the statistics of the whole server; ask an administrator for a role with this permission",
            )),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Server => "server",
        }
    }
}

pub struct Overview {
    pub store: Store,
    pub spaces: Arc<Spaces>,
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
    pub metrics: Arc<Metrics>,
    pub calls: Arc<CallStats>,
    /// Counts the methods if there are many.
    pub compute: FairPool,
    pub streams: Streams,
    /// The quotas of users without overrides.
    pub quotas: Quotas,
}

impl Overview {
    pub async fn get(&self, caller: &Caller, scope: Scope) -> Result<Stats> {
        let user = scope.user_of(caller)?;
        let is_server = scope == Scope::Server;
        let now = svc_clock::now();
        let who = caller.clone();
        let read = move |tx: &mut Tx<'_>| {
            let owner = (!is_server).then_some(who.user.id);
            let since = now.minus(HOUR);
            Ok((
                space_counts(tx, &who, is_server)?,
                sink_counts(tx, &who, is_server)?,
                events::count_since(tx, owner, since, EVENTS_MAX)?,
                calls::list_calls(tx, user, StatsRange::Hour.first(now))?,
            ))
        };
        let (mut spaces, sinks, events_last_hour, calls) =
            self.store.read_list(caller.user.id, read).await?;
        if let Some(counts) = &mut spaces
            && manages_spaces(caller)
        {
            let failing = self.spaces.list_failing(caller, FAILING_MAX as usize);
            (counts.failing, counts.failing_total) = failing.await?;
        }
        let (methods, providers) = self.count_methods(caller, is_server).await?;
        let (_, minutes) = self.show_calls(user, StatsRange::Hour, now, calls);
        Ok(Stats {
            scope: scope.label().to_owned(),
            minutes: minutes.into_iter().map(minute).collect(),
            calls_in_flight: is_server.then(|| self.metrics.calls_in_flight()),
            spaces,
            methods,
            providers,
            sinks,
            events_last_hour,
        })
    }

    /// Counts the methods that the caller sees, or all methods, and the linked spaces that offer
    /// them.
    async fn count_methods(
        &self,
        caller: &Caller,
        is_server: bool,
    ) -> Result<(usize, usize), PoolError> {
        let (registry, directory) = (self.registry.clone(), self.directory.clone());
        let user = caller.user.clone();
        let count = move |_: &Cancelled| {
            let viewer = (!is_server).then(|| user.viewer());
            // Methods of deactivated owners are visible to no user.
            let is_active = |owner| {
                let owner = directory.find_user(owner);
                owner.is_some_and(|owner| owner.active)
            };
            registry.count_seen(viewer, is_active)
        };
        if !is_server && self.registry.is_small_for(caller.viewer()) {
            return Ok(count(&Cancelled::default()));
        }
        self.compute.run(caller.user.id, count).await
    }
}

fn minute(point: MethodStatsPoint) -> CallMinute {
    CallMinute {
        minute: point.at,
        calls: point.calls,
        errors: point.errors,
        p50_ms: point.p50_ms,
        p95_ms: point.p95_ms,
    }
}

fn manages_spaces(caller: &Caller) -> bool {
    let permissions = &caller.user.permissions;
    permissions.contains_any(&[UseSpaces, ManageSpaces])
}

fn space_counts(
    tx: &mut Tx<'_>,
    caller: &Caller,
    is_server: bool,
) -> Result<Option<SpaceCounts>, StoreError> {
    if !is_server && !manages_spaces(caller) {
        return Ok(None);
    }
    spaces::count_by_state(tx, (!is_server).then_some(caller.user.id)).map(Some)
}

fn sink_counts(
    tx: &mut Tx<'_>,
    caller: &Caller,
    is_server: bool,
) -> Result<Option<SinkCounts>, StoreError> {
    let manages = caller.may(ManageOwnEventSinks);
    if !is_server && !manages {
        return Ok(None);
    }
    let own = vec![sink_rows::owner_key(caller.user.id)];
    let counts = sink_rows::counts(tx, (!is_server).then_some(&own))?;
    // Includes failing global sinks if the caller manages global sinks.
    let (failing, failing_total) = if manages {
        sink_rows::list_failing(tx, &owner_keys(caller), FAILING_MAX)?
    } else {
        (Vec::new(), 0)
    };
    Ok(Some(SinkCounts {
        failing,
        failing_total,
        ..counts
    }))
}
