//! The texts of a sink that are programs: its template, its filter and its key. They are parsed, and a
//! template also runs, only on threads of the compute pool: these have a large stack, and users share
//! them.

use std::collections::BTreeMap;

use svc_core::{EventId, SinkId, event::sample};
use svc_pool::Cancelled;
use svc_protocol::api::{Members, SinkPatch, SinkType};
use svc_template::{self as template, Scope, TemplateError, expression::Expression};
use uuid::Uuid;

use super::SinksService;
use crate::{identity::Caller, records::RecordError};

/// The programs in a request.
#[derive(Default)]
pub struct Programs {
    pub template: Option<String>,
    pub filter: Option<String>,
    pub key: Option<String>,
}

impl Programs {
    /// The filter and the key in a merge patch of the delivery policy.
    pub fn in_policy_patch(patch: &Members) -> Self {
        let text = |field| patch.get(field)?.as_str().map(str::to_owned);
        Self {
            template: None,
            filter: text("filter"),
            key: text("key"),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.template.is_none() && self.filter.is_none() && self.key.is_none()
    }

    /// Must run on a thread of the compute pool.
    pub fn check(&self, kind: SinkType) -> Result<(), RecordError> {
        for (field, source) in [
            ("delivery.filter", &self.filter),
            ("delivery.key", &self.key),
        ] {
            if let Some(source) = source {
                expression(field, source)?;
            }
        }
        match &self.template {
            Some(source) => body_template(source, kind),
            None => Ok(()),
        }
    }
}

impl SinksService {
    /// Checks the programs in a patch, before the transaction: within it, the check would delay all
    /// other writes. A concurrent patch checks its own programs.
    pub(super) async fn check_patched_programs(
        &self,
        caller: &Caller,
        id: SinkId,
        patch: &SinkPatch,
    ) -> Result<(), RecordError> {
        let policy = patch.delivery.as_ref();
        let mut programs = policy.map(Programs::in_policy_patch).unwrap_or_default();
        let parts = [&patch.webhook, &patch.json_rpc];
        let parts = parts.into_iter().flatten();
        let mut templates = parts.filter_map(|part| part.get("body_template")?.as_str());
        programs.template = templates.next().map(str::to_owned);
        if programs.is_empty() {
            return Ok(());
        }
        let kind = self.get(caller, id).await?.r#type;
        self.check_programs(caller, kind, programs).await
    }

    /// Checks programs on the compute pool: its threads have a large stack, and a template runs.
    pub(super) async fn check_programs(
        &self,
        caller: &Caller,
        kind: SinkType,
        programs: Programs,
    ) -> Result<(), RecordError> {
        if programs.is_empty() {
            return Ok(());
        }
        let check = move |_: &Cancelled| programs.check(kind);
        self.deliverers.compute.run(caller.user.id, check).await?
    }
}

/// Checks an expression over an event.
pub fn expression(field: &str, source: &str) -> Result<Expression, RecordError> {
    Expression::parse(source)
        .map_err(|error| RecordError::new("invalid_expression", format!("in `{field}`: {error}")))
}

/// Checks a template by rendering sample events. The template must render JSON, and for a json-rpc
/// sink a JSON object. Errors that depend on the data of an event appear only at its delivery.
pub(super) fn body_template(source: &str, kind: SinkType) -> Result<(), RecordError> {
    let refused = |error: TemplateError| RecordError::new("invalid_template", error.to_string());
    let compiled = template::compile(source).map_err(refused)?;
    if kind == SinkType::JsonRpc {
        let event = sample::event(EventId(Uuid::now_v7()), svc_clock::now());
        let scope = Scope {
            event: &event,
            space: sample::space_of(&event),
            custom: &BTreeMap::new(),
        };
        object_body(&compiled.render(&scope).map_err(refused)?)?;
    }
    Ok(())
}

/// The params of a subscribed method are an object (spec 2.2).
pub fn object_body(rendered: &str) -> Result<(), RecordError> {
    if rendered.trim_start().starts_with('{') {
        return Ok(());
    }
    Err(RecordError::new(
        "invalid_template",
        "the rendered body must be a JSON object: it becomes the params of a method",
    ))
}
