//! Delivery to script sinks: runs a script for an event, with the permissions of the sink's owner.
//! The script cannot emit events (spec 6.3).

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::json;
use svc_core::{Permission, SinkId, event::Event};
use svc_protocol::api::ScriptConfig;
use svc_script::{Source, worker::Outcome};
use svc_store::{
    StoreError, audit, scripts,
    sinks::{SinkConfig, SinkRow},
};

use super::Deliverers;
use crate::{
    events::lanes::{AttemptDetail, AttemptResult},
    scripts::{
        Libraries, Run, RunInput, Unavailable, WaitingDelivery, event_json, libraries_of, outline,
        source_of, withheld_from,
    },
};

impl Deliverers {
    /// Makes one attempt: runs the sink's script in a new evaluator.
    pub(super) async fn run_script(
        &self,
        sink: &SinkRow,
        event: &Event,
        waiting: Option<WaitingDelivery>,
    ) -> AttemptResult {
        let attempted = self.attempt_script(sink, event, waiting).await;
        let sent = attempted.unwrap_or_else(|unavailable| match unavailable {
            Unavailable::Busy | Unavailable::Stopping => AttemptResult::Paused,
            why => AttemptResult::Withheld(why.to_string()),
        });
        match &sent {
            AttemptResult::Withheld(why) if waiting.is_some() => {
                self.report_withheld(sink, why).await;
            }
            AttemptResult::Withheld(_) | AttemptResult::Paused => {}
            _ => self.withheld.forget(sink.id),
        }
        sent
    }

    /// Returns an error if the script cannot be run now, or if the server stops. Then no attempt is
    /// spent.
    async fn attempt_script(
        &self,
        sink: &SinkRow,
        event: &Event,
        waiting: Option<WaitingDelivery>,
    ) -> Result<AttemptResult, Unavailable> {
        // A global sink receives the events of all users, so its owner must still hold the
        // permission to create global sinks.
        let needs = sink
            .is_global()
            .then_some(Permission::ManageGlobalEventSinks);
        self.scripts.check_user(sink.owner_id, needs)?;
        let turn = match waiting {
            Some(waiting) => self.scripts.enter(sink.owner_id, waiting).await?,
            None => self.scripts.wait(sink.owner_id).await?,
        };
        let failed = |why: String| Ok(AttemptResult::Failed(AttemptDetail::error(why)));
        let (script, libraries) = match self.script_of(sink).await {
            Ok(Ok(found)) => found,
            Ok(Err(result)) => return Ok(result),
            Err(error) => return failed(error.to_string()),
        };
        let json = match self.event_of(event).await {
            Ok(json) => json,
            Err(error) => return failed(error.to_string()),
        };
        let run = Run {
            what: RunInput::Sink { event: json },
            user: sink.owner_id,
            libraries,
            script,
            trace: event.trace.clone(),
        };
        self.scripts.run_in(turn, run).await.map(judge)
    }

    /// Reports in the log and in the audit log why a sink does not deliver. The same reason is not
    /// reported twice in a row.
    pub(super) async fn report_withheld(&self, sink: &SinkRow, why: &str) {
        if !self.withheld.is_new(sink.id, why) {
            return;
        }
        tracing::warn!(
            owner.id = %sink.owner_key,
            sink.id = %sink.id,
            sink.name = %sink.name,
            "the deliveries of a sink are withheld: {why}"
        );
        let target = ("event_sink", sink.id.to_string());
        let detail = json!({"name": sink.name, "reason": why});
        let now = svc_clock::now();
        let entry = audit::Entry::by_system(now, "event_sink.withheld", target, detail);
        let owner = sink.owner_key.clone();
        let append = self
            .store
            .write(move |tx| audit::append_for(tx, &owner, &entry));
        if let Err(error) = append.await {
            tracing::error!(%error, "cannot write the audit entry `event_sink.withheld`");
        }
    }

    /// The event as a script receives it, as JSON.
    pub async fn event_of(&self, event: &Event) -> Result<String, StoreError> {
        let context = self.read_context(event).await?;
        Ok(event_json(event, &context.space, &context.custom))
    }

    /// The source of the sink's script, and the libraries that the script may import. If there is
    /// no script to run, the inner error is the result of the attempt.
    async fn script_of(
        &self,
        sink: &SinkRow,
    ) -> Result<Result<(Source, Libraries), AttemptResult>, StoreError> {
        let missing = |why: String| AttemptResult::Failed(AttemptDetail::error(why));
        let (id, owner) = match &sink.config {
            SinkConfig::Script(ScriptConfig {
                source: Some(text), ..
            }) => {
                let source = Source {
                    file: format!("{}.py", sink.name),
                    text: text.clone(),
                };
                return Ok(Ok((source, Libraries::Of(sink.owner_id))));
            }
            SinkConfig::Script(ScriptConfig {
                script_id: Some(id),
                ..
            }) => (*id, sink.owner_id),
            _ => return Ok(Err(missing("this sink has no script".to_owned()))),
        };
        let found = self.store.read(move |tx| {
            let Some(script) = scripts::find_visible(tx, id, owner)? else {
                let why = "does not exist any more; choose another script for the sink";
                return Ok(Err(missing(format!("script `{id}` {why}"))));
            };
            Ok(match withheld_from(tx, &script, owner)? {
                Some(why) => Err(AttemptResult::Withheld(why.to_string())),
                None => Ok(script),
            })
        });
        Ok(found.await?.map(|script| {
            let libraries = libraries_of(&script);
            (source_of(script), libraries)
        }))
    }
}

/// At this number of sinks, all reasons are forgotten: a user may create and delete any number of
/// sinks.
const NOTICES_MAX: usize = 10_000;

/// The last reported reason why each sink does not deliver, so that a reason is reported only once.
#[derive(Debug, Default)]
pub struct WithheldNotices(Mutex<HashMap<SinkId, String>>);

impl WithheldNotices {
    fn is_new(&self, sink: SinkId, why: &str) -> bool {
        let mut notices = self.0.lock();
        if notices.len() >= NOTICES_MAX && !notices.contains_key(&sink) {
            notices.clear();
        }
        let before = notices.insert(sink, why.to_owned());
        before.as_deref() != Some(why)
    }

    /// Called when the deliveries are no longer withheld, so that the reason is reported if it
    /// recurs.
    pub(super) fn forget(&self, sink: SinkId) {
        self.0.lock().remove(&sink);
    }
}

fn judge(outcome: Outcome) -> AttemptResult {
    let error = outcome.result.err().map(|error| match &error.hint {
        Some(hint) => format!("{}; {hint}", outline(&error)),
        None => outline(&error),
    });
    AttemptResult::from(AttemptDetail {
        ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        error,
        output: Some(outcome.output).filter(|output| !output.is_empty()),
        ..AttemptDetail::default()
    })
}
