//! The transaction of an emit. Emits that wait for the same commit are written together.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use data_encoding::HEXLOWER;
use svc_clock::Clock;
use svc_core::{EventId, SourceId, Timestamp, event::Event, json_text::JsonText, quota::Quota};
use svc_crypto::sha256;
use svc_protocol::api::EmittedEvent;
use svc_store::{
    Grouped, GroupedResult, Hash, StoreError, Tx,
    dispatch::{self, UserKey},
    events::usage,
    idempotency::{self, Use},
    schedules::{self, Advance},
};
use uuid::Uuid;

use super::{EmitServiceError, KEY_MAX, StorageLimits, extra_cost, searches::Searches};
use crate::{
    events::{
        audit::audit_lost,
        dispatch::{Dispatch, DispatchResult},
    },
    identity::{Caller, Directory},
    limits::RateLimit,
};

/// How long an idempotency key is remembered.
pub(super) const KEY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// An idempotency key and the hash of its request body.
pub(super) struct IdempotencyKey {
    text: String,
    body_hash: Hash,
}

impl IdempotencyKey {
    pub(super) fn new(
        text: &str,
        event_type: &str,
        data: &JsonText,
    ) -> Result<Self, EmitServiceError> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !visible || !(1..=KEY_MAX).contains(&text.len()) {
            return Err(EmitServiceError::InvalidKey);
        }
        let body = serde_json::to_vec(&(event_type, data)).expect("text and JSON");
        Ok(Self {
            text: text.to_owned(),
            body_hash: sha256(body),
        })
    }

    /// The key of a delivery: a request that another service sent to a source. A repeated delivery
    /// has the same key, even if its event has another type or other data. This key contains
    /// spaces, so it differs from every key of a user, which contains none.
    pub(super) fn of_delivery(source: SourceId, delivery: &Hash) -> Self {
        Self {
            text: format!("source {source} {}", HEXLOWER.encode(delivery)),
            body_hash: Hash::default(),
        }
    }
}

/// The run of a schedule that an event belongs to. The transaction of the event also moves the
/// schedule to its next run. So a run never gets two events, even if another server repeats the
/// emit, or this server repeats it after a crash.
#[derive(Clone, Debug)]
pub struct ScheduledRun {
    pub at: Timestamp,
    pub advance: Advance,
}

/// The result of an emit.
pub(super) enum EmitOutcome {
    New(Arc<Event>, DispatchResult),
    /// The same request was made before, with the same idempotency key, or a source received the
    /// same delivery before.
    Repeated(EmittedEvent),
    /// The run has its event already, or the schedule was changed.
    AlreadyRan,
}

/// The command to write an event of a caller.
pub(super) struct EmitCommand {
    pub(super) directory: Arc<Directory>,
    pub(super) clock: Clock,
    pub(super) caller: Caller,
    /// Gets its id in the transaction.
    pub(super) event: Event,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) run: Option<ScheduledRun>,
    pub(super) storage: StorageLimits,
    pub(super) limit: Arc<RateLimit>,
    pub(super) searches: Arc<Searches>,
}

impl Grouped for EmitCommand {
    type Answer = EmitOutcome;
    type Error = EmitServiceError;

    /// An event that exceeds its owner's quota gets no result here. The store then calls
    /// `run_alone`, which removes older events.
    fn run_together(
        tx: &mut Tx<'_>,
        commands: &[&Self],
    ) -> Result<Vec<GroupedResult<Self>>, StoreError> {
        let mut group = EmitGroup::read(tx, commands)?;
        let results = commands.iter().map(|command| {
            let fits = |bytes| bytes <= command.storage.quotas.get(Quota::EventBytes);
            match group.emit(tx, command, fits) {
                Ok(Some(outcome)) => Ok(Some(Ok(outcome))),
                Ok(None) => Ok(None),
                Err(EmitServiceError::Store(error)) => Err(error),
                Err(refused) => Ok(Some(Err(refused))),
            }
        });
        let results = results.collect::<Result<_, _>>()?;
        group.dispatch.finish(tx)?;
        Ok(results)
    }

    fn run_alone(&self, tx: &mut Tx<'_>) -> Result<EmitOutcome, EmitServiceError> {
        let mut group = EmitGroup::read(tx, &[self])?;
        let outcome = group.emit(tx, self, |_| true)?;
        group.dispatch.finish(tx)?;
        if let Some(EmitOutcome::New(event, dispatched)) = &outcome {
            self.make_room(tx, event, dispatched.stored_bytes)?;
        }
        Ok(outcome.ok_or(StoreError::NoRow)?)
    }
}

impl EmitCommand {
    /// Checks the caller with the directory, which in a zone may be a second behind the database.
    /// Emits are too frequent to read the caller from the database each time.
    fn check_caller(&self) -> Result<(), EmitServiceError> {
        if self.directory.has_changed_since(&self.caller) {
            self.directory.readmit(&self.caller, self.clock.now())?;
        }
        Ok(())
    }

