//! Events of the past, and those that happen now: a user's own, everyone's with `view_audit`.
//!
//! A stream is a hint for people and tools: it starts with what happens after it was opened, and
//! a reader that falls behind is told how much it missed. Whoever must not miss anything uses a
//! sink.

use std::{sync::Arc, time::Duration};

use svc_core::{
    EventId, Permission, Permissions, UserId,
    event::Event,
    pattern::{Pattern, PatternError},
    power,
    quota::QuotaExceeded,
};
use svc_protocol::api::{EventDelivery, EventDeliveryState, EventQuery, EventReceiver, SinkOwner};
use svc_store::{
    Page, PageRequest, Store, StoreError, Tx,
    event_deliveries::{self, Reach, Received},
    events::{self, StoredEvent},
    users,
};
use thiserror::Error;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{
    hub::{Hub, Missed, Reader, Streamed},
    sinks::owner_keys,
};
use crate::{
    identity::{Caller, Directory},
    streams::{OpenStream, Streams},
};

/// How often an open stream asks whether its credential still holds.
pub const RECHECK_EVERY: Duration = Duration::from_secs(1);

/// Patterns one question may have; a sink has no more either.
const PATTERNS_MAX: usize = 100;

pub struct History {
    pub store: Store,
    pub directory: Arc<Directory>,
    pub hub: Hub,
    /// Counts open streams.
    pub streams: Streams,
    /// Ends every stream.
    pub shutdown: CancellationToken,
}

#[derive(Debug, Error)]
pub enum HistoryError {
    #[error("event `{0}` does not exist, or is past its retention")]
    NotFound(EventId),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("{0} patterns; at most {PATTERNS_MAX} are allowed")]
    TooManyPatterns(usize),
    #[error(transparent)]
    TooManyStreams(#[from] QuotaExceeded),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl History {
    /// Newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        query: EventQuery,
        page: PageRequest,
    ) -> Result<Page<StoredEvent>, HistoryError> {
        let patterns = query.r#type.as_deref().map(Pattern::parse_list);
        let patterns = patterns.transpose()?.unwrap_or_default();
        check_patterns(&patterns)?;
        let filter = events::Filter {
            owner: only_of(caller),
            space: query.space_id,
            patterns,
            ..events::Filter::default()
        };
        let reading = move |tx: &mut Tx<'_>| events::list(tx, &filter, page);
        Ok(self.store.read_list(caller.user.id, reading).await?)
    }

    pub async fn get(&self, caller: &Caller, id: EventId) -> Result<Event, HistoryError> {
        let found = self.store.read(move |tx| events::find(tx, id)).await?;
        found
            .filter(|event| sees(caller, event.owner_id))
            .ok_or(HistoryError::NotFound(id))
    }

    /// Who the event was for and what became of it there: of receivers the caller manages, and
    /// with `view_audit` of all, though others' attempts are theirs.
    pub async fn deliveries(
        &self,
        caller: &Caller,
        id: EventId,
    ) -> Result<Vec<EventDelivery>, HistoryError> {
        let event = self.get(caller, id).await?;
        let reach = reach(caller, &event);
        let who = caller.clone();
        let read = move |tx: &mut Tx<'_>| {
            let mut received = event_deliveries::list(tx, &event, &reach)?;
            for one in &mut received {
                if !may_read_attempts(tx, &who, &one.receiver)? {
                    one.attempts = None;
                }
            }
            Ok(received)
        };
        let received = self.store.read_list(caller.user.id, read).await?;
        Ok(received.into_iter().map(shown).collect())
    }

    /// What happens from now on and matches one of the patterns; none match everything.
    pub fn stream(&self, caller: Caller, patterns: Vec<Pattern>) -> Result<Stream, HistoryError> {
        check_patterns(&patterns)?;
        let open = self.streams.open(&caller.user)?;
        let mut recheck = interval(RECHECK_EVERY);
        recheck.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Stream {
            events: self.hub.subscribe(only_of(&caller)),
            hub: self.hub.clone(),
            directory: self.directory.clone(),
            shutdown: self.shutdown.clone(),
            caller,
            patterns,
            recheck,
            _open: open,
        })
    }
}

