//! The state of a sink: failing, recovered, paused. If a sink has `notify`, a change of its state
//! creates an event. The owner's other lanes and the global lanes receive this event if their
//! patterns match. The sink itself does not receive it.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_core::{
    event::SINK_EVENTS,
    text::{LOGGED_BYTES_MAX, shorten},
};
use svc_protocol::api::SinkPause;
use svc_store::{
    StoreError,
    audit::{self, Entry},
    lanes::{LaneHealth, ReportedState},
    sinks,
};

use super::{AttemptDetail, PauseReason, Turn};
use crate::events::{dispatch::emit_to_others, sink_event::sink_event};

impl Turn<'_, '_> {
    /// Ends a series of failed attempts.
    pub(super) fn note_success(&mut self) -> Result<(), StoreError> {
        let before = self.lane.health;
        if before == LaneHealth::default() {
            return Ok(());
        }
        self.lane.health = LaneHealth::default();
        if before.reported == Some(ReportedState::Failing) {
            let since = json!({"since": before.failing_since});
            self.raise("recovered", since)?;
        }
        Ok(())
    }

    /// Counts a failed attempt. An attempt to deliver an event about a sink is not counted:
    /// otherwise its failure could create another event about a sink, and so on.
    pub(super) fn note_failure(
        &mut self,
        event_type: &str,
        detail: &AttemptDetail,
    ) -> Result<(), StoreError> {
        let Some(sink) = self.sink.clone() else {
            return Ok(());
        };
        if event_type.starts_with(SINK_EVENTS) {
            return Ok(());
        }
        let (policy, now) = (&sink.policy, self.time.now);
        let mut health = self.lane.health;
        health.failed_in_row = health.failed_in_row.saturating_add(1);
        let since = *health.failing_since.get_or_insert(now);
        let is_failing = policy.is_failing(health.failed_in_row, since, now);
        let is_news = is_failing && policy.notify && health.reported.is_none();
        if is_news {
            health.reported = Some(ReportedState::Failing);
        }
        self.lane.health = health;
        if is_news {
            let failures = health.failed_in_row;
            let data = json!({
                "failures": failures, "since": since, "status": detail.status,
                "error": detail.error,
            });
            self.raise("failing", data)?;
        }
        if let Some(minutes) = policy.pauses_after(since, now) {
            let reason = format!("every attempt has failed for {minutes} minutes");
            self.pause(&PauseReason::Failures(reason))?;
        }
        Ok(())
    }

    /// Pauses the sink: it is inactive until a user enables it, or corrects its unreadable text.
    pub(super) fn pause(&mut self, reason: &PauseReason) -> Result<(), StoreError> {
        let Some(sink) = self.sink.clone().filter(|_| self.lane.active) else {
            return Ok(());
        };
        let (reason, until_corrected) = match reason {
            PauseReason::Failures(reason) => (reason.clone(), false),
            PauseReason::Unreadable(error) => (
                format!("{error}; correct the text, and the waiting events are delivered"),
                true,
            ),
        };
        let pause = SinkPause {
            at: self.time.now,
            reason: reason.clone(),
            until_corrected,
        };
        sinks::pause(self.tx, sink.id, &pause)?;
        self.lane.active = false;
        // After the pause, failures are counted from the beginning.
        self.lane.health.failed_in_row = 0;
        self.lane.health.failing_since = None;
        let shown = shorten(&reason, LOGGED_BYTES_MAX);
        tracing::warn!(owner.id = %self.lane.owner_key, sink.id = %sink.id, sink.name = %sink.name, "a sink was paused: {shown}");
        let target = ("event_sink", sink.id.to_string());
        let detail = json!({"name": sink.name, "reason": reason});
        let entry = Entry::by_system(self.time.now, "event_sink.paused", target, detail);
        audit::append_for(self.tx, &self.lane.owner_key, &entry)?;
        self.raise("paused", json!({"reason": reason}))
    }

    /// Creates an event about the sink, if the sink has `notify`.
    fn raise(&mut self, state: &str, detail: Value) -> Result<(), StoreError> {
        let Some(sink) = self.sink.clone().filter(|sink| sink.policy.notify) else {
            return Ok(());
        };
        let event = sink_event(&sink, state, detail, self.time.now);
        let dispatched = emit_to_others(self.tx, &event, self.lane.held.lane)?;
        self.progress.raised.push(Arc::new(event));
        self.progress.raised.extend(dispatched.raised);
        Ok(())
    }
}
