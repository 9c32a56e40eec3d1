//! One step of a feed. A feed is a request to send past events again; a step queues some of these
//! events. At least half of the queue stays free for new events.

use std::str::FromStr;

use svc_core::{EventId, LaneId, Timestamp, event::Event, lane::REFILL_DEPTH};
use svc_store::{
    StoreError, Tx,
    deliveries::{self, PastDelivery},
    events,
    lanes::{self, Feed, FeedSelection, RefillLane},
    sinks::GLOBAL,
};

use crate::events::dispatch::is_about;

use super::{
    super::{Deliver, FilterResult, worker::EngineState},
    step::{FILTER_BYTES_MAX, RefillError},
};

/// One statement reads at most this many events.
const WINDOW: u32 = 500;
/// A step that finds no matching event ends after this many statements.
const WINDOWS_MAX: usize = 10;

/// A past event to queue.
#[derive(Clone, Debug)]
struct PastEvent {
    id: EventId,
    r#type: String,
    /// The number of the past delivery of the event; `None` in a replay.
    past: Option<u64>,
    /// The position of the feed after this event.
    position: String,
}

struct Plan {
    lane: RefillLane,
    feed: Feed,
    events: Vec<PastEvent>,
    /// The same events with their data, if the feed is a replay and the lane has a filter.
    to_filter: Vec<Event>,
    /// The position of the feed after this step; `None` if the feed has ended.
    next: Option<String>,
}

/// Makes a step. Returns whether it made progress.
pub(super) async fn run<D: Deliver>(
    shared: &EngineState<D>,
    lane: LaneId,
) -> Result<bool, RefillError> {
    let planned = shared.store.read(move |tx| plan(tx, lane)).await?;
    let Some(mut plan) = planned else {
        return Ok(false);
    };
    let owner = plan.lane.owner_id;
    if let Some(filter) = plan.lane.filter.clone()
        && !plan.to_filter.is_empty()
    {
        let events = std::mem::take(&mut plan.to_filter);
        let results = shared.deliver.filter(owner, filter, events).await;
        plan.apply_filter(results.map_err(RefillError::Filter)?);
    }
    let moved = shared.store.write(move |tx| apply(tx, &plan)).await?;
    if moved {
        shared.hub.wake_owner(owner);
    }
    Ok(moved)
}

