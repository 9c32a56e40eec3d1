//! The script sink: runs a script for an event, as the sink's owner and without `emit` (spec 6.3).

use std::collections::BTreeMap;

use serde_json::json;
use svc_core::event::Event;
use svc_script::{Source, worker::Outcome};

use super::{Deliverers, detail};
use crate::{
    events::{
        lanes::{AttemptDetail, Sent},
        template::SpaceScope,
    },
    scripts::{Libraries, Run, Unavailable, What, libraries_of, outline, source_of},
    store::{
        StoreError, scripts,
        sinks::{SinkConfig, SinkRow},
    },
};

impl Deliverers {
    /// One attempt: the sink's script, fresh, for one event.
    pub(super) async fn run_script(&self, sink: &SinkRow, event: &Event) -> Sent {
        let (script, libraries) = match self.script_of(sink).await {
            Ok(Ok(found)) => found,
            Ok(Err(missing)) => return Sent::Failed(detail(missing)),
            Err(error) => return Sent::Failed(detail(error.to_string())),
        };
        let event = match self.event_of(event).await {
            Ok(event) => event,
            Err(error) => return Sent::Failed(detail(error.to_string())),
        };
        let run = Run {
            what: What::Sink { event },
            user: sink.owner_id,
            libraries,
            script,
        };
        match self.scripts.run(run).await {
            Ok(outcome) => judge(outcome),
            // It has not been tried: the lane waits, and spends no attempt.
            Err(Unavailable::Busy) => Sent::Paused,
            Err(why @ (Unavailable::Unproved(_) | Unavailable::User(_))) => {
                Sent::Failed(detail(why.to_string()))
            }
        }
    }

    /// What a script sees of an event, as JSON.
    pub async fn event_of(&self, event: &Event) -> Result<String, StoreError> {
        let around = self.surroundings_of(event.space_id).await?;
        Ok(event_json(event, around.space.as_ref(), &around.custom))
    }

    /// The text to run and where its imports are; or why there is none.
    async fn script_of(
        &self,
        sink: &SinkRow,
    ) -> Result<Result<(Source, Libraries), String>, StoreError> {
        let (id, owner) = match &sink.config {
            SinkConfig::Script {
                source: Some(text), ..
            } => {
                let source = Source {
                    file: format!("{}.py", sink.name),
                    text: text.clone(),
                };
                return Ok(Ok((source, Libraries::Of(sink.owner_id))));
            }
            SinkConfig::Script {
                script_id: Some(id),
                ..
            } => (*id, sink.owner_id),
            _ => return Ok(Err("this sink has no script".to_owned())),
        };
        let found = self
            .store
            .read(move |tx| scripts::find_visible(tx, id, owner))
            .await?;
        Ok(found
            .map(|script| {
                let libraries = libraries_of(&script);
                (source_of(script), libraries)
            })
            .ok_or_else(|| {
                format!("script `{id}` does not exist any more; give the sink another one")
            }))
    }
}

/// An event as `svc.event` shows it to a sink's script.
pub fn event_json(
    event: &Event,
    space: Option<&SpaceScope>,
    custom: &BTreeMap<String, String>,
) -> String {
    json!({
        "id": event.id,
        "type": event.r#type,
        "ts": event.ts,
        "data": event.data,
        "space": space,
        "actor": event.actor,
        "custom": custom,
    })
    .to_string()
}

fn judge(outcome: Outcome) -> Sent {
    let error = outcome.result.err().map(|error| outline(&error));
    let delivered = error.is_none();
    let attempt = AttemptDetail {
        status: None,
        ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        error,
        output: Some(outcome.output).filter(|output| !output.is_empty()),
    };
    if delivered {
        Sent::Delivered(attempt)
    } else {
        Sent::Failed(attempt)
    }
}
