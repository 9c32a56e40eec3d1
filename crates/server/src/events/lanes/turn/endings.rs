//! Records how deliveries ended.

use std::time::Duration;

use serde_json::json;
use svc_protocol::api::DeliveryState;
use svc_store::{
    StoreError,
    audit::{self, Entry},
    deliveries::{self, QueueHead},
};

use super::{AttemptDetail, DeadDelivery, DeliveryEnd, EndedDelivery, Turn};
use crate::events::audit::target_of;

impl Turn<'_, '_> {
    pub(super) fn end(&mut self, ended: &EndedDelivery) -> Result<(), StoreError> {
        match &ended.end {
            DeliveryEnd::Delivered(detail) => {
                if self.finish(ended.n, DeliveryState::Delivered)? {
                    self.record_attempt(ended.n, detail)?;
                    self.note_success()?;
                }
            }
            DeliveryEnd::Dead(detail) => self.end_as_dead(ended, detail, true)?,
            DeliveryEnd::RetryIn(wait, detail) => {
                self.record_attempt(ended.n, detail)?;
                self.rest(ended.n, 1, *wait)?;
                self.note_failure(&ended.event_type, detail)?;
            }
            DeliveryEnd::Pause(reason, detail) => {
                self.apply_ended();
                self.record_attempt(ended.n, detail)?;
                self.note_failure(&ended.event_type, detail)?;
                // When the sink is resumed, the delivery gets all its attempts again.
                self.lane.failures = 0;
                self.lane.starts = 0;
                if self.is_keyed() {
                    deliveries::reset_failures(self.tx, self.lane.held.lane, ended.n)?;
                }
                self.pause(reason)?;
            }
            DeliveryEnd::Unattempted { wait } => self.rest(ended.n, 0, *wait)?,
        }
        Ok(())
    }

    /// Postpones the next attempt of a delivery. In a lane that is ordered by a key, the deliveries
    /// with the same key wait. In any other lane, all deliveries wait.
    fn rest(&mut self, n: u64, failed: u32, wait: Duration) -> Result<(), StoreError> {
        let (lane, at) = (self.lane.held.lane, self.time.now.plus(wait));
        if self.is_keyed() {
            return deliveries::postpone(self.tx, lane, n, failed, at);
        }
        self.apply_ended();
        self.wait = Some(wait);
        match failed {
            0 => self.undo_start(),
            failed => {
                self.lane.failures += failed;
                self.lane.starts = self.lane.starts.max(self.lane.failures);
            }
        }
        Ok(())
    }

    /// Ends the first delivery of the queue as dead, without another attempt.
    pub(super) fn give_up(&mut self, head: QueueHead, why: &str) -> Result<(), StoreError> {
        let detail = AttemptDetail::error(why);
        let ended = EndedDelivery {
            n: head.n,
            attempt: self.lane.failures + 1,
            event_id: head.event_id,
            event_type: head.event_type,
            end: DeliveryEnd::Dead(detail.clone()),
        };
        self.waiting.push(head.n);
        self.end_as_dead(&ended, &detail, false)?;
        self.apply_ended();
        Ok(())
    }

    /// Ends a delivery as dead. The delivery is kept, and an audit entry is written. `is_attempted`
    /// is false if the delivery ends without a new attempt.
    fn end_as_dead(
        &mut self,
        ended: &EndedDelivery,
        detail: &AttemptDetail,
        is_attempted: bool,
    ) -> Result<(), StoreError> {
        if !self.finish(ended.n, DeliveryState::Dead)? {
            return Ok(());
        }
        self.record_attempt(ended.n, detail)?;
        let error = match (&detail.error, detail.status) {
            (Some(error), _) => error.clone(),
            (None, Some(status)) => format!("the receiver answered {status}"),
            (None, None) => "the attempt failed".to_owned(),
        };
        let record = json!({
            "n": ended.n,
            "event_id": ended.event_id,
            "event_type": ended.event_type,
            "attempts": ended.attempt,
            "error": error,
        });
        let target = target_of(&self.lane.receiver);
        let entry = Entry::by_system(self.time.now, "event_sink.dead", target, record);
        audit::append_for(self.tx, &self.lane.owner_key, &entry)?;
        self.progress.dead.push(DeadDelivery {
            owner_key: self.lane.owner_key.clone(),
            receiver: self.lane.receiver.clone(),
            event_id: ended.event_id,
            event_type: ended.event_type.clone(),
            error,
        });
        match is_attempted {
            true => self.note_failure(&ended.event_type, detail),
            false => Ok(()),
        }
    }

    /// Ends a waiting delivery. False if it ended already: the worker repeats a transaction if it
    /// does not know that the commit succeeded.
    fn finish(&mut self, n: u64, state: DeliveryState) -> Result<bool, StoreError> {
        let Some(index) = self.waiting.iter().position(|waiting| *waiting == n) else {
            return Ok(false);
        };
        self.waiting.swap_remove(index);
        deliveries::finish(self.tx, self.lane.held.lane, n, state, self.time.now)?;
        self.ended += 1;
        Ok(true)
    }

    fn record_attempt(&mut self, n: u64, detail: &AttemptDetail) -> Result<(), StoreError> {
        let attempt = detail.clone().into_attempt(self.time.now);
        let delivery = (self.lane.held.lane, n);
        deliveries::insert_attempt(self.tx, delivery, &attempt, self.has_room)
    }
}
