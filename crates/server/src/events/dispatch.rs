//! Dispatch: chooses the lanes of an event, in the transaction that creates the event. A lane is
//! the queue of one sink or of one subscribed method.
//!
//! A lane gets the events of its owner that match its patterns; a global lane gets those of all
//! users. A full lane drops the event, and every drop has an audit entry (spec 6.5). Two kinds of
//! lanes check the stored event later instead ([`lanes::refill`](super::lanes)): lanes with a
//! filter, and lanes that hold events while they are full or inactive. For such a lane, dispatch
//! records only the number of the first event to check.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::json;
use svc_core::{
    EventId, LaneId, Timestamp, UserId,
    event::{Event, SINK_EVENTS},
    lane::QUEUE_CAPACITY,
};
use svc_store::{
    StoreError, Tx, audit,
    dispatch::{self, DispatchLane, DispatchState, LaneChange},
    events::{self, usage},
    lanes::{self, Receiver},
    records,
    sinks::{GLOBAL, SinkRow},
};

use super::{audit::target_of, sink_event::sink_event};

/// How many lanes matched an event, and the events about their sinks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DispatchResult {
    /// Number of lanes that queued the event.
    pub queued: u32,
    /// Number of lanes that dropped the event.
    pub dropped: u32,
    /// Number of lanes that will check the event later.
    pub held: u32,
    /// Bytes of the owner's stored events, this event included.
    pub stored_bytes: u64,
    /// Events about sinks that began to drop events. After the commit, the caller reports them to
    /// the hub, like the event itself.
    pub raised: Vec<Arc<Event>>,
}

/// An event that a full lane drops.
#[derive(Clone, Copy, Debug)]
pub(super) struct DroppedEvent<'a> {
    pub(super) id: EventId,
    pub(super) r#type: &'a str,
    pub(super) ts: Timestamp,
    pub(super) owner_id: UserId,
}

impl<'a> DroppedEvent<'a> {
    fn of(event: &'a Event) -> Self {
        Self {
            id: event.id,
            r#type: &event.r#type,
            ts: event.ts,
            owner_id: event.owner_id,
        }
    }
}

/// Writes an event and dispatches it to each lane whose patterns match. The caller calls
/// [`Hub::committed`](super::hub::Hub::committed) after the commit.
pub fn emit_in(tx: &mut Tx<'_>, event: &Event) -> Result<DispatchResult, StoreError> {
    emit_except(tx, event, None)
}

/// Like [`emit_in`], for an event about the sink of the lane `about`. This lane does not receive
/// the event.
pub fn emit_to_others(
    tx: &mut Tx<'_>,
    event: &Event,
    about: LaneId,
) -> Result<DispatchResult, StoreError> {
    emit_except(tx, event, Some(about))
}

fn emit_except(
    tx: &mut Tx<'_>,
    event: &Event,
    except: Option<LaneId>,
) -> Result<DispatchResult, StoreError> {
    let state = dispatch::read(tx, &[event.owner_id], &[], event.ts)?;
    let mut dispatch = Dispatch::new(state, [event.owner_id]);
    let result = dispatch.emit(tx, event, except)?;
    dispatch.finish(tx)?;
    Ok(result)
}

/// Whether an event is about the sink of this lane. A sink does not receive events about itself.
/// Also true for a `sink.*` event that no longer exists.
pub(super) fn is_about(
    tx: &mut Tx<'_>,
    receiver: &Receiver,
    (id, event_type): (EventId, &str),
) -> Result<bool, StoreError> {
    let (Receiver::Sink(sink), true) = (receiver, event_type.starts_with(SINK_EVENTS)) else {
        return Ok(false);
    };
    let Some(event) = events::find(tx, id)? else {
        return Ok(true);
    };
    let data: serde_json::Value = serde_json::from_str(event.data.as_str()).unwrap_or_default();
    Ok(data["sink_id"] == json!(sink))
}

/// Events that one transaction writes together. The lanes of each owner are read once. Dispatch
/// chooses among them in memory, and [`finish`](Self::finish) writes their counters once.
pub(super) struct Dispatch {
    /// Lanes, grouped by their owner's id or by `global`.
    lanes: HashMap<String, Vec<LaneInDispatch>>,
    newest: u64,
    /// Bytes of the stored events of each owner whose lanes were read.
    bytes: HashMap<UserId, u64>,
    /// The part of these bytes that new events added.
    added: BTreeMap<UserId, u64>,
}

