//! Deliveries of a sink: list, resend, replay.

use std::time::Duration;

use serde_json::json;
use svc_core::{EventId, LaneId, Permission, SinkId, lane::QUEUE_CAPACITY, pattern::Pattern};
use svc_protocol::api::{Delivery, DeliveryState, Replay, ReplayResult};
use svc_store::{
    Page, Tx, audit,
    deliveries::{self, DeliveryPage},
    events, lanes,
    sinks::{self, SinkRow},
};

use super::{SinksService, entry, error::SinkError, managed};
use crate::identity::{Caller, Credential};

/// How far a replay reaches back, unless the request says otherwise.
const REPLAY_SINCE: Duration = Duration::from_secs(24 * 60 * 60);
/// Events that one query reads.
const REPLAY_STEP: u32 = 500;

impl SinksService {
    /// Newest first. A json-rpc sink has no deliveries, because it only formats.
    pub async fn deliveries(
        &self,
        caller: &Caller,
        id: SinkId,
        state: Option<DeliveryState>,
        page: DeliveryPage,
    ) -> Result<Page<Delivery>, SinkError> {
        let manager = caller.clone();
        let sees_addresses = caller.may(Permission::ViewAudit);
        let found = self.store.read_list(caller.user.id, move |tx| {
            let row = match managed(tx, &manager, id) {
                Ok((_, row)) => row,
                Err(refused) => return Ok(Err(refused)),
            };
            match sinks::status(tx, row.id)?.lane {
                Some(lane) => deliveries::list(tx, lane, state, page).map(Ok),
                None => Ok(Ok(Page {
                    items: Vec::new(),
                    next_cursor: None,
                })),
            }
        });
        let mut page = found.await??;
        if !sees_addresses {
            let attempts = page.items.iter_mut().flat_map(|one| &mut one.attempts);
            for exchange in attempts.filter_map(|attempt| attempt.exchange.as_mut()) {
                exchange.remote_address = None;
            }
        }
        Ok(page)
    }

    /// Appends the event of a finished delivery to the queue. Returns the new delivery.
    pub async fn resend(&self, caller: &Caller, id: SinkId, n: u64) -> Result<Delivery, SinkError> {
        check_no_script(caller)?;
        let delivery = self
            .writer
            .write(caller, move |tx, caller| {
                let (_, row) = managed(tx, caller, id)?;
                let lane = lane_of(tx, &row)?;
                let past = deliveries::find(tx, lane, n)?.ok_or(SinkError::DeliveryNotFound(n))?;
                if past.state == DeliveryState::Pending {
                    return Err(SinkError::Conflict(format!(
                        "delivery {n} is still in the queue; wait until it ends"
                    )));
                }
                let event = events::find(tx, past.event_id)?
                    .ok_or_else(|| SinkError::EventNotFound(past.event_id.to_string()))?;
                let detail = json!({
                    "name": row.name, "event_id": event.id, "event_type": &event.r#type,
                    "delivery": n,
                });
                let event = (event.id, &*event.r#type);
                let resent = lanes::enqueue(tx, lane, event, svc_clock::now())?;
                let resent = resent.ok_or(SinkError::QueueFull)?;
                audit::append(tx, &entry(caller, "event_sink.resent", &row, detail))?;
                deliveries::find(tx, lane, resent)?.ok_or(SinkError::DeliveryNotFound(resent))
            })
            .await?;
        self.hub.wake();
        Ok(delivery)
    }

    /// Queues past events that match the sink's patterns, oldest first, until the queue is full.
    pub async fn replay(
        &self,
        caller: &Caller,
        id: SinkId,
        request: Replay,
    ) -> Result<ReplayResult, SinkError> {
        check_no_script(caller)?;
        let now = svc_clock::now();
        let since = request.since.unwrap_or_else(|| now.minus(REPLAY_SINCE));
        let until = request.until.unwrap_or(now);
        if since > until {
            return Err(SinkError::invalid(
                "invalid",
                "`since` is later than `until`",
            ));
        }
        let row = self.read_managed(caller, id).await?;
        let filter = events::Filter {
            owner: (!row.is_global()).then_some(row.owner_id),
            since: Some(since),
            until: Some(until),
            ..events::Filter::default()
        };
        let matching = self.find_matching(&row.patterns, filter).await?;
        let replayed = self
            .writer
            .write(caller, move |tx, caller| {
                let (_, row) = managed(tx, caller, id)?;
                let lane = lane_of(tx, &row)?;
                if !row.active {
                    return Err(SinkError::Conflict(format!(
                        "sink `{}` is disabled; enable it first",
                        row.name
                    )));
                }
                let mut queued = 0;
                for (id, event_type) in &matching.first {
                    match lanes::enqueue(tx, lane, (*id, event_type), svc_clock::now())? {
                        Some(_) => queued += 1,
                        // Full. Stop, so that later events do not overtake this one.
                        None => break,
                    }
                }
                let dropped = matching.count - queued;
                let detail = json!({
                    "name": row.name, "since": since, "until": until,
                    "queued": queued, "dropped": dropped,
                });
                audit::append(tx, &entry(caller, "event_sink.replayed", &row, detail))?;
                Ok(ReplayResult { queued, dropped })
            })
            .await?;
        self.hub.wake();
        Ok(replayed)
    }

    /// The past events that match. Reads step by step outside the write transaction, because a long
    /// history must not delay emits.
    async fn find_matching(
        &self,
        patterns: &[Pattern],
        filter: events::Filter,
    ) -> Result<MatchingEvents, SinkError> {
        let mut matching = MatchingEvents::default();
        let mut after = EventId::NIL;
        loop {
            let filter = filter.clone();
            let step = self
                .store
                .read(move |tx| events::list_after(tx, &filter, after, REPLAY_STEP))
                .await?;
            let Some(last) = step.last() else {
                return Ok(matching);
            };
            after = last.0;
            for (id, event_type) in step {
                if patterns.iter().any(|pattern| pattern.matches(&event_type)) {
                    matching.count += 1;
                    if matching.first.len() < QUEUE_CAPACITY as usize {
                        matching.first.push((id, event_type));
                    }
                }
            }
        }
    }
}

/// Rejects scripts: a script that resends its own event would run for ever.
fn check_no_script(caller: &Caller) -> Result<(), SinkError> {
    match caller.credential {
        Credential::Script => Err(SinkError::Nested),
        _ => Ok(()),
    }
}

/// Past events that match a sink.
#[derive(Default)]
struct MatchingEvents {
    /// Ids and types of the oldest events, at most the capacity of a queue.
    first: Vec<(EventId, String)>,
    count: u32,
}

fn lane_of(tx: &mut Tx<'_>, row: &SinkRow) -> Result<LaneId, SinkError> {
    sinks::status(tx, row.id)?.lane.ok_or_else(|| {
        SinkError::Conflict(format!(
            "sink `{}` is a json-rpc sink, which formats events and has no queue",
            row.name
        ))
    })
}