    /// Removes old texts of attempts and old events to make room for an event that was just written,
    /// or refuses the event. A refused event removes nothing, because its transaction is rolled back.
    /// `bytes` is the size of all events and texts of the owner.
    fn make_room(
        &self,
        tx: &mut Tx<'_>,
        event: &Event,
        bytes: u64,
    ) -> Result<(), EmitServiceError> {
        let quotas = &self.storage.quotas;
        let limits = usage::Limits {
            owner: quotas.get(Quota::EventBytes),
            server: self.storage.server_bytes,
        };
        let mut fits = bytes <= limits.owner;
        let could_fit = usage::size_of(event) <= limits.owner;
        if !fits && could_fit && self.searches.is_permitted(event.owner_id) {
            let room = usage::make_room(tx, event.owner_id, event.id, limits)?;
            audit_lost(tx, &room.lost, "the owner's quota `event_bytes` is used up")?;
            fits = room.fits;
            if !fits {
                self.searches.note_refusal(event.owner_id);
            }
        }
        match fits {
            true => Ok(()),
            false => Ok(quotas.check(Quota::EventBytes, bytes)?),
        }
    }

    /// Takes the cost of the event from the rate limit of its owner, before anything is written. The
    /// event is refused if events that arrived with it have exceeded the limit.
    fn charge(&self, cost: usize) -> Result<(), EmitServiceError> {
        let charged = self.limit.charge(self.event.owner_id, cost, Instant::now());
        charged.map_err(EmitServiceError::OverLimit)
    }

    fn user_key(&self) -> Option<UserKey> {
        let key = self.key.as_ref()?;
        Some((self.event.owner_id, key.text.clone()))
    }
}

/// Emits that are written together.
struct EmitGroup {
    dispatch: Dispatch,
    /// Used idempotency keys, those of this group included.
    used: HashMap<UserKey, Use>,
}

impl EmitGroup {
    fn read(tx: &mut Tx<'_>, commands: &[&EmitCommand]) -> Result<Self, StoreError> {
        // An event that will be refused reads no lanes.
        let admitted = commands.iter().filter(|one| one.charge(0).is_ok());
        let events: Vec<_> = admitted
            .map(|one| (one.event.owner_id, &*one.event.r#type))
            .collect();
        let keys: Vec<_> = commands.iter().filter_map(|one| one.user_key()).collect();
        let now = commands.iter().map(|one| one.event.ts).min();
        let mut state = dispatch::read(tx, &events, &keys, now.unwrap_or_default())?;
        Ok(Self {
            used: std::mem::take(&mut state.used),
            dispatch: Dispatch::new(state, &events),
        })
    }

    /// Writes an event, unless its idempotency key was used. `fits` gets the size of all events of
    /// the owner, this event included. If it returns false, nothing is written, and the result is
    /// `None`.
    fn emit(
        &mut self,
        tx: &mut Tx<'_>,
        command: &EmitCommand,
        fits: impl FnOnce(u64) -> bool,
    ) -> Result<Option<EmitOutcome>, EmitServiceError> {
        command.check_caller()?;
        command.charge(0)?;
        self.dispatch.read_lanes_for(tx, &command.event)?;
        let key = command.key.as_ref().zip(command.user_key());
        if let Some((key, user_key)) = &key {
            let used = self.used.get(user_key);
            match used.filter(|used| used.expires_at > command.event.ts) {
                Some(used) if used.body_hash == key.body_hash => {
                    return Ok(Some(EmitOutcome::Repeated(used.emitted.clone())));
                }
                Some(_) => return Err(EmitServiceError::IdempotencyConflict),
                None => {}
            }
        }
        if !fits(self.dispatch.bytes_with(&command.event)) {
            return Ok(None);
        }
        command.charge(extra_cost(self.dispatch.cost_of(&command.event)))?;
        if let Some(run) = &command.run
            && !schedules::advance(tx, &run.advance)?
        {
            return Ok(Some(EmitOutcome::AlreadyRan));
        }
        // The id is generated in the write transaction. Write transactions run one at a time, so
        // the ids of one server have the order of its commits.
        let event = Event {
            id: EventId(Uuid::now_v7()),
            ..command.event.clone()
        };
        if let Some((key, (user, text))) = key {
            let used = Use {
                body_hash: key.body_hash,
                emitted: to_emitted(&event),
                expires_at: event.ts.plus(KEY_LIFE),
            };
            idempotency::put(tx, user, &text, &used)?;
            self.used.insert((user, text), used);
        }
        let dispatched = self.dispatch.emit(tx, &event, None)?;
        if let Some(run) = &command.run {
            schedules::set_ran(tx, run.advance.schedule, run.at, event.id)?;
        }
        Ok(Some(EmitOutcome::New(Arc::new(event), dispatched)))
    }
}

pub(super) fn to_emitted(event: &Event) -> EmittedEvent {
    EmittedEvent {
        event_id: event.id,
        event_type: event.r#type.clone(),
    }
}