fn plan(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<Plan>, StoreError> {
    let Some(lane) = lanes::find_refill(tx, lane)? else {
        return Ok(None);
    };
    let room = REFILL_DEPTH.saturating_sub(lane.depth) as usize;
    let Some(feed) = lanes::find_feed(tx, lane.id)? else {
        return Ok(None);
    };
    if room == 0 || !lane.active {
        return Ok(None);
    }
    let position = &feed.position;
    let (events, next) = match &feed.selection {
        FeedSelection::Deliveries { numbers } => {
            list_numbers(tx, lane.id, numbers, parse(position)?, room)?
        }
        FeedSelection::Dead { since, until_n } => {
            let span = (parse(position)?, *until_n);
            list_dead(tx, lane.id, span, *since, room)?
        }
        FeedSelection::Replay {
            since,
            until,
            only_undelivered,
        } => {
            let filter = events::Filter {
                owner: (lane.owner_key != GLOBAL).then_some(lane.owner_id),
                since: Some(*since),
                until: Some(*until),
                undelivered_by: only_undelivered.then_some(lane.id),
                ..events::Filter::default()
            };
            list_matching(tx, &lane, &filter, parse(position)?, room)?
        }
    };
    let is_replay = matches!(feed.selection, FeedSelection::Replay { .. });
    let mut plan = Plan {
        lane,
        feed,
        events,
        to_filter: Vec::new(),
        next,
    };
    if is_replay && plan.lane.filter.is_some() {
        plan.read_data(tx)?;
    }
    Ok(Some(plan))
}

fn parse<T: FromStr>(position: &str) -> Result<T, StoreError> {
    position.parse().map_err(|_| StoreError::Decode {
        column: "position".to_owned(),
        reason: format!("`{position}` is not a position of a feed"),
    })
}

fn of_delivery(past: PastDelivery, position: String) -> PastEvent {
    PastEvent {
        id: past.event_id,
        r#type: past.event_type,
        past: Some(past.n),
        position,
    }
}

/// The deliveries with these numbers, starting at the index `from` of `numbers`. Skips deliveries
/// that cannot be sent again.
fn list_numbers(
    tx: &mut Tx<'_>,
    lane: LaneId,
    numbers: &[u64],
    from: usize,
    room: usize,
) -> Result<(Vec<PastEvent>, Option<String>), StoreError> {
    let end = numbers.len().min(from.saturating_add(room));
    let mut found = Vec::new();
    for (index, n) in numbers.iter().enumerate().take(end).skip(from) {
        let position = (index + 1).to_string();
        let past = deliveries::find_past(tx, lane, *n)?;
        found.extend(past.map(|past| of_delivery(past, position)));
    }
    Ok((found, (end < numbers.len()).then(|| end.to_string())))
}

/// The dead deliveries of a span of numbers that ended at `since` or later.
fn list_dead(
    tx: &mut Tx<'_>,
    lane: LaneId,
    (mut after, until): (u64, u64),
    since: Timestamp,
    room: usize,
) -> Result<(Vec<PastEvent>, Option<String>), StoreError> {
    let mut found = Vec::new();
    for _ in 0..WINDOWS_MAX {
        let window = deliveries::list_dead(tx, lane, (after, until), since, WINDOW)?;
        for past in window.deliveries {
            let position = past.n.to_string();
            found.push(of_delivery(past, position.clone()));
            if found.len() == room {
                return Ok((found, Some(position)));
            }
        }
        let Some(next) = window.next else {
            return Ok((found, None));
        };
        after = next;
        if !found.is_empty() {
            break;
        }
    }
    Ok((found, Some(after.to_string())))
}

/// The events with an id after `after` and a type that the lane's patterns match, oldest first.
fn list_matching(
    tx: &mut Tx<'_>,
    lane: &RefillLane,
    filter: &events::Filter,
    mut after: EventId,
    room: usize,
) -> Result<(Vec<PastEvent>, Option<String>), StoreError> {
    let mut found = Vec::new();
    for _ in 0..WINDOWS_MAX {
        let window = events::list_after(tx, filter, after, WINDOW)?;
        for (id, event_type) in window.events {
            if !lane.matches(&event_type) || is_about(tx, &lane.receiver, (id, &event_type))? {
                continue;
            }
            found.push(PastEvent {
                id,
                r#type: event_type,
                past: None,
                position: id.to_string(),
            });
            if found.len() == room {
                return Ok((found, Some(id.to_string())));
            }
        }
        let Some(next) = window.next else {
            return Ok((found, None));
        };
        after = next;
        if !found.is_empty() {
            break;
        }
    }
    Ok((found, Some(after.to_string())))
}

impl Plan {
    /// Reads the data of the events, up to a limit. Skips events that were removed meanwhile.
    fn read_data(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let (mut found, mut bytes) = (Vec::with_capacity(self.events.len()), 0);
        for event in std::mem::take(&mut self.events) {
            if bytes >= FILTER_BYTES_MAX {
                // The next step continues here.
                self.next = found.last().map(|last: &PastEvent| last.position.clone());
                break;
            }
            if let Some(whole) = events::find(tx, event.id)? {
                bytes += whole.data.as_str().len() as u64;
                self.to_filter.push(whole);
                found.push(event);
            }
        }
        self.events = found;
        Ok(())
    }

    /// Keeps the events for which the filter is true. If there are fewer results than events, the
    /// next step continues after the last result.
    fn apply_filter(&mut self, results: Vec<FilterResult>) {
        if results.len() < self.events.len() {
            self.events.truncate(results.len());
            self.next = self.events.last().map(|last| last.position.clone());
        }
        let mut results = results.into_iter();
        self.events
            .retain(|_| results.next().is_some_and(|result| result == Ok(true)));
    }
}

/// Queues the events and moves the feed, unless the lane or the feed has changed meanwhile.
fn apply(tx: &mut Tx<'_>, plan: &Plan) -> Result<bool, StoreError> {
    let id = plan.lane.id;
    let unchanged = |now: &RefillLane| {
        now.active && now.filter == plan.lane.filter && now.patterns == plan.lane.patterns
    };
    let Some(lane) = lanes::find_refill(tx, id)?.filter(unchanged) else {
        return Ok(false);
    };
    if lanes::find_feed(tx, id)?.as_ref() != Some(&plan.feed) {
        return Ok(false);
    }
    let room = REFILL_DEPTH.saturating_sub(lane.depth) as usize;
    let fitting = &plan.events[..room.min(plan.events.len())];
    let next = match fitting.len() < plan.events.len() {
        // New events have filled the queue since these events were read.
        true => match fitting.last() {
            Some(last) => Some(last.position.clone()),
            None => return Ok(false),
        },
        false => plan.next.clone(),
    };
    let events: Vec<_> = fitting
        .iter()
        .map(|event| (event.id, &*event.r#type))
        .collect();
    let first = lanes::append(tx, id, &events, svc_clock::now())?;
    if let Some(first) = first {
        for (n, event) in (first..).zip(fitting) {
            if let Some(past) = event.past {
                deliveries::link_resend(tx, id, past, n)?;
            }
        }
    }
    match next {
        Some(position) => lanes::move_feed(tx, id, plan.feed.n, (&position, fitting.len()))?,
        None => lanes::end_feed(tx, id, plan.feed.n)?,
    }
    Ok(true)
}
