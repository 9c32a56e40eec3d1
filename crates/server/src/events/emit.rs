//! Emit: creates the custom events of callers (spec 6.2).
//!
//! A lane is the queue of one sink or of one subscribed method. A full lane may drop an event. An
//! emit succeeds only after the event, its deliveries, its drops and their audit entries are
//! committed.
//!
//! The route checks the permission to emit. The transaction checks the caller again only if the
//! directory has changed since the route checked. Sources and schedules emit for their owner:
//! [`Emitter::owner`] checks the owner's permission.

mod command;
mod searches;
#[cfg(test)]
mod tests;
mod traced;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use svc_clock::Clock;
use svc_core::{
    EventId, Permission, SourceId, SpaceId, UserId,
    event::{self, Actor, EmitError, Event},
    json_text::{JsonText, JsonTextError},
    quota::{QuotaExceeded, Quotas},
};
use svc_protocol::api::{Emit, EmittedEvent};
use svc_store::{Hash, Store, StoreError};
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

pub use self::command::ScheduledRun;
use self::{
    command::{EmitCommand, EmitOutcome, IdempotencyKey},
    searches::Searches,
    traced::TracedEmit,
};
use super::{dispatch::DispatchCost, hub::Hub};
use crate::{
    identity::{Caller, Credential, Directory},
    limits::{OverLimit, RateLimit},
    records::RecordError,
    traces::{RunningTrace, Traces},
};

/// The maximum number of characters of an idempotency key.
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
    /// The caller's credential was revoked, or the caller lost a permission, while the event waited
    /// to be written.
    #[error(transparent)]
    Caller(#[from] RecordError),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EmitServiceError> for RecordError {
    fn from(error: EmitServiceError) -> Self {
        use EmitServiceError as Error;
        let message = error.to_string();
        match error {
            Error::Invalid(EmitError::TooLarge(_)) => Self::new("payload_too_large", message),
            Error::Invalid(EmitError::Json(JsonTextError::TooDeep)) => {
                Self::new("too_deep", message)
            }
            Error::Invalid(_) => Self::new("invalid_event", message),
            Error::InvalidKey => Self::new("invalid_idempotency_key", message),
            Error::IdempotencyConflict => Self::new("idempotency_conflict", message),
            Error::OverLimit(OverLimit { retry_after }) => Self::RateLimited {
                message,
                retry_after,
            },
            Error::Caller(error) => error,
            Error::Quota(exceeded) => exceeded.into(),
            Error::Store(error) => error.into(),
        }
    }
}

/// How many bytes of events may be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StorageLimits {
    /// The quota `event_bytes` limits each user.
    pub quotas: Quotas,
    /// The maximum bytes of all events that only global sinks still need.
    pub server_bytes: u64,
}

impl Default for StorageLimits {
    fn default() -> Self {
        Self {
            quotas: Quotas::default(),
            server_bytes: 4 << 30,
        }
    }
}

/// The number of lanes that may be read for an event at no extra cost. The cost of an emit counts
/// against the rate limit of the user.
const LANES_FREE: usize = 100;
/// This many further lanes together cost as much as one emit.
const LANES_PER_EMIT: usize = 4;
/// The number of drops of an event at no extra cost. Each further drop costs as much as one emit,
/// because it writes an audit entry.
const DROPS_FREE: usize = 4;

/// How long an emit waits for its commit in a zone. A commit that takes longer usually waits for a
/// standby that is down. The limit is longer than the time for which a frozen server can hold the
/// zone's lock.
const COMMIT_WAIT_MAX: Duration = Duration::from_secs(7);

/// A user needs one of these permissions to emit.
pub const EMIT_NEEDS: &[Permission] = &[Permission::UseSpaces, Permission::ManageSpaces];

