//! Replays: sends past events of a time span to a sink. `resend` sends past deliveries again.
//!
//! A *feed* is a request to send past events. The events are queued step by step as the queue
//! drains (see `lanes::refill`). A replay without a feed fills the queue once and stops.

use std::time::Duration;

use serde_json::json;
use svc_core::{EventId, LaneId, SinkId, Timestamp, event::Event, lane::QUEUE_CAPACITY};
use svc_protocol::api::{Replay, ReplayOnly, ReplayResult};
use svc_store::{
    StoreError, Tx, events,
    lanes::{self, FeedSelection, NewFeed, Receiver},
    sinks::{self, SinkRow},
};

use super::{SinksService, audit, managed, queue::lane_of};
use crate::{
    events::{dispatch::is_about, lanes::Deliver},
    identity::Caller,
    records::{RecordError, Result},
};

/// How far a replay reaches back if the request has no `since`.
const REPLAY_SINCE: Duration = Duration::from_secs(24 * 60 * 60);
/// One query reads at most this many events, whether or not they match.
const WINDOW: u32 = 500;
/// For a filter, the data of at most this many events is read at once.
const FILTER_STEP: usize = 20;
/// Limit of the feeds of one sink that have not ended.
const FEEDS_MAX: u32 = 10;

impl SinksService {
    /// Queues past events that match the sink, oldest first. Without a feed, stops when the queue
    /// is full. With a feed, the refiller queues all of them step by step.
    pub async fn replay(
        &self,
        caller: &Caller,
        id: SinkId,
        request: Replay,
    ) -> Result<ReplayResult> {
        let now = svc_clock::now();
        let since = request.since.unwrap_or_else(|| now.minus(REPLAY_SINCE));
        let until = request.until.unwrap_or(now);
        if since > until {
            return Err(RecordError::new("invalid", "`since` is later than `until`"));
        }
        let manager = caller.clone();
        let found = self.store.read(move |tx| {
            let found = managed(tx, &manager, id);
            Ok(found.and_then(|(_, row)| {
                let lane = lane_of(tx, &row)?;
                Ok((lane, sinks::status(tx, row.id)?, row))
            }))
        });
        let (lane, status, row) = found.await??;
        // Every replay reads the whole history of its span, also a dry run, so the limit of tests
        // with past events applies.
        self.count_trial(caller)?;
        let only_undelivered = request.only == Some(ReplayOnly::Undelivered);
        let filter = events::Filter {
            owner: (!row.is_global()).then_some(row.owner_id),
            since: Some(since),
            until: Some(until),
            undelivered_by: only_undelivered.then_some(lane),
            ..events::Filter::default()
        };
        let matching = self.find_matching(caller, &row, filter.clone()).await?;
        if request.dry_run {
            return Ok(ReplayResult {
                matching: Some(matching.count),
                ..ReplayResult::default()
            });
        }
        let covers_all = only_undelivered
            && status.lost > 0
            && self.is_rest_delivered(caller, &row, filter, now).await?;
        let feeds = request.feed.unwrap_or(request.only.is_some());
        let replayed = self
            .writer
            .change(caller, move |tx, caller| {
                let (_, row) = managed(tx, caller, id)?;
                let lane = lane_of(tx, &row)?;
                if !row.active {
                    return Err(RecordError::new(
                        "conflict",
                        format!("sink `{}` is disabled; enable it first", row.name),
                    ));
                }
                let mut result = ReplayResult::default();
                if feeds && matching.count > 0 {
                    let selection = FeedSelection::Replay {
                        since,
                        until,
                        only_undelivered,
                    };
                    add_feed(tx, &row, lane, (selection, matching.count))?;
                    result.feeding = matching.count;
                } else {
                    result.queued = queue_until_full(tx, lane, &matching)?;
                    result.dropped = matching.count - result.queued;
                }
                if covers_all && result.dropped == 0 {
                    lanes::set_recovered(tx, lane, status.dropped)?;
                }
                let mut detail = json!({
                    "name": row.name, "since": since, "until": until,
                    "queued": result.queued, "dropped": result.dropped,
                });
                if feeds {
                    detail["feeding"] = json!(result.feeding);
                }
                audit(tx, caller, "event_sink.replayed", &row, detail)?;
                Ok(result)
            })
            .await?;
        self.hub.wake();
        Ok(replayed)
    }

