//! Emit: creates the custom events of callers (spec 6.2).
//!
//! Returns only after the event, its deliveries, drops and audit entries are committed. The route,
//! not
//! this module, checks the permission to emit.

mod command;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_clock::Clock;
use svc_core::{
    EventId, SpaceId, UserId,
    event::{self, EmitError, Event},
    quota::{QuotaExceeded, Quotas},
};
use svc_protocol::api::{Emit, EmittedEvent};
use svc_store::{Store, StoreError};
use thiserror::Error;
use tokio_util::task::TaskTracker;

use self::command::{EmitCommand, EmitOutcome, IdempotencyKey};
use super::{dispatch::DispatchResult, hub::Hub};
use crate::{
    identity::{Caller, Credential, Directory, IdentityError},
    limits::{OverLimit, RateLimit},
};

/// Limit of the characters of an idempotency key.
const KEY_MAX: usize = 255;

#[derive(Clone, PartialEq, Debug, Error)]
pub enum EmitServiceError {
    #[error(transparent)]
    Invalid(#[from] EmitError),
    #[error("an idempotency key must have 1 to {KEY_MAX} visible ASCII characters")]
    InvalidKey,
    #[error(
        "this idempotency key was used for another event; use a new key, or send the same body again"
    )]
    IdempotencyConflict,
    #[error("more events than allowed; try again in {} ms", .0.retry_after.as_millis())]
    OverLimit(OverLimit),
    /// The caller was revoked, or lost a permission, while the event waited to be written.
    #[error(transparent)]
    Caller(#[from] IdentityError),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many bytes of events may be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StorageLimits {
    /// Limit of each user: `event_bytes`.
    pub quotas: Quotas,
    /// Limit of the events that only global sinks still need.
    pub server_bytes: u64,
}

/// Lanes of an event that are included in the cost of one emit. Costs count for the rate limit.
const LANES_FREE: usize = 100;
/// Further lanes that together cost as much as one emit.
const LANES_PER_EMIT: usize = 4;
/// Drops that are included in the cost of one emit. Each further drop writes an audit entry and
/// costs as much as one emit.
const DROPS_FREE: usize = 4;
/// After an emit was refused because of `event_bytes`, no search for removable events is made for
/// this time.
const SEARCH_PAUSE: Duration = Duration::from_secs(1);
/// Number of remembered refusals at which expired ones are removed.
const REFUSALS_MAX: usize = 1_000;

pub struct Emitter {
    store: Store,
    directory: Arc<Directory>,
    hub: Hub,
    clock: Clock,
    limit: Arc<RateLimit>,
    storage: StorageLimits,
    /// The last refusal of each user because of `event_bytes`.
    refused_at: Arc<Mutex<HashMap<UserId, Instant>>>,
    /// Emits in progress. They continue if the caller disconnects, so that the hub is notified.
    tasks: TaskTracker,
}

impl Emitter {
    pub fn new(
        store: Store,
        directory: Arc<Directory>,
        hub: Hub,
        clock: Clock,
        per_second: Option<u32>,
        storage: StorageLimits,
    ) -> Self {
        Self {
            store,
            directory,
            hub,
            clock,
            limit: Arc::new(RateLimit::new(per_second)),
            storage,
            refused_at: Arc::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Creates a custom event of the caller. The event belongs to a space only if an agent emits
    /// it.
    pub async fn emit(
        &self,
        caller: &Caller,
        emit: Emit,
        idempotency_key: Option<&str>,
    ) -> Result<EmittedEvent, EmitServiceError> {
        let event_type = event::custom_type(&emit.r#type)?;
        let data = event::check_payload(&emit.payload)?;
        let key = idempotency_key
            .map(|key| IdempotencyKey::new(key, &emit.r#type, &data))
            .transpose()?;
        self.limit
            .take(caller.user.id, 1, Instant::now())
            .map_err(EmitServiceError::OverLimit)?;
        let event = Event {
            id: EventId::NIL,
            r#type: event_type,
            ts: self.clock.now(),
            owner_id: caller.user.id,
            space_id: match caller.credential {
                Credential::Agent { space_id, .. } => space_id,
                Credential::Token { .. }
                | Credential::Session { .. }
                | Credential::Script
                | Credential::Process => SpaceId::NIL,
            },
            actor: caller.actor(),
            data,
        };
        let (store, hub) = (self.store.clone(), self.hub.clone());
        let (limit, refused_at, user) =
            (self.limit.clone(), self.refused_at.clone(), caller.user.id);
        let storage = StorageLimits {
            quotas: caller.user.quotas(&self.storage.quotas),
            ..self.storage
        };
        let may_search = self.may_search(user);
        let command = EmitCommand {
            directory: self.directory.clone(),
            clock: self.clock.clone(),
            caller: caller.clone(),
            event,
            key,
            storage,
            may_search,
        };
        let task = self.tasks.spawn(async move {
            let written = store.write_grouped(command);
            let outcome = written.await.inspect_err(|error| {
                if matches!(error, EmitServiceError::Quota(_)) && may_search {
                    refused_at.lock().insert(user, Instant::now());
                }
            })?;
            Ok(match outcome {
                EmitOutcome::New(event, dispatched) => {
                    limit.charge(user, extra_cost(&dispatched), Instant::now());
                    hub.committed(std::slice::from_ref(&event));
                    hub.committed(&dispatched.raised);
                    if dispatched.held > 0 {
                        hub.wake_refill();
                    }
                    command::to_emitted(&event)
                }
                EmitOutcome::Repeated(emitted) => emitted,
            })
        });
        task.await
            .unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Whether this emit may search for removable events. False shortly after a search that found
    /// too few, because the search is the most expensive part of an emit.
    fn may_search(&self, user: UserId) -> bool {
        let mut refused_at = self.refused_at.lock();
        if refused_at.len() >= REFUSALS_MAX {
            refused_at.retain(|_, at| at.elapsed() < SEARCH_PAUSE);
        }
        refused_at
            .get(&user)
            .is_none_or(|at| at.elapsed() >= SEARCH_PAUSE)
    }

    /// Waits for emits whose callers have disconnected.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// The cost of an event in addition to one emit, because each lane needs a write.
fn extra_cost(dispatched: &DispatchResult) -> usize {
    let (queued, dropped) = (dispatched.queued as usize, dispatched.dropped as usize);
    let lanes = (queued + dropped).saturating_sub(LANES_FREE) / LANES_PER_EMIT;
    lanes + dropped.saturating_sub(DROPS_FREE)
}