/// An event that the service makes for a user: from a source or a schedule.
#[derive(Clone, Debug)]
pub struct ServiceEvent {
    /// The whole type. It does not get the prefix `custom.`, unlike the type of a user's emit.
    pub r#type: String,
    pub data: JsonText,
    pub origin: Origin,
}

/// The cause of an event of the service. Each delivery and each run causes only one event.
#[derive(Clone, Debug)]
pub enum Origin {
    /// No delivery and no run: each emit is a new event.
    Any,
    /// A request that a source received. The hash identifies the request.
    Delivery(SourceId, Hash),
    /// A run of a schedule.
    Run(ScheduledRun),
}

/// The result of an emit.
#[derive(Clone, PartialEq, Debug)]
pub enum Emission {
    New(EmittedEvent),
    /// An earlier emit with the same idempotency key, or for the same request to a source, created
    /// this event.
    Repeated(EmittedEvent),
    /// The run has its event already, or the schedule was changed.
    AlreadyRan,
}

pub struct Emitter {
    store: Store,
    directory: Arc<Directory>,
    hub: Hub,
    clock: Clock,
    limit: Arc<RateLimit>,
    storage: StorageLimits,
    traces: Arc<Traces>,
    searches: Arc<Searches>,
    /// Emits in progress. They continue if the caller disconnects, so that the hub is notified.
    tasks: TaskTracker,
    /// Number of emits in progress that have waited for longer than [`COMMIT_WAIT_MAX`].
    overdue: Arc<AtomicUsize>,
}

impl Emitter {
    pub fn new(
        store: Store,
        directory: Arc<Directory>,
        hub: Hub,
        clock: Clock,
        per_second: Option<u32>,
        storage: StorageLimits,
        traces: Arc<Traces>,
    ) -> Self {
        Self {
            store,
            directory,
            hub,
            clock,
            limit: Arc::new(RateLimit::new(per_second)),
            storage,
            traces,
            searches: Arc::default(),
            tasks: TaskTracker::new(),
            overdue: Arc::default(),
        }
    }

    /// Limits the events that a user emits per second.
    pub fn rate_limit(&self) -> &Arc<RateLimit> {
        &self.limit
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
        let event = Event {
            id: EventId::NIL,
            r#type: event_type,
            ts: self.clock.now(),
            owner_id: caller.user.id,
            space_id: match caller.credential {
                Credential::Agent { space_id, .. } => space_id,
                Credential::Token { .. }
                | Credential::Session { .. }
                | Credential::Enrolment { .. }
                | Credential::App { .. }
                | Credential::Script
                | Credential::Process => SpaceId::NIL,
            },
            actor: caller.actor(),
            data,
            trace: None,
        };
        match self.submit(caller, event, key, None).await? {
            Emission::New(emitted) | Emission::Repeated(emitted) => Ok(emitted),
            Emission::AlreadyRan => Err(StoreError::NoRow.into()),
        }
    }

    /// The owner of a source or a schedule as a caller. An error if the owner may not emit at the
    /// moment.
    pub fn owner(&self, owner: UserId) -> Result<Caller, RecordError> {
        let caller = self.directory.script_caller(owner)?.with_needs(EMIT_NEEDS);
        caller.check_admission()?;
        Ok(caller)
    }

    /// Creates an event for a user, from a source or a schedule. The limits of the user's own emits
    /// apply.
    pub async fn emit_for(
        &self,
        caller: &Caller,
        new: ServiceEvent,
    ) -> Result<Emission, EmitServiceError> {
        let event = Event {
            id: EventId::NIL,
            r#type: new.r#type,
            ts: self.clock.now(),
            owner_id: caller.user.id,
            space_id: SpaceId::NIL,
            actor: Actor::system(),
            data: new.data,
            trace: None,
        };
        let (key, run) = match new.origin {
            Origin::Any => (None, None),
            Origin::Delivery(source, hash) => {
                (Some(IdempotencyKey::of_delivery(source, &hash)), None)
            }
            Origin::Run(run) => (None, Some(run)),
        };
        self.submit(caller, event, key, run).await
    }

