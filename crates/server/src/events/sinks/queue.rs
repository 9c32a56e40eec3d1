//! Deliveries of a sink: list them, send one again.

use serde_json::json;
use svc_core::{EventId, LaneId, Permission, SinkId};
use svc_protocol::api::{Delivery, DeliveryState};
use svc_store::{
    Page, Tx,
    deliveries::{self, DeliveryPage},
    events, lanes,
    sinks::{self, SinkRow},
};

use super::{SinksService, audit, managed, readable};
use crate::{
    identity::Caller,
    records::{RecordError, Result},
};

impl SinksService {
    /// Newest first. A json-rpc sink has no deliveries, because it only formats.
    pub async fn deliveries(
        &self,
        caller: &Caller,
        id: SinkId,
        state: Option<DeliveryState>,
        page: DeliveryPage,
    ) -> Result<Page<Delivery>> {
        let manager = caller.clone();
        let sees_addresses = caller.may(Permission::ViewAudit);
        let found = self.store.read_list(caller.user.id, move |tx| {
            let row = match readable(tx, &manager, id) {
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
    pub async fn resend(&self, caller: &Caller, id: SinkId, n: u64) -> Result<Delivery> {
        let delivery = self
            .writer
            .change(caller, move |tx, caller| {
                let (_, row) = managed(tx, caller, id)?;
                let lane = lane_of(tx, &row)?;
                let past = deliveries::find(tx, lane, n)?.ok_or_else(|| no_delivery(n))?;
                if past.state == DeliveryState::Pending {
                    return Err(RecordError::new(
                        "conflict",
                        format!("delivery {n} is still in the queue; wait until it ends"),
                    ));
                }
                let event =
                    events::find(tx, past.event_id)?.ok_or_else(|| no_event(past.event_id))?;
                let detail = json!({
                    "name": row.name, "event_id": event.id, "event_type": &event.r#type,
                    "delivery": n,
                });
                let event = (event.id, &*event.r#type);
                let resent = lanes::enqueue(tx, lane, event, svc_clock::now())?;
                let resent = resent.ok_or_else(queue_full)?;
                deliveries::link_resend(tx, lane, n, resent)?;
                audit(tx, caller, "event_sink.resent", &row, detail)?;
                deliveries::find(tx, lane, resent)?.ok_or_else(|| no_delivery(resent))
            })
            .await?;
        self.hub.wake();
        Ok(delivery)
    }
}

fn no_delivery(n: u64) -> RecordError {
    RecordError::NotFound(format!(
        "delivery {n} of this sink does not exist, or is past its retention"
    ))
}

pub(super) fn no_event(id: EventId) -> RecordError {
    RecordError::NotFound(format!(
        "event `{id}` does not exist, or is past its retention"
    ))
}

fn queue_full() -> RecordError {
    RecordError::new(
        "queue_full",
        "the sink's queue is full; try again after some deliveries have ended",
    )
}

pub(super) fn lane_of(tx: &mut Tx<'_>, row: &SinkRow) -> Result<LaneId> {
    sinks::status(tx, row.id)?.lane.ok_or_else(|| {
        RecordError::new(
            "conflict",
            format!(
                "sink `{}` is a json-rpc sink, which formats events and has no queue",
                row.name
            ),
        )
    })
}
