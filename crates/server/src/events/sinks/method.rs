//! Method subscriptions (spec 6.4): the event as params of a call, by the way every call goes.

use std::{sync::Arc, time::Instant};

use svc_core::{UserId, event::Event, pattern::Pattern, visibility::Viewer};
use svc_protocol::jsonrpc::RpcError;

use super::{Deliverers, Unrendered};
use crate::{
    events::lanes::{AttemptDetail, Sent},
    methods::{
        calls::{Reply, attempt},
        registry::{PickError, Registry},
    },
    store::sinks::{self, SinkConfig},
};

/// Bytes of a method's answer that the delivery log keeps.
const OUTPUT_MAX: usize = 16 * 1024;

pub struct MethodDelivery {
    pub registry: Arc<Registry>,
}

impl MethodDelivery {
    /// One attempt, at the provider D2 picks. A space whose link is lost within its grace is
    /// waited for, and spends none.
    pub async fn deliver(&self, owner: UserId, method: &str, params: &str) -> Sent {
        let viewer = Viewer {
            id: owner,
            permissions: svc_core::Permissions::NONE,
            groups: &[],
        };
        let began = Instant::now();
        let mut tried = Vec::new();
        let error = loop {
            let provider = match self.registry.pick(viewer, owner, method, &tried) {
                Ok(provider) => provider,
                // Not one attempt was made: nobody is linked, or not yet registered again.
                Err(_) if tried.is_empty() => return Sent::Paused,
                Err(PickError::NotFound | PickError::Unavailable) => break RpcError::Unavailable,
            };
            match attempt(&provider, Some(params), tokio::time::Instant::now()).await {
                Ok(Some(Reply::Result(result))) => {
                    return Sent::Delivered(detail(began, None, Some(&result)));
                }
                Ok(Some(Reply::Error(error))) => {
                    let said = Some("the method answered an error".to_owned());
                    return Sent::Failed(detail(began, said, Some(&error)));
                }
                Ok(None) => tried.push(provider),
                Err(error) => break error,
            }
        };
        Sent::Failed(detail(began, Some(error.message().to_owned()), None))
    }
}

fn detail(began: Instant, error: Option<String>, output: Option<&[u8]>) -> AttemptDetail {
    let excerpt =
        |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(OUTPUT_MAX)]).into_owned();
    AttemptDetail {
        status: None,
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        error,
        output: output.map(excerpt),
    }
}

impl Deliverers {
    /// The params of a subscribed method: formatted by the first of its `event_sinks`, in the
    /// order they are declared, whose own patterns match; else the default form.
    pub(super) async fn format(
        &self,
        owner: UserId,
        formatters: &[String],
        event: &Event,
    ) -> Result<String, Unrendered> {
        let (names, event_type) = (formatters.to_vec(), event.r#type.clone());
        let source = self
            .store
            .read(move |tx| {
                for name in &names {
                    // The owner's own come before global ones of the same name.
                    let keys = [owner.to_string(), sinks::GLOBAL.to_owned()];
                    for key in &keys {
                        let Some(sink) = sinks::find_by_name(tx, key, name)? else {
                            continue;
                        };
                        let SinkConfig::JsonRpc { body_template } = sink.config else {
                            continue;
                        };
                        if sink.active && matches(&sink.patterns, &event_type) {
                            return Ok(body_template);
                        }
                        break;
                    }
                }
                Ok(None)
            })
            .await?;
        let params = self.render(source.as_deref(), event).await?;
        // Params of a method are an object, whatever a template makes of an unforeseen event.
        if params.trim_start().starts_with('{') {
            Ok(params)
        } else {
            Err(Unrendered::Template(
                "the template does not give a JSON object".to_owned(),
            ))
        }
    }
}

fn matches(patterns: &[Pattern], event_type: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(event_type))
}