struct LaneInDispatch {
    lane: DispatchLane,
    change: LaneChange,
}

impl Dispatch {
    /// `state` is the result of [`dispatch::read`] for these owners.
    pub(super) fn new(state: DispatchState, owners: impl IntoIterator<Item = UserId>) -> Self {
        let bytes = owners.into_iter().map(|owner| {
            let stored = state.bytes.get(&owner).copied();
            (owner, stored.unwrap_or_default())
        });
        let mut dispatch = Self {
            lanes: HashMap::new(),
            newest: state.newest,
            bytes: bytes.collect(),
            added: BTreeMap::new(),
        };
        dispatch.add_lanes(state.lanes);
        dispatch
    }

    fn add_lanes(&mut self, lanes: Vec<DispatchLane>) {
        for lane in lanes {
            let owned = self.lanes.entry(lane.owner_key.clone()).or_default();
            owned.push(LaneInDispatch {
                lane,
                change: LaneChange::default(),
            });
        }
    }

    /// Bytes of the owner's stored events, this event included.
    pub(super) fn bytes_with(&self, event: &Event) -> u64 {
        let stored = self.bytes.get(&event.owner_id).copied();
        stored.unwrap_or_default() + usage::size_of(event)
    }

    /// Writes an event and its deliveries. The lane `except` does not receive the event.
    pub(super) fn emit(
        &mut self,
        tx: &mut Tx<'_>,
        event: &Event,
        except: Option<LaneId>,
    ) -> Result<DispatchResult, StoreError> {
        self.newest += 1;
        dispatch::insert_event(tx, event, self.newest)?;
        let mut result = DispatchResult {
            stored_bytes: self.bytes_with(event),
            ..DispatchResult::default()
        };
        self.bytes.insert(event.owner_id, result.stored_bytes);
        *self.added.entry(event.owner_id).or_default() += usage::size_of(event);
        let mut began_dropping = Vec::new();
        for owner in [event.owner_id.to_string(), GLOBAL.to_owned()] {
            for lane in self.lanes.get_mut(&owner).into_iter().flatten() {
                if Some(lane.lane.candidate.lane) == except || !lane.matches(event) {
                    continue;
                }
                let was_dropping = lane.is_dropping();
                lane.dispatch(tx, event, self.newest, &mut result)?;
                if lane.is_dropping() && !was_dropping {
                    began_dropping.push(lane.lane.candidate.clone());
                }
            }
        }
        for candidate in began_dropping {
            let (lane, receiver) = (candidate.lane, candidate.receiver);
            if let Some(about) = dropping_event(tx, &receiver, DroppedEvent::of(event))? {
                self.read_lanes_of(tx, about.owner_id)?;
                let raised = self.emit(tx, &about, Some(lane))?.raised;
                result.raised.push(Arc::new(about));
                result.raised.extend(raised);
            }
        }
        Ok(result)
    }

    /// Adds the lanes of an owner whose lanes were not read yet.
    fn read_lanes_of(&mut self, tx: &mut Tx<'_>, owner: UserId) -> Result<(), StoreError> {
        if self.bytes.contains_key(&owner) {
            return Ok(());
        }
        let mut state = dispatch::read(tx, &[owner], &[], Timestamp(0))?;
        let stored = state.bytes.get(&owner).copied();
        self.bytes.insert(owner, stored.unwrap_or_default());
        // The global lanes were read before, and their counters in memory are newer.
        state.lanes.retain(|lane| lane.owner_key != GLOBAL);
        self.add_lanes(state.lanes);
        Ok(())
    }

    /// Writes the counters of the lanes and of the stored events.
    pub(super) fn finish(self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        if self.added.is_empty() {
            return Ok(());
        }
        for changed in self.lanes.values().flatten() {
            dispatch::change_lane(tx, changed.lane.candidate.lane, &changed.change)?;
        }
        dispatch::finish(tx, self.newest, self.added)
    }
}

