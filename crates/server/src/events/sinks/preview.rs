//! Previews and tests of sinks: renders a template for an event, or sends the event to the receiver.

use std::time::Instant;

use serde_json::{Value, json};
use svc_core::{
    EventId, Permission, SinkId, Timestamp,
    event::{EmitError, Event, sample},
};
use svc_protocol::api::{Attempt, Preview, PreviewResult, SinkType};
use svc_store::{
    audit, events,
    sinks::{SinkConfig, SinkRow},
};
use uuid::Uuid;

use super::{SinksService, check, entry, error::SinkError};
use crate::{
    events::{
        deliver::RenderPurpose,
        lanes::{AttemptDetail, AttemptResult},
    },
    identity::{Caller, Credential},
};

impl SinksService {
    /// Renders a template that need not belong to a sink. Sends nothing.
    pub async fn preview(
        &self,
        caller: &Caller,
        request: Preview,
    ) -> Result<PreviewResult, SinkError> {
        let kind = request.r#type.unwrap_or(SinkType::Webhook);
        let source = request.body_template.clone();
        let event = match request.event_id {
            Some(id) => {
                let (user, all) = (caller.user.id, caller.may(Permission::ViewAudit));
                self.find_event(id, move |event| all || event.owner_id == user)
                    .await?
            }
            None => sample_event(caller, request.event_type, request.data)?,
        };
        let matched_patterns = match &request.patterns {
            Some(patterns) => {
                let patterns = check::patterns(patterns)?;
                let matching = patterns.iter().filter(|one| one.matches(&event.r#type));
                Some(matching.map(ToString::to_string).collect())
            }
            None => None,
        };
        let body = self.body(caller, kind, source.as_deref(), &event).await?;
        Ok(PreviewResult {
            body,
            event_type: event.r#type,
            matched_patterns,
            attempt: None,
        })
    }

    /// Sends an event to a sink at once, without its lane: nothing is queued, retried or recorded as
    /// a delivery. With `dry_run` it only returns the body.
    pub async fn test(
        &self,
        caller: &Caller,
        id: SinkId,
        request: Preview,
    ) -> Result<PreviewResult, SinkError> {
        let row = self.read_managed(caller, id).await?;
        if request.r#type.is_some_and(|kind| kind != row.kind) {
            return Err(SinkError::invalid(
                "invalid",
                "`type` is not the type of this sink; leave it out",
            ));
        }
        let event = match request.event_id {
            Some(id) => {
                let (owner, all) = (row.owner_id, row.is_global());
                self.find_event(id, move |event| all || event.owner_id == owner)
                    .await?
            }
            None => sample_event(caller, request.event_type.clone(), request.data.clone())?,
        };
        let sink_template = match &row.config {
            SinkConfig::Webhook { body_template, .. } | SinkConfig::JsonRpc { body_template } => {
                body_template.clone()
            }
            SinkConfig::Script { .. } => None,
        };
        let source = request.body_template.or(sink_template);
        let body = self
            .body(caller, row.kind, source.as_deref(), &event)
            .await?;
        let attempt = match &row.config {
            SinkConfig::Webhook { .. } if !request.dry_run => {
                Some(self.send(caller, &row, body.clone(), &event).await?)
            }
            SinkConfig::Script { .. } if !request.dry_run => {
                Some(self.run(caller, &row, &event).await?)
            }
            // A dry run, or a json-rpc sink, which only formats.
            _ => None,
        };
        Ok(PreviewResult {
            body,
            event_type: event.r#type,
            matched_patterns: None,
            attempt,
        })
    }

    async fn body(
        &self,
        caller: &Caller,
        kind: SinkType,
        source: Option<&str>,
        event: &Event,
    ) -> Result<String, SinkError> {
        if kind == SinkType::Script {
            return match source {
                None => Ok(self.deliverers.event_of(event).await?),
                Some(_) => Err(SinkError::invalid(
                    "invalid_template",
                    "a script sink has no template; its script receives the event itself",
                )),
            };
        }
        let purpose = RenderPurpose::Request(caller.user.id);
        let body = self.deliverers.render(source, event, purpose).await?;
        if kind == SinkType::JsonRpc {
            check::object_body(&body)?;
        }
        Ok(body)
    }

    async fn send(
        &self,
        caller: &Caller,
        row: &SinkRow,
        body: String,
        event: &Event,
    ) -> Result<Attempt, SinkError> {
        let SinkConfig::Webhook { url, .. } = &row.config else {
            return Err(SinkError::Internal("the sink is not a webhook".to_owned()));
        };
        self.tests.take(caller.user.id, Instant::now())?;
        let at = svc_clock::now();
        let secrets = self
            .deliverers
            .secrets_of(row, at)
            .map_err(SinkError::Internal)?;
        let headers = self
            .deliverers
            .headers_of(row)
            .map_err(SinkError::Internal)?;
        let (detail, ok) = self
            .deliverers
            .webhook
            .send(caller.user.id, url, &headers, body, event, &secrets, at)
            .await;
        self.record_test(caller, row, at, detail, ok).await
    }

    /// Runs the script of a script sink, like a delivery.
    async fn run(
        &self,
        caller: &Caller,
        row: &SinkRow,
        event: &Event,
    ) -> Result<Attempt, SinkError> {
        // A script that tests its own sink would occupy one worker per level.
        if caller.credential == Credential::Script {
            return Err(SinkError::Nested);
        }
        self.tests.take(caller.user.id, Instant::now())?;
        let at = svc_clock::now();
        let (detail, ok) = match self.deliverers.deliver_to_sink(row, event, None).await {
            AttemptResult::Delivered(detail) => (detail, true),
            AttemptResult::Failed(detail) | AttemptResult::Dead(detail) => (detail, false),
            AttemptResult::Withheld(why) => {
                let detail = AttemptDetail {
                    error: Some(why),
                    ..AttemptDetail::default()
                };
                (detail, false)
            }
            AttemptResult::Paused => {
                let message = "too many scripts are running; try again in a moment";
                return Err(SinkError::Conflict(message.to_owned()));
            }
        };
        self.record_test(caller, row, at, detail, ok).await
    }

    async fn record_test(
        &self,
        caller: &Caller,
        row: &SinkRow,
        at: Timestamp,
        detail: AttemptDetail,
        ok: bool,
    ) -> Result<Attempt, SinkError> {
        let entry_detail = json!({"name": row.name, "delivered": ok, "status": detail.status});
        let tested = entry(caller, "event_sink.tested", row, entry_detail);
        self.store
            .write(move |tx| audit::append(tx, &tested))
            .await?;
        Ok(Attempt {
            at,
            status: detail.status,
            ms: detail.ms,
            error: detail.error,
            output: detail.output,
        })
    }

    /// A stored event, if it is visible.
    async fn find_event(
        &self,
        id: EventId,
        visible: impl Fn(&Event) -> bool,
    ) -> Result<Event, SinkError> {
        let found = self.store.read(move |tx| events::find(tx, id)).await?;
        found
            .filter(visible)
            .ok_or_else(|| SinkError::EventNotFound(id.to_string()))
    }
}

fn sample_event(
    caller: &Caller,
    event_type: Option<String>,
    data: Option<Value>,
) -> Result<Event, EmitError> {
    let (user, id) = (&caller.user, EventId(Uuid::now_v7()));
    sample::event_by(
        user.id,
        user.name.as_str(),
        event_type,
        data,
        id,
        svc_clock::now(),
    )
}
