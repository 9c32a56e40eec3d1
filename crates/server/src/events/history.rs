//! Stored events and live streams. A user sees their own events, and with `view_audit` all events.
//!
//! A stream is best-effort. It starts with the first event after it was opened, and reports to a
//! slow reader how many events the reader missed. A receiver that must not miss events needs a
//! sink.

use std::sync::Arc;

use svc_core::{EventId, Permission, Permissions, event::Event, pattern::Pattern, power};
use svc_protocol::api::{
    EventDelivery, EventDeliveryState, EventHistogram, EventQuery, EventReceiver, EventRecord,
    SEARCH_TEXT_MAX, SinkOwner,
};
use svc_store::{
    Page, PageRequest, Store, StoreError, Tx,
    event_deliveries::{self, Reach, Received},
    events, users,
};
use tokio::time::Interval;
use tokio_util::sync::CancellationToken;

use super::{
    hub::{Hub, MissedEvents, Reader, StreamedEvent},
    sinks::owner_keys,
};
use crate::{
    identity::{Caller, Directory},
    records::{RecordError, Result},
    streams::{OpenStream, Streams, recheck_interval},
};

/// The maximum number of patterns in one query; the same limit as for a sink.
const PATTERNS_MAX: usize = 100;
/// The number of parts of a histogram.
const PARTS: usize = 60;
/// A histogram reads at most this many events.
const COUNTED_MAX: u32 = 20_000;

pub struct History {
    pub store: Store,
    pub directory: Arc<Directory>,
    pub hub: Hub,
    /// Counts open streams.
    pub streams: Streams,
    /// Cancelled when the server stops; ends every stream.
    pub shutdown: CancellationToken,
}

impl History {
    /// Lists events, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        query: EventQuery,
        page: PageRequest,
    ) -> Result<Page<EventRecord>> {
        let filter = filter_of(caller, &query)?;
        let search = search_of(query)?;
        let reading = move |tx: &mut Tx<'_>| match search.is_empty() {
            true => events::list(tx, &filter, page),
            false => events::search(tx, &filter, &search, page),
        };
        Ok(self.store.read_list(caller.user.id, reading).await?)
    }

    /// Divides a time span into equal parts, and counts the events of each part.
    pub async fn histogram(&self, caller: &Caller, query: EventQuery) -> Result<EventHistogram> {
        let filter = filter_of(caller, &query)?;
        if !search_of(query)?.is_empty() {
            return Err(RecordError::new(
                "invalid",
                "a histogram does not search; leave out `actor` and `text`",
            ));
        }
        let (since, until) = (filter.since, filter.until);
        let read = move |tx: &mut Tx<'_>| events::list_times(tx, &filter, COUNTED_MAX);
        let (times, counted_since) = self.store.read_list(caller.user.id, read).await?;
        let until = until.unwrap_or_else(svc_clock::now);
        let oldest = times.last().copied();
        let since = since.or(oldest).unwrap_or(until).min(until);
        let step = (until.since(since).as_millis() / PARTS as u128).max(1);
        let mut counts = vec![0; PARTS];
        for at in &times {
            let part = usize::try_from(at.since(since).as_millis() / step).unwrap_or(PARTS);
            counts[part.min(PARTS - 1)] += 1;
        }
        Ok(EventHistogram {
            since,
            until,
            counts,
            total: times.len() as u64,
            counted_since,
        })
    }

    pub async fn get(&self, caller: &Caller, id: EventId) -> Result<Event> {
        let found = self.store.read(move |tx| events::find(tx, id)).await?;
        found
            .filter(|event| caller.sees_events_of(event.owner_id))
            .ok_or_else(|| {
                RecordError::NotFound(format!(
                    "event `{id}` does not exist, or is past its retention"
                ))
            })
    }

    /// The deliveries of an event to the receivers that the caller manages, or with `view_audit` to
    /// all receivers. Attempts are included only for receivers that the caller manages, and only
    /// where `may_read_attempts` allows it.
    pub async fn deliveries(&self, caller: &Caller, id: EventId) -> Result<Vec<EventDelivery>> {
        let event = self.get(caller, id).await?;
        let reach = reach(caller, &event);
        let reader = caller.clone();
        let read = move |tx: &mut Tx<'_>| {
            let mut received = event_deliveries::list(tx, &event, &reach)?;
            for delivery in &mut received {
                if !may_read_attempts(tx, &reader, &delivery.receiver)? {
                    delivery.attempts = None;
                }
            }
            Ok(received)
        };
        let received = self.store.read_list(caller.user.id, read).await?;
        Ok(received.into_iter().map(to_record).collect())
    }

    /// Streams new events that match one of the patterns; without patterns, all new events.
    pub fn stream(&self, caller: Caller, patterns: Vec<Pattern>) -> Result<Stream> {
        check_patterns(&patterns)?;
        let open = self.streams.open(&caller.user)?;
        Ok(Stream {
            events: self.hub.subscribe(caller.only_events_of()),
            hub: self.hub.clone(),
            directory: self.directory.clone(),
            shutdown: self.shutdown.clone(),
            caller,
            patterns,
            recheck: recheck_interval(),
            _open: open,
        })
    }
}