    /// Whether `filter` finds no undelivered event before its `since` or after its `until`. Events
    /// older than the sink do not count.
    async fn is_rest_delivered(
        &self,
        caller: &Caller,
        sink: &SinkRow,
        filter: events::Filter,
        now: Timestamp,
    ) -> Result<bool> {
        let step = Duration::from_millis(1);
        let before = filter
            .since
            .map(|since| (sink.created_at, since.minus(step)));
        let after = filter.until.map(|until| (until.plus(step), now));
        for (since, until) in before.into_iter().chain(after) {
            let rest = events::Filter {
                since: Some(since),
                until: Some(until),
                ..filter.clone()
            };
            if since <= until && self.find_matching(caller, sink, rest).await?.count > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The past events that match. Reads step by step outside the write transaction, because a long
    /// history must not delay emits.
    async fn find_matching(
        &self,
        caller: &Caller,
        sink: &SinkRow,
        filter: events::Filter,
    ) -> Result<MatchingEvents> {
        let mut matching = MatchingEvents::default();
        let mut after = EventId::NIL;
        loop {
            let (filter, receiver) = (filter.clone(), Receiver::Sink(sink.id));
            let patterns = sink.patterns.clone();
            let reading = move |tx: &mut Tx<'_>| {
                let window = events::list_after(tx, &filter, after, WINDOW)?;
                let mut matching = Vec::new();
                for (id, event_type) in window.events {
                    let mut patterns = patterns.iter();
                    if patterns.any(|pattern| pattern.matches(&event_type))
                        && !is_about(tx, &receiver, (id, &event_type))?
                    {
                        matching.push((id, event_type));
                    }
                }
                Ok((window.next, matching))
            };
            let (next, mut matches) = self.store.read_list(caller.user.id, reading).await?;
            if let Some(expression) = &sink.policy.filter {
                matches = self
                    .filter_events(caller, sink, expression, matches)
                    .await?;
            }
            for event in matches {
                matching.count += 1;
                if matching.first.len() < QUEUE_CAPACITY as usize {
                    matching.first.push(event);
                }
            }
            let Some(next) = next else {
                return Ok(matching);
            };
            after = next;
        }
    }

    /// Keeps the events for which a filter is true.
    async fn filter_events(
        &self,
        caller: &Caller,
        sink: &SinkRow,
        filter: &str,
        events: Vec<(EventId, String)>,
    ) -> Result<Vec<(EventId, String)>> {
        let mut kept = Vec::new();
        for part in events.chunks(FILTER_STEP) {
            let ids: Vec<_> = part.iter().map(|(id, _)| *id).collect();
            let mut rest = self.read_events(caller, ids).await?;
            while !rest.is_empty() {
                let results = self
                    .deliverers
                    .filter(sink.owner_id, filter.to_owned(), rest.clone())
                    .await
                    .map_err(RecordError::Internal)?;
                let left = rest.split_off(results.len().min(rest.len()));
                for (event, result) in rest.into_iter().zip(results) {
                    if result == Ok(true) {
                        kept.push((event.id, event.r#type));
                    }
                }
                rest = left;
            }
        }
        Ok(kept)
    }

    /// Reads events with their data. Skips events that no longer exist.
    pub(super) async fn read_events(
        &self,
        caller: &Caller,
        ids: Vec<EventId>,
    ) -> Result<Vec<Event>, StoreError> {
        let reading = self.store.read_list(caller.user.id, move |tx| {
            let found = ids.into_iter().map(|id| events::find(tx, id));
            let found = found.collect::<Result<Vec<_>, _>>()?;
            Ok(found.into_iter().flatten().collect())
        });
        reading.await
    }
}

/// Past events that match a sink.
#[derive(Default)]
struct MatchingEvents {
    /// Ids and types of the oldest events, at most the capacity of a queue.
    first: Vec<(EventId, String)>,
    count: u32,
}

pub(super) fn add_feed(
    tx: &mut Tx<'_>,
    row: &SinkRow,
    lane: LaneId,
    (selection, total): (FeedSelection, u32),
) -> Result<()> {
    if lanes::count_feeds(tx, lane)? >= FEEDS_MAX {
        return Err(RecordError::new(
            "conflict",
            format!(
                "sink `{}` has {FEEDS_MAX} resends and replays that have not ended; wait until one ends",
                row.name
            ),
        ));
    }
    let position = match selection {
        FeedSelection::Deliveries { .. } | FeedSelection::Dead { .. } => "0".to_owned(),
        FeedSelection::Replay { .. } => EventId::NIL.to_string(),
    };
    let feed = NewFeed {
        selection,
        position,
        total,
        started_at: svc_clock::now(),
    };
    Ok(lanes::add_feed(tx, lane, &feed)?)
}

/// Queues events until the queue is full. Returns how many were queued.
fn queue_until_full(
    tx: &mut Tx<'_>,
    lane: LaneId,
    matching: &MatchingEvents,
) -> Result<u32, StoreError> {
    let mut queued = 0;
    for (id, event_type) in &matching.first {
        match lanes::enqueue(tx, lane, (*id, event_type), svc_clock::now())? {
            Some(_) => queued += 1,
            // Full. Stop, so that later events do not overtake this one.
            None => break,
        }
    }
    Ok(queued)
}
