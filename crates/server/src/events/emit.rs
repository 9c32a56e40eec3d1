//! Emit: creates the custom events of callers (spec 6.2).
//!
//! Returns only after the event, its deliveries, drops and audit entries are committed. The route,
//! not
//! this module, checks the permission to emit.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use svc_clock::Clock;
use svc_core::{
    EventId, SpaceId, UserId,
    event::{self, EmitError, Event},
    json_text::JsonText,
    quota::{Quota, QuotaExceeded, Quotas},
};
use svc_protocol::api::{Emit, EmittedEvent};
use svc_store::{Hash, Store, StoreError, Tx, events::usage, idempotency};
use thiserror::Error;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::{
    audit::audit_lost,
    dispatch::{DispatchResult, emit_in},
    hub::Hub,
};
use crate::{
    identity::{Caller, Credential, Directory, IdentityError},
    limits::{OverLimit, RateLimit},
};

/// How long an idempotency key is remembered.
const KEY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
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
        let (directory, clock, caller) =
            (self.directory.clone(), self.clock.clone(), caller.clone());
        let task = self.tasks.spawn(async move {
            // Uses the directory, which in a zone may be a second behind the database: emits are
            // too frequent to read the caller from the database each time.
            let written = store.try_write(move |tx| {
                if directory.has_changed_since(&caller) {
                    directory.readmit(&caller, clock.now())?;
                }
                write_event(tx, event, key, (storage, may_search))
            });
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
                    to_emitted(&event)
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

/// An idempotency key and the hash of its request body.
struct IdempotencyKey {
    text: String,
    body_hash: Hash,
}

impl IdempotencyKey {
    fn new(text: &str, event_type: &str, data: &JsonText) -> Result<Self, EmitServiceError> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !visible || !(1..=KEY_MAX).contains(&text.len()) {
            return Err(EmitServiceError::InvalidKey);
        }
        let body = serde_json::to_vec(&(event_type, data)).expect("text and JSON");
        Ok(Self {
            text: text.to_owned(),
            body_hash: Sha256::digest(body).into(),
        })
    }
}

enum EmitOutcome {
    New(Arc<Event>, DispatchResult),
    Repeated(EmittedEvent),
}

/// Creates the event's id inside the transaction: write transactions run one at a time, so the order
/// of ids is the order of commits.
fn write_event(
    tx: &mut Tx<'_>,
    mut event: Event,
    key: Option<IdempotencyKey>,
    (storage, may_search): (StorageLimits, bool),
) -> Result<EmitOutcome, EmitServiceError> {
    event.id = EventId(Uuid::now_v7());
    if let Some(key) = key {
        match idempotency::find(tx, event.owner_id, &key.text, event.ts)? {
            Some(used) if used.body_hash == key.body_hash => {
                return Ok(EmitOutcome::Repeated(used.emitted));
            }
            Some(_) => return Err(EmitServiceError::IdempotencyConflict),
            None => {
                let used = idempotency::Use {
                    body_hash: key.body_hash,
                    emitted: to_emitted(&event),
                };
                let expires_at = event.ts.plus(KEY_LIFE);
                idempotency::put(tx, event.owner_id, &key.text, &used, expires_at)?;
            }
        }
    }
    let dispatched = emit_in(tx, &event)?;
    check_storage(tx, &event, dispatched.stored_bytes, (storage, may_search))?;
    Ok(EmitOutcome::New(Arc::new(event), dispatched))
}

/// The cost of an event in addition to one emit, because each lane needs a write.
fn extra_cost(dispatched: &DispatchResult) -> usize {
    let (queued, dropped) = (dispatched.queued as usize, dispatched.dropped as usize);
    let lanes = (queued + dropped).saturating_sub(LANES_FREE) / LANES_PER_EMIT;
    lanes + dropped.saturating_sub(DROPS_FREE)
}

/// Removes old events to make room for an event that was just written, or refuses the event.
/// `bytes` is the size of all events of the owner. Searches for removable events only if
/// `may_search`.
fn check_storage(
    tx: &mut Tx<'_>,
    event: &Event,
    bytes: u64,
    (storage, may_search): (StorageLimits, bool),
) -> Result<(), EmitServiceError> {
    let owner = event.owner_id;
    let limits = usage::Limits {
        owner: storage.quotas.get(Quota::EventBytes),
        server: storage.server_bytes,
    };
    let mut fits = bytes <= limits.owner;
    if !fits && may_search {
        let room = usage::make_room(tx, owner, event.id, limits)?;
        audit_lost(tx, &room.lost, "the owner's quota `event_bytes` is used up")?;
        fits = room.fits;
    }
    match fits {
        true => Ok(()),
        false => Ok(storage.quotas.check(Quota::EventBytes, bytes)?),
    }
}

fn to_emitted(event: &Event) -> EmittedEvent {
    EmittedEvent {
        event_id: event.id,
        event_type: event.r#type.clone(),
    }
}

#[cfg(test)]
mod tests;
