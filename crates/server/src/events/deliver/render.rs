//! Renders the body of a delivery with the template of its sink.

use std::collections::BTreeMap;

use svc_core::{
    SpaceId, UserId,
    event::{Event, EventSpace, sample},
};
use svc_pool::{Cancelled, PoolError};
use svc_protocol::api::{Template, WebhookFormat};
use svc_store::{StoreError, records, spaces::SpaceRow};
use svc_template::{self as template, Scope};
use thiserror::Error;

use super::{Deliverers, webhook};
use crate::{
    events::lanes::{AttemptDetail, AttemptResult},
    records::RecordError,
};

/// Why a body was not rendered.
#[derive(Debug, Error)]
pub enum RenderError {
    /// A retry cannot succeed.
    #[error("{0}")]
    Template(String),
    /// The template is not in the language, so it renders for no event.
    #[error("{0}")]
    Unreadable(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The user, or the whole server, has too many computations in progress.
    #[error(transparent)]
    Busy(PoolError),
}

impl From<RenderError> for RecordError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Template(message) | RenderError::Unreadable(message) => {
                Self::new("invalid_template", message)
            }
            RenderError::Store(error) => error.into(),
            RenderError::Busy(error) => error.into(),
        }
    }
}

/// What a body is rendered for, and for which user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RenderPurpose {
    /// A delivery of this user. The rendering waits for a thread as long as necessary, because
    /// other limits apply to the number of deliveries in progress.
    Delivery(UserId),
    /// A request of this user. It is refused if the user, or the whole server, has too many
    /// computations in progress.
    Request(UserId),
}

impl From<RenderError> for AttemptResult {
    fn from(error: RenderError) -> Self {
        let detail = AttemptDetail::error(error.to_string());
        match error {
            RenderError::Template(_) => Self::Dead(detail),
            RenderError::Unreadable(_) => Self::Unreadable(detail),
            RenderError::Store(_) | RenderError::Busy(_) => Self::Failed(detail),
        }
    }
}

impl From<PoolError> for RenderError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Failed => Self::Template("rendering the template failed".to_owned()),
            busy => Self::Busy(busy),
        }
    }
}

impl Deliverers {
    /// Renders the body of a webhook's request. In a CloudEvents format, the template renders the
    /// data of the CloudEvent.
    pub async fn render_webhook(
        &self,
        format: WebhookFormat,
        source: Option<&str>,
        event: &Event,
        purpose: RenderPurpose,
    ) -> Result<String, RenderError> {
        let rendered = match source {
            Some(_) => Some(self.render(source, event, purpose).await?),
            None => None,
        };
        Ok(webhook::body_of(format, event, rendered))
    }

    /// Renders the body for an event; without a template, the default body. A template is a user's
    /// program and may run for a while, so it runs on `compute`. Its limits are in [`template`].
    pub async fn render(
        &self,
        source: Option<&str>,
        event: &Event,
        purpose: RenderPurpose,
    ) -> Result<String, RenderError> {
        let Some(source) = source.map(str::to_owned) else {
            return Ok(event.default_body());
        };
        let context = self.read_context(event).await?;
        let event = event.clone();
        let render = move |_: &Cancelled| {
            let scope = Scope {
                event: &event,
                space: context.space,
                custom: &context.custom,
            };
            template::load(&source)?.render(&scope)
        };
        let rendered = match purpose {
            RenderPurpose::Delivery(owner) => self.compute.run_unbounded(owner, render).await,
            RenderPurpose::Request(user) => self.compute.run(user, render).await,
        };
        rendered?.map_err(|error| match error.is_unreadable() {
            true => RenderError::Unreadable(error.to_string()),
            false => RenderError::Template(error.to_string()),
        })
    }

    pub(super) async fn read_context(&self, event: &Event) -> Result<TemplateContext, StoreError> {
        let space = event.space_id;
        if space == SpaceId::NIL {
            return Ok(TemplateContext::without_space(event));
        }
        self.store
            .read(move |tx| {
                let Some(row) = records::find::<SpaceRow>(tx, space)? else {
                    return Ok(TemplateContext {
                        space: EventSpace::without_record(space),
                        custom: BTreeMap::new(),
                    });
                };
                let template = row
                    .template_id
                    .map(|id| records::find::<Template>(tx, id))
                    .transpose()?;
                Ok(TemplateContext {
                    custom: template
                        .flatten()
                        .map(|t| t.custom_fields)
                        .unwrap_or_default(),
                    space: EventSpace {
                        id: row.id,
                        name: row.name.to_string(),
                        urls: row.space_urls,
                    },
                })
            })
            .await
    }
}

/// The variables of a template, except the event.
#[derive(Clone)]
pub(super) struct TemplateContext {
    pub(super) space: EventSpace,
    pub(super) custom: BTreeMap<String, String>,
}

impl TemplateContext {
    /// The context of an event without a space.
    pub(super) fn without_space(event: &Event) -> Self {
        Self {
            space: sample::space_of(event),
            custom: BTreeMap::new(),
        }
    }
}