    /// Writes an event. Records the emit if its trace is recorded.
    async fn submit(
        &self,
        caller: &Caller,
        mut event: Event,
        key: Option<IdempotencyKey>,
        run: Option<ScheduledRun>,
    ) -> Result<Emission, EmitServiceError> {
        let (user, began) = (caller.user.id, Instant::now());
        let trace = self.traces.begin(user, caller.trace.as_deref());
        let context = trace.as_deref().map(RunningTrace::context);
        event.trace = context.cloned().map(Box::new);
        let work = trace
            .filter(|trace| trace.is_recorded())
            .map(|trace| (trace, TracedEmit::new(&event)));
        let emission = self.write(caller, event, key, run).await;
        if let Some((trace, emit)) = work {
            self.traces
                .record(user, &trace, emit.ended(began, &emission));
        }
        emission
    }

    /// Writes an event, within the limits of its owner.
    async fn write(
        &self,
        caller: &Caller,
        event: Event,
        key: Option<IdempotencyKey>,
        run: Option<ScheduledRun>,
    ) -> Result<Emission, EmitServiceError> {
        if self.overdue.load(Ordering::Relaxed) > 0 {
            // This emit would wait behind other emits that do not finish.
            return Err(overdue_error().into());
        }
        self.limit
            .take(caller.user.id, 1, Instant::now())
            .map_err(EmitServiceError::OverLimit)?;
        let (store, hub) = (self.store.clone(), self.hub.clone());
        let storage = StorageLimits {
            quotas: caller.user.quotas(&self.storage.quotas),
            ..self.storage
        };
        let command = EmitCommand {
            directory: self.directory.clone(),
            clock: self.clock.clone(),
            caller: caller.clone(),
            event,
            key,
            run,
            storage,
            limit: self.limit.clone(),
            searches: self.searches.clone(),
        };
        let task = self.tasks.spawn(async move {
            Ok(match store.write_grouped(command).await? {
                EmitOutcome::New(event, dispatched) => {
                    hub.committed(std::slice::from_ref(&event));
                    hub.committed(&dispatched.raised);
                    if dispatched.held > 0 {
                        hub.wake_refill();
                    }
                    Emission::New(command::to_emitted(&event))
                }
                EmitOutcome::Repeated(emitted) => Emission::Repeated(emitted),
                EmitOutcome::AlreadyRan => Emission::AlreadyRan,
            })
        });
        self.wait_for(task).await
    }

    /// Waits for an emit. In a zone, stops waiting after [`COMMIT_WAIT_MAX`]. The emit then
    /// continues, and its outcome is unknown.
    async fn wait_for(
        &self,
        mut task: JoinHandle<Result<Emission, EmitServiceError>>,
    ) -> Result<Emission, EmitServiceError> {
        let emitted = tokio::select! {
            emitted = &mut task => emitted,
            () = tokio::time::sleep(COMMIT_WAIT_MAX), if self.store.is_shared() => {
                let overdue = self.overdue.clone();
                overdue.fetch_add(1, Ordering::Relaxed);
                self.tasks.spawn(async move {
                    let _ = task.await;
                    overdue.fetch_sub(1, Ordering::Relaxed);
                });
                return Err(overdue_error().into());
            }
        };
        emitted.unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Waits for all emits in progress, also those whose callers have disconnected.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn overdue_error() -> StoreError {
    StoreError::Unavailable("commits do not finish".to_owned())
}

/// The cost of an event in addition to one emit: each lane that may match the event is read, and most
/// are written. At the default limit, one user's events take about a tenth of the writer's time.
fn extra_cost(cost: DispatchCost) -> usize {
    let lanes = cost.lanes.saturating_sub(LANES_FREE) / LANES_PER_EMIT;
    lanes + cost.dropped.saturating_sub(DROPS_FREE)
}
