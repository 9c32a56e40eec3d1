//! Trials of sinks: renders a template for an event (a preview), sends the event to the receiver (a
//! test), or evaluates a changed sink for past events (a backtest, in `past_events`).

mod past_events;

use std::{collections::BTreeMap, time::Instant};

use serde_json::json;
use svc_core::{EventId, Permission, SinkId, delivery_policy::DeliveryPolicy, event::Event};
use svc_pool::Cancelled;
use svc_protocol::api::{
    Attempt, EventKey, FilterDecision, Preview, PreviewResult, SinkType, WebhookFormat,
};
use svc_store::{
    events,
    sinks::{SinkConfig, SinkRow},
};
use svc_template::expression::ExpressionError;

use super::{SinksService, check, programs, queue::no_event};
use crate::{
    events::{
        deliver::{RenderPurpose, webhook},
        lanes::{AttemptDetail, AttemptResult},
    },
    identity::{Caller, Credential},
    records::{RecordError, Result},
    scripts::sample_event,
};

impl SinksService {
    /// Renders a template that need not belong to a sink. Sends nothing.
    pub async fn preview(&self, caller: &Caller, request: Preview) -> Result<PreviewResult> {
        let kind = request.r#type.unwrap_or(SinkType::Webhook);
        let source = request.body_template.clone();
        let event = match request.event_id {
            Some(id) => {
                let (user, all) = (caller.user.id, caller.may(Permission::ViewAudit));
                self.find_event(id, move |event| all || event.owner_id == user)
                    .await?
            }
            None => sample_event(caller, request.event_type, request.data.as_deref())?,
        };
        let matched_patterns = match &request.patterns {
            Some(patterns) => {
                let patterns = check::patterns(patterns)?;
                let matching = patterns.iter().filter(|one| one.matches(&event.r#type));
                Some(matching.map(ToString::to_string).collect())
            }
            None => None,
        };
        if request.format.is_some() && kind != SinkType::Webhook {
            return Err(RecordError::new(
                "invalid",
                "only a webhook has a `format`; leave it out",
            ));
        }
        let policy = DeliveryPolicy {
            filter: request.filter.filter(|text| !text.trim().is_empty()),
            key: request.key.filter(|text| !text.trim().is_empty()),
            ..DeliveryPolicy::default()
        };
        let kind = (kind, request.format.unwrap_or_default());
        let shown = self.show(caller, kind, source.as_deref(), &event);
        let (filter, key) = self.decide(caller, (kind.0, policy), &event).await?;
        Ok(PreviewResult {
            matched_patterns,
            filter,
            key,
            ..shown.await?
        })
    }

    /// Sends an event to a sink at once, without its lane: nothing is queued, retried or recorded as
    /// a delivery. With `dry_run`, and for a json-rpc sink, nothing is sent.
    pub async fn test(
        &self,
        caller: &Caller,
        id: SinkId,
        request: Preview,
    ) -> Result<PreviewResult> {
        let row = self.read_managed(caller, id).await?;
        if request.r#type.is_some_and(|kind| kind != row.kind) {
            return Err(RecordError::new(
                "invalid",
                "`type` is not the type of this sink; leave it out",
            ));
        }
        let given = [
            ("format", request.format.is_some()),
            ("filter", request.filter.is_some()),
            ("key", request.key.is_some()),
        ];
        if let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(RecordError::new(
                "invalid",
                format!("a test uses the `{name}` of the sink; leave it out, or use a preview"),
            ));
        }
        let event = match request.event_id {
            Some(id) => {
                let (owner, all) = (row.owner_id, row.is_global());
                self.find_event(id, move |event| all || event.owner_id == owner)
                    .await?
            }
            None => sample_event(caller, request.event_type.clone(), request.data.as_deref())?,
        };
        let source = request.body_template.as_deref();
        let source = source.or(row.config.body_template());
        let webhook = row.config.webhook();
        let format = webhook.map_or(WebhookFormat::Default, |webhook| webhook.format);
        let kind = (row.kind, format);
        let shown = self.show(caller, kind, source, &event).await?;
        let (filter, key) = self
            .decide(caller, (row.kind, row.policy.clone()), &event)
            .await?;
        let patterns = row.patterns.iter();
        let matching = patterns.filter(|one| one.matches(&event.r#type));
        let matched_patterns = matching.map(ToString::to_string).collect();
        let attempt = match row.kind {
            SinkType::Webhook | SinkType::Script if !request.dry_run => {
                Some(self.attempt(caller, &row, &shown.body, &event).await?)
            }
            // A dry run, or a json-rpc sink: such a sink formats events and sends nothing.
            _ => None,
        };
        Ok(PreviewResult {
            matched_patterns: Some(matched_patterns),
            filter,
            key,
            attempt,
            ..shown
        })
    }

    /// The body that the receiver would get.
    async fn show(
        &self,
        caller: &Caller,
        (kind, format): (SinkType, WebhookFormat),
        source: Option<&str>,
        event: &Event,
    ) -> Result<PreviewResult> {
        Ok(PreviewResult {
            body: self.body(caller, (kind, format), source, event).await?,
            event_type: event.r#type.clone(),
            format_headers: match kind {
                SinkType::Webhook => webhook::headers_of(format, event),
                SinkType::Script | SinkType::JsonRpc => BTreeMap::new(),
            },
            ..PreviewResult::default()
        })
    }

    /// The decision of a filter about an event, and the key of the event.
    async fn decide(
        &self,
        caller: &Caller,
        (kind, policy): (SinkType, DeliveryPolicy),
        event: &Event,
    ) -> Result<(Option<FilterDecision>, Option<EventKey>)> {
        let (filter, key) = (policy.filter.clone(), policy.key.clone());
        if filter.is_none() && key.is_none() {
            return Ok((None, None));
        }
        if kind == SinkType::JsonRpc {
            return Err(check::wrong_part("filter", kind));
        }
        let event = event.clone();
        let contexts = self
            .deliverers
            .read_contexts(std::slice::from_ref(&event))
            .await
            .map_err(RecordError::Internal)?;
        let work = move |_: &Cancelled| {
            let filter = filter.map(|source| programs::expression("filter", &source));
            let key = key.map(|source| programs::expression("key", &source));
            let (filter, key) = (filter.transpose()?, key.transpose()?);
            Ok(contexts.evaluate(&event, |scope| {
                (
                    filter.map(|filter| filter_decision(filter.is_true(scope))),
                    key.map(|key| event_key(key.key(scope))),
                )
            }))
        };
        self.deliverers.compute.run(caller.user.id, work).await?
    }

    async fn body(
        &self,
        caller: &Caller,
        (kind, format): (SinkType, WebhookFormat),
        source: Option<&str>,
        event: &Event,
    ) -> Result<String> {
        if kind == SinkType::Script {
            return match source {
                None => Ok(self.deliverers.event_of(event).await?),
                Some(_) => Err(RecordError::new(
                    "invalid_template",
                    "a script sink has no template; its script receives the event itself",
                )),
            };
        }
        let purpose = RenderPurpose::Request(caller.user.id);
        let rendering = self
            .deliverers
            .render_webhook(format, source, event, purpose);
        let body = rendering.await?;
        if kind == SinkType::JsonRpc {
            programs::object_body(&body)?;
        }
        Ok(body)
    }

    /// Sends the event to the receiver, under the same conditions as a delivery.
    async fn attempt(
        &self,
        caller: &Caller,
        row: &SinkRow,
        body: &str,
        event: &Event,
    ) -> Result<Attempt> {
        // The routes that always start a script are closed to scripts. Here the sink decides.
        if row.kind == SinkType::Script && caller.credential == Credential::Script {
            return Err(RecordError::new(
                "script_denied",
                "a script cannot start another script, resend deliveries or replay events",
            ));
        }
        self.count_trial(caller)?;
        let at = svc_clock::now();
        let result = match &row.config {
            SinkConfig::Webhook(_) => {
                match self.deliverers.webhook_withheld_reason(row, None).await {
                    Some(why) => AttemptResult::Withheld(why),
                    None => self
                        .deliverers
                        .send(row, (caller.user.id, None), body.to_owned(), event)
                        .await
                        .map_err(RecordError::Internal)?
                        .into(),
                }
            }
            _ => self.deliverers.deliver_to_sink(row, event, None).await,
        };
        let ok = matches!(result, AttemptResult::Delivered(_));
        let detail = match result {
            AttemptResult::Delivered(detail)
            | AttemptResult::Failed(detail)
            | AttemptResult::Dead(detail)
            | AttemptResult::Unreadable(detail) => detail,
            AttemptResult::Withheld(why) => AttemptDetail::error(why),
            AttemptResult::Paused => {
                let message = "too many scripts are running; try again in a moment";
                return Err(RecordError::new("conflict", message.to_owned()));
            }
        };
        let entry_detail = json!({"name": row.name, "delivered": ok, "status": detail.status});
        let (tester, target) = (caller.clone(), ("event_sink", row.id));
        self.writer
            .change_as_server(move |tx| {
                tx.audit(&tester, "event_sink.tested", target, entry_detail)
            })
            .await?;
        let mut attempt = detail.into_attempt(at);
        if let Some(exchange) = &mut attempt.exchange
            && !caller.may(Permission::ViewAudit)
        {
            exchange.remote_address = None;
        }
        Ok(attempt)
    }

    /// Counts a trial, or a replay, against the caller's trials per minute.
    pub(super) fn count_trial(&self, caller: &Caller) -> Result<()> {
        let taken = self.trials.sinks.take(caller.user.id, Instant::now());
        taken.map_err(|over| RecordError::over_limit("test requests", over))
    }

    /// The stored event with this id, if `visible` accepts it.
    async fn find_event(&self, id: EventId, visible: impl Fn(&Event) -> bool) -> Result<Event> {
        let found = self.store.read(move |tx| events::find(tx, id)).await?;
        found.filter(visible).ok_or_else(|| no_event(id))
    }
}

fn filter_decision(result: Result<bool, ExpressionError>) -> FilterDecision {
    let (passes, error) = match result {
        Ok(passes) => (passes, None),
        Err(error) => (false, Some(error.to_string())),
    };
    FilterDecision { passes, error }
}

fn event_key(result: Result<String, ExpressionError>) -> EventKey {
    let (value, error) = match result {
        Ok(value) => (value, None),
        Err(error) => (String::new(), Some(error.to_string())),
    };
    EventKey { value, error }
}