fn filter_of(caller: &Caller, query: &EventQuery) -> Result<events::Filter> {
    let patterns = query.r#type.as_deref().map(Pattern::parse_list);
    let patterns = patterns.transpose()?.unwrap_or_default();
    check_patterns(&patterns)?;
    Ok(events::Filter {
        owner: caller.only_events_of(),
        space: query.space_id,
        patterns,
        since: query.since,
        until: query.until,
        ..events::Filter::default()
    })
}

fn search_of(query: EventQuery) -> Result<events::Search> {
    let text = query.text.filter(|text| !text.is_empty());
    match text.as_ref().map_or(0, String::len) {
        length if length > SEARCH_TEXT_MAX => Err(RecordError::new(
            "invalid",
            format!("`text` has {length} bytes; at most {SEARCH_TEXT_MAX} are allowed"),
        )),
        _ => Ok(events::Search {
            actor: query.actor,
            text,
        }),
    }
}

/// Limits the number of patterns, because each pattern is compared with every event that is listed
/// or streamed.
fn check_patterns(patterns: &[Pattern]) -> Result<()> {
    match patterns.len() {
        count if count > PATTERNS_MAX => Err(RecordError::new(
            "invalid_pattern",
            format!("{count} patterns; at most {PATTERNS_MAX} are allowed"),
        )),
        _ => Ok(()),
    }
}

/// A stream of new events.
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

#[derive(Clone, PartialEq, Debug)]
pub enum StreamItem {
    Event(Arc<StreamedEvent>),
    /// The number of missed events, including events that the patterns do not match.
    Lagged(u64),
}

impl Stream {
    /// Skips all events that the stream has not read yet.
    pub fn skip_to_now(&mut self) {
        self.events = self.hub.subscribe(self.caller.only_events_of());
    }

    /// The next item; `None` once the credential is invalid or the server stops.
    pub async fn next(&mut self) -> Option<StreamItem> {
        loop {
            // Biased: the credential of a slow reader is checked before the reader gets another
            // event.
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return None,
                _ = self.recheck.tick() => {
                    let before = self.caller.only_events_of();
                    self.caller = self.directory.readmit(&self.caller, svc_clock::now()).ok()?;
                    if self.caller.only_events_of() != before {
                        self.skip_to_now();
                    }
                }
                received = self.events.next() => match received {
                    Ok(event) if self.wants(&event) => return Some(StreamItem::Event(event)),
                    Ok(_) => {}
                    Err(MissedEvents(missed)) => return Some(StreamItem::Lagged(missed)),
                }
            }
        }
    }

    fn wants(&self, event: &StreamedEvent) -> bool {
        let matches = |pattern: &Pattern| pattern.matches(&event.r#type);
        self.caller.sees_events_of(event.owner_id)
            && (self.patterns.is_empty() || self.patterns.iter().any(matches))
    }
}

/// Which receivers of an event a caller sees.
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

/// Whether a caller may read attempts of a receiver. Attempts of a global sink may show the output
/// of a script that ran as the user who created the sink. So the caller needs every permission of
/// that user.
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
    let creator = users::find_power(tx, *owner_id)?;
    let held = creator.map_or(Permissions::NONE, |creator| creator.permissions);
    Ok(power::check(caller.user.permissions, held).is_ok())
}

fn to_record(received: Received) -> EventDelivery {
    EventDelivery {
        receiver: received.receiver,
        n: received.delivery.map(|(n, _)| n),
        state: received
            .delivery
            .map_or(EventDeliveryState::Dropped, |(_, state)| state.into()),
        attempts: received.attempts,
    }
}

#[cfg(test)]
mod tests;
