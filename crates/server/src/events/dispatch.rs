//! Dispatch: chooses the lanes of an event, in the transaction that creates the event. A lane is
//! the queue of one sink or of one subscribed method.
//!
//! A lane gets the events of its owner that match its patterns; a global lane gets those of all
//! users. A full lane drops the event, and every drop has an audit entry (spec 6.5). Two kinds of
//! lanes check the stored event later instead ([`lanes::refill`](super::lanes)): lanes with a
//! filter, and lanes that hold events while they are full or inactive. For such a lane, dispatch
//! records only the number of the first event to check.

mod lane;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use serde_json::json;
use svc_core::{
    EventId, LaneId, Timestamp, UserId,
    event::{Event, SINK_EVENTS},
};
use svc_store::{
    StoreError, Tx, audit,
    dispatch::{self, DispatchState},
    events::{self, usage},
    lanes::{self, Receiver},
    records,
    sinks::{GLOBAL, SinkRow},
};

use self::lane::{Decision, LaneInDispatch};
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
    let read = (event.owner_id, &*event.r#type);
    let state = dispatch::read(tx, &[read], &[], event.ts)?;
    let mut dispatch = Dispatch::new(state, &[read]);
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

/// Events that one transaction writes together. The lanes that may match an event are read once.
/// Dispatch chooses among them in memory, and [`finish`](Self::finish) writes their counters once.
pub(super) struct Dispatch {
    /// Lanes, grouped by their owner's id or by `global`.
    lanes: HashMap<String, BTreeMap<LaneId, LaneInDispatch>>,
    /// The owners and the types of events whose lanes were read.
    read: HashSet<(UserId, String)>,
    newest: u64,
    /// Bytes of the stored events of each of these owners.
    bytes: HashMap<UserId, u64>,
    /// The part of these bytes that new events added.
    added: BTreeMap<UserId, u64>,
}

/// The work that an event causes in its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct DispatchCost {
    /// Number of lanes that are read for the event.
    pub(super) lanes: usize,
    /// Number of lanes that drop it.
    pub(super) dropped: usize,
}

impl Dispatch {
    /// `state` is the result of [`dispatch::read`] for events of these owners and types.
    pub(super) fn new(state: DispatchState, events: &[(UserId, &str)]) -> Self {
        let mut dispatch = Self {
            lanes: HashMap::new(),
            read: HashSet::new(),
            newest: state.newest,
            bytes: HashMap::new(),
            added: BTreeMap::new(),
        };
        dispatch.add(state, events);
        dispatch
    }

    /// Adds lanes and counters. Those that are known already are newer in memory.
    fn add(&mut self, state: DispatchState, events: &[(UserId, &str)]) {
        for lane in state.lanes {
            let owned = self.lanes.entry(lane.owner_key.clone()).or_default();
            let lane_id = lane.candidate.lane;
            owned
                .entry(lane_id)
                .or_insert_with(|| LaneInDispatch::new(lane));
        }
        for &(owner, event_type) in events {
            let stored = state.bytes.get(&owner).copied();
            let bytes = self.bytes.entry(owner);
            bytes.or_insert_with(|| stored.unwrap_or_default());
            self.read.insert((owner, event_type.to_owned()));
        }
    }

    /// Reads the lanes that an event may match, unless they were read before.
    pub(super) fn read_lanes_for(
        &mut self,
        tx: &mut Tx<'_>,
        event: &Event,
    ) -> Result<(), StoreError> {
        let key = (event.owner_id, event.r#type.clone());
        if self.read.contains(&key) {
            return Ok(());
        }
        let read = (key.0, &*key.1);
        let state = dispatch::read(tx, &[read], &[], Timestamp(0))?;
        self.add(state, &[read]);
        Ok(())
    }

    /// The cost of an event whose lanes were read. Writes nothing.
    pub(super) fn cost_of(&self, event: &Event) -> DispatchCost {
        let mut cost = DispatchCost::default();
        for owner in [&*event.owner_id.to_string(), GLOBAL] {
            for lane in self.lanes.get(owner).into_iter().flat_map(BTreeMap::values) {
                let patterns = &lane.lane.candidate.patterns;
                cost.lanes += usize::from(lanes::finds(patterns, &event.r#type));
                let drops = lane.matches(event) && lane.decide() == Decision::Drop;
                cost.dropped += usize::from(drops);
            }
        }
        cost
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
        self.read_lanes_for(tx, event)?;
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
            let lanes = self.lanes.get_mut(&owner).into_iter();
            for lane in lanes.flat_map(BTreeMap::values_mut) {
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
                let raised = self.emit(tx, &about, Some(lane))?.raised;
                result.raised.push(Arc::new(about));
                result.raised.extend(raised);
            }
        }
        Ok(result)
    }

    /// Writes the counters of the lanes and of the stored events.
    pub(super) fn finish(self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        if self.added.is_empty() {
            return Ok(());
        }
        for changed in self.lanes.values().flat_map(BTreeMap::values) {
            dispatch::change_lane(tx, changed.lane.candidate.lane, &changed.change)?;
        }
        dispatch::finish(tx, self.newest, self.added)
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