/// Each pattern is compared with every event that is listed or streamed.
fn check_patterns(patterns: &[Pattern]) -> Result<(), HistoryError> {
    match patterns.len() {
        count if count > PATTERNS_MAX => Err(HistoryError::TooManyPatterns(count)),
        _ => Ok(()),
    }
}

/// Events as they are committed.
pub struct Stream {
    events: Reader,
    hub: Hub,
    directory: Arc<Directory>,
    shutdown: CancellationToken,
    caller: Caller,
    patterns: Vec<Pattern>,
    recheck: Interval,
    _open: OpenStream,
}

/// What a stream tells.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    Event(Arc<Streamed>),
    /// So many went by unread; some may not have matched the patterns of this stream.
    Lagged(u64),
}

impl Stream {
    /// Leaves out what has happened since it was made.
    pub fn begin_now(&mut self) {
        self.events = self.hub.subscribe(only_of(&self.caller));
    }

    /// `None` once the credential is refused or the server stops.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            // A reader that was slow is checked before it gets anything more.
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return None,
                _ = self.recheck.tick() => {
                    let before = only_of(&self.caller);
                    self.caller = self.directory.readmit(&self.caller, svc_clock::now()).ok()?;
                    if only_of(&self.caller) != before {
                        self.begin_now();
                    }
                }
                received = self.events.next() => match received {
                    Ok(event) if self.wants(&event) => return Some(Message::Event(event)),
                    Ok(_) => {}
                    Err(Missed(missed)) => return Some(Message::Lagged(missed)),
                }
            }
        }
    }

    fn wants(&self, event: &Streamed) -> bool {
        let matches = |pattern: &Pattern| pattern.matches(&event.r#type);
        sees(&self.caller, event.owner_id)
            && (self.patterns.is_empty() || self.patterns.iter().any(matches))
    }
}

/// Whose events alone a caller sees; `None` for everyone's.
fn only_of(caller: &Caller) -> Option<UserId> {
    (!caller.may(Permission::ViewAudit)).then_some(caller.user.id)
}

/// Which receivers of an event a caller manages.
fn reach(caller: &Caller, event: &Event) -> Reach {
    Reach {
        methods: event.owner_id == caller.user.id,
        sinks_of: if caller.may(Permission::ManageOwnEventSinks) {
            owner_keys(caller)
        } else {
            Vec::new()
        },
        sees_all: caller.may(Permission::ViewAudit),
    }
}

/// Attempts of a global sink show what its script printed as the user who made the sink.
fn may_read_attempts(
    tx: &mut Tx<'_>,
    caller: &Caller,
    receiver: &EventReceiver,
) -> Result<bool, StoreError> {
    let EventReceiver::Sink {
        owner: SinkOwner::Global,
        owner_id,
        ..
    } = receiver
    else {
        return Ok(true);
    };
    if *owner_id == caller.user.id {
        return Ok(true);
    }
    let maker = users::find_power(tx, *owner_id)?;
    let held = maker.map_or(Permissions::NONE, |maker| maker.permissions);
    Ok(power::check(caller.user.permissions, held).is_ok())
}

fn shown(received: Received) -> EventDelivery {
    EventDelivery {
        receiver: received.receiver,
        n: received.delivery.map(|(n, _)| n),
        state: received
            .delivery
            .map_or(EventDeliveryState::Dropped, |(_, state)| state.into()),
        attempts: received.attempts,
    }
}

fn sees(caller: &Caller, owner: UserId) -> bool {
    only_of(caller).is_none_or(|only| only == owner)
}

#[cfg(test)]
mod tests;