impl LaneInDispatch {
    fn matches(&self, event: &Event) -> bool {
        let mut patterns = self.lane.candidate.patterns.iter();
        patterns.any(|pattern| pattern.matches(&event.r#type))
    }

    fn is_dropping(&self) -> bool {
        self.lane.dropping
    }

    /// Queues an event that matches the patterns, lets the lane check it later, or drops it.
    fn dispatch(
        &mut self,
        tx: &mut Tx<'_>,
        event: &Event,
        seq: u64,
        result: &mut DispatchResult,
    ) -> Result<(), StoreError> {
        let Self { lane, change } = self;
        let candidate = &mut lane.candidate;
        if candidate.is_behind {
            // The lane still has to check earlier events and will check this event after them. If the
            // event were queued now, it would overtake them.
            result.held += 1;
        } else if candidate.active && !candidate.has_filter && lane.depth < QUEUE_CAPACITY {
            lane.tail += 1;
            lane.depth += 1;
            change.queued += 1;
            let delivery = (candidate.lane, lane.tail);
            dispatch::insert_delivery(tx, delivery, (event.id, &event.r#type), event.ts)?;
            result.queued += 1;
        } else if candidate.holds || candidate.has_filter {
            candidate.is_behind = true;
            change.refill_from = Some(seq);
            result.held += 1;
        } else {
            lane.dropping = true;
            change.dropped += 1;
            let receiver = (&*lane.owner_key, &candidate.receiver);
            report_drop(tx, receiver, DroppedEvent::of(event))?;
            result.dropped += 1;
        }
        Ok(())
    }
}

/// Counts and reports an event that does not fit into the queue of a lane. Returns the `sink.*`
/// events that were created.
pub(super) fn drop_event(
    tx: &mut Tx<'_>,
    lane: LaneId,
    (owner_key, receiver): (&str, &Receiver),
    event: DroppedEvent<'_>,
) -> Result<Vec<Arc<Event>>, StoreError> {
    let is_first = lanes::count_drop(tx, lane)?;
    report_drop(tx, (owner_key, receiver), event)?;
    let about = match is_first {
        true => dropping_event(tx, receiver, event)?,
        false => None,
    };
    let Some(about) = about else {
        return Ok(Vec::new());
    };
    let mut raised = emit_to_others(tx, &about, lane)?.raised;
    raised.push(Arc::new(about));
    Ok(raised)
}

/// Logs and audits a dropped event. If a lane's owner causes very many drops, several drops of a
/// lane share one entry, which counts them.
fn report_drop(
    tx: &mut Tx<'_>,
    (owner_key, receiver): (&str, &Receiver),
    event: DroppedEvent<'_>,
) -> Result<(), StoreError> {
    let (target_type, target_id) = target_of(receiver);
    tracing::warn!(
        owner.id = %event.owner_id,
        event.id = %event.id,
        event_type = %event.r#type,
        target = %target_id,
        "an event was dropped: the queue of its {target_type} is full"
    );
    let detail = json!({
        "event_id": event.id, "event_type": event.r#type, "event_ts": event.ts,
        "owner_id": event.owner_id,
    });
    let target = (target_type, target_id);
    // Not the time of the event: a lane that is behind drops events of earlier days, and the bytes
    // count for the day of the entry.
    let now = svc_clock::now();
    let entry = audit::Entry::by_system(now, "event_sink.dropped", target, detail);
    audit::append_about_event(tx, owner_key, event.id, &entry)
}

/// The event about a sink that begins to drop events, if the sink has `notify`. `None` if the
/// dropped event is itself a `sink.*` event.
fn dropping_event(
    tx: &mut Tx<'_>,
    receiver: &Receiver,
    event: DroppedEvent<'_>,
) -> Result<Option<Event>, StoreError> {
    let Receiver::Sink(sink) = receiver else {
        return Ok(None);
    };
    if event.r#type.starts_with(SINK_EVENTS) {
        return Ok(None);
    }
    let sink = records::find::<SinkRow>(tx, *sink)?.filter(|sink| sink.policy.notify);
    let detail = json!({"event_id": event.id, "event_type": event.r#type});
    Ok(sink.map(|sink| sink_event(&sink, "dropping", detail, event.ts)))
}
