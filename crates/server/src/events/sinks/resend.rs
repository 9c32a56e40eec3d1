//! Resends: sends past deliveries of a sink again, in a feed (see `recovery`).

use serde_json::json;
use svc_core::{SinkId, Timestamp};
use svc_protocol::api::{RESEND_MAX, Resend, ResendResult};
use svc_store::{Tx, deliveries, lanes::FeedSelection};

use super::{SinksService, audit, managed, queue::lane_of, recovery::add_feed};
use crate::{identity::Caller, records::RecordError};

/// One query reads at most this many deliveries, whether or not they are dead.
const WINDOW: u32 = 500;

impl SinksService {
    /// Sends selected deliveries again, or all deliveries that have become dead since a time.
    pub async fn resend_many(
        &self,
        caller: &Caller,
        id: SinkId,
        request: Resend,
    ) -> Result<ResendResult, RecordError> {
        self.read_managed(caller, id).await?;
        let selection = check_selection(&request)?;
        // Not in the write transaction, because up to a thousand look-ups would delay emits. The
        // feed checks each delivery again.
        let (selection, result) = match selection {
            DeliverySelection::Numbers(numbers) => self.select_named(caller, id, numbers).await?,
            DeliverySelection::DeadSince(since) => self.select_dead(caller, id, since).await?,
        };
        if request.dry_run {
            return Ok(result);
        }
        let feeding = result.feeding;
        let resent = self.writer.change(caller, move |tx, caller| {
            let (_, row) = managed(tx, caller, id)?;
            if feeding == 0 {
                return Ok(());
            }
            let lane = lane_of(tx, &row)?;
            let detail = json!({
                "name": row.name, "deliveries": feeding, "dead_since": request.dead_since,
            });
            add_feed(tx, &row, lane, (selection, feeding))?;
            audit(tx, caller, "event_sink.resent", &row, detail)?;
            Ok(())
        });
        resent.await?;
        self.hub.wake_refill();
        Ok(result)
    }

    /// Selects those of the given deliveries that can be sent again. Returns the selection for a
    /// feed, and the answer to the request.
    async fn select_named(
        &self,
        caller: &Caller,
        id: SinkId,
        given: Vec<u64>,
    ) -> Result<(FeedSelection, ResendResult), RecordError> {
        let manager = caller.clone();
        let selecting = self.store.read_list(caller.user.id, move |tx| {
            let lane = match managed(tx, &manager, id).and_then(|(_, row)| lane_of(tx, &row)) {
                Ok(lane) => lane,
                Err(refused) => return Ok(Err(refused)),
            };
            let (mut numbers, mut skipped) = (Vec::new(), Vec::new());
            for n in given {
                match deliveries::find_past(tx, lane, n)? {
                    Some(_) if numbers.contains(&n) => {}
                    Some(_) => numbers.push(n),
                    None => skipped.push(n),
                }
            }
            Ok(Ok((numbers, skipped)))
        });
        let (numbers, skipped) = selecting.await??;
        let feeding = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let selection = FeedSelection::Deliveries { numbers };
        Ok((selection, ResendResult { feeding, skipped }))
    }

    /// Selects the dead deliveries that ended at `since` or later, and counts them window by window.
    async fn select_dead(
        &self,
        caller: &Caller,
        id: SinkId,
        since: Timestamp,
    ) -> Result<(FeedSelection, ResendResult), RecordError> {
        let row = self.read_managed(caller, id).await?;
        let finding = self.store.read(move |tx| {
            let lane = match lane_of(tx, &row) {
                Ok(lane) => lane,
                Err(refused) => return Ok(Err(refused)),
            };
            Ok(Ok((lane, deliveries::newest(tx, lane)?)))
        });
        let (lane, until_n) = finding.await??;
        let (mut feeding, mut next) = (0, Some(0));
        while let Some(after) = next {
            let counting = move |tx: &mut Tx<'_>| {
                let span = (after, until_n);
                let window = deliveries::list_dead(tx, lane, span, since, WINDOW)?;
                Ok((window.deliveries.len(), window.next))
            };
            let (count, following) = self.store.read_list(caller.user.id, counting).await?;
            feeding += u32::try_from(count).unwrap_or(u32::MAX);
            next = following;
        }
        let result = ResendResult {
            feeding,
            skipped: Vec::new(),
        };
        Ok((FeedSelection::Dead { since, until_n }, result))
    }
}

/// The deliveries that a request names.
enum DeliverySelection {
    Numbers(Vec<u64>),
    DeadSince(Timestamp),
}

fn check_selection(request: &Resend) -> Result<DeliverySelection, RecordError> {
    let invalid = |why: String| Err(RecordError::new("invalid", why));
    match (&request.deliveries, request.dead_since) {
        (Some(numbers), None) if numbers.is_empty() => {
            invalid("`deliveries` is empty; name at least one delivery".to_owned())
        }
        (Some(numbers), None) if numbers.len() > RESEND_MAX => invalid(format!(
            "`deliveries` has {} numbers; at most {RESEND_MAX} are allowed; use `dead_since` to select more",
            numbers.len()
        )),
        (Some(numbers), None) => Ok(DeliverySelection::Numbers(numbers.clone())),
        (None, Some(since)) => Ok(DeliverySelection::DeadSince(since)),
        (Some(_), Some(_)) | (None, None) => {
            invalid("give either `deliveries` or `dead_since`".to_owned())
        }
    }
}
