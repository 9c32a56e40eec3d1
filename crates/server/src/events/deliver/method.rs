//! Delivery to subscribed methods (spec 6.4): a call with the event as its params, sent like every
//! other call.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Instant,
};

use parking_lot::Mutex;
use svc_core::{
    EventId, Permissions, UserId, event::Event, journal::CallVia, pattern::Pattern,
    visibility::Viewer,
};
use svc_protocol::{
    api::SinkType,
    jsonrpc::{PARAMS_DEPTH_MAX, RpcError, nests_deeper_than},
};
use svc_store::{
    StoreError, Tx, records,
    sinks::{self, SinkRow},
    users,
};

use super::{Deliverers, RenderError, RenderPurpose};
use crate::{
    events::lanes::{AttemptDetail, AttemptResult},
    live::Availability,
    methods::{
        calls::{Reply, await_answer, recorder::CallRecorder},
        ended_call::{CallSubject, EndedCall, Ending},
        provider::Provider,
        registry::{PickError, Registry},
    },
};

/// At most this many bytes of a method's answer are stored with the attempt.
const OUTPUT_MAX: usize = 16 * 1024;

pub struct MethodDelivery {
    registry: Arc<Registry>,
    recorder: Arc<CallRecorder>,
    /// The providers at which the current event of a method failed, so that the next attempt uses
    /// another provider if possible. One entry per method, because a method has one delivery in
    /// flight.
    failed: Mutex<FailedProviders<Provider>>,
}

/// The owner and the name of a method.
type MethodKey = (UserId, String);

struct FailedProviders<P> {
    /// For each method: the event that failed last, and the providers at which it failed.
    by_method: HashMap<MethodKey, (EventId, Vec<Weak<P>>)>,
    /// Number of entries after the last clean-up.
    kept: usize,
}

/// A map with fewer than twice this number of entries is not cleaned up.
const KEPT_MIN: usize = 64;

impl<P> FailedProviders<P> {
    fn new() -> Self {
        Self {
            by_method: HashMap::new(),
            kept: 0,
        }
    }

    fn take(&mut self, key: &MethodKey, event: EventId) -> Vec<Arc<P>> {
        match self.by_method.remove(key) {
            Some((failed, providers)) if failed == event => {
                providers.iter().filter_map(Weak::upgrade).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Inserts an entry. If the number of entries has doubled since the last clean-up, also removes
    /// the entries without a live provider. If a method ceases to exist after a failed delivery,
    /// only this clean-up removes its entry.
    fn insert(&mut self, key: MethodKey, event: EventId, failed: &[Arc<P>]) {
        let failed = failed.iter().map(Arc::downgrade).collect();
        self.by_method.insert(key, (event, failed));
        if self.by_method.len() >= 2 * self.kept.max(KEPT_MIN) {
            let is_alive = |provider: &Weak<P>| provider.strong_count() > 0;
            self.by_method
                .retain(|_, (_, providers)| providers.iter().any(is_alive));
            self.kept = self.by_method.len();
        }
    }
}

impl MethodDelivery {
    pub fn new(registry: Arc<Registry>, recorder: Arc<CallRecorder>) -> Self {
        Self {
            registry,
            recorder,
            failed: Mutex::new(FailedProviders::new()),
        }
    }

    /// Makes one attempt, at the provider with the fewest calls in flight (D2). Prefers providers
    /// at which this event has not failed. While no provider is linked, the delivery pauses and
    /// spends no attempt.
    pub async fn deliver(
        &self,
        owner: UserId,
        method: &str,
        event: &Event,
        params: &str,
    ) -> AttemptResult {
        let key = (owner, method.to_owned());
        let mut failed = self.failed.lock().take(&key, event.id);
        let began = Instant::now();
        let mut unsent = Vec::new();
        let error = loop {
            let provider = match self.pick(owner, method, &failed, &unsent) {
                Ok(provider) => provider,
                // Nothing was sent: no provider is linked or registered yet, or each one lost its
                // link before the call was sent.
                Err(_) if unsent.iter().all(is_unlinked) => {
                    self.failed.lock().insert(key, event.id, &failed);
                    return AttemptResult::Paused;
                }
                Err(PickError::NotFound | PickError::Unavailable) => {
                    break (RpcError::Unavailable.message().to_owned(), None);
                }
            };
            let now = tokio::time::Instant::now();
            let trace = self.recorder.traces.begin(owner, event.trace.as_deref());
            let trace = trace.as_deref();
            let Ok(mut pending) = provider.deliver(owner, params, trace) else {
                unsent.push(provider);
                continue;
            };
            provider.meter(&self.recorder.metrics);
            let mut spent = None;
            let outcome = match await_answer(&mut pending, &provider, &now).await {
                Ok(Some((reply, times))) => {
                    spent = times;
                    Ok(reply)
                }
                Ok(None) => {
                    unsent.push(provider);
                    continue;
                }
                Err(error) => Err(error),
            };
            // The owner of the method is the caller.
            self.recorder.ended(&EndedCall {
                subject: CallSubject::Subscription(&provider),
                caller: owner,
                credential: None,
                via: CallVia::Event,
                ending: Ending::of(&outcome).with_times(spent),
                took: now.elapsed(),
                params: Some(params),
                reply: outcome.as_ref().ok(),
                trace,
            });
            match outcome {
                Ok(Reply::Result(result)) => {
                    return AttemptResult::Delivered(detail(began, None, Some(&result)));
                }
                Ok(Reply::Error(error)) => {
                    failed.push(provider);
                    break ("the method returned an error".to_owned(), Some(error));
                }
                Err(error) => {
                    failed.push(provider);
                    break (error.message().to_owned(), None);
                }
            }
        };
        self.failed.lock().insert(key, event.id, &failed);
        let (error, output) = error;
        AttemptResult::Failed(detail(began, Some(error), output.as_deref()))
    }

    fn pick(
        &self,
        owner: UserId,
        method: &str,
        failed: &[Arc<Provider>],
        unsent: &[Arc<Provider>],
    ) -> Result<Arc<Provider>, PickError> {
        let viewer = Viewer {
            id: owner,
            permissions: Permissions::NONE,
            groups: &[],
        };
        let both: Vec<_> = failed.iter().chain(unsent).cloned().collect();
        let elsewhere = self.registry.pick(viewer, owner, method, &both);
        elsewhere.or_else(|_| self.registry.pick(viewer, owner, method, unsent))
    }
}

fn is_unlinked(provider: &Arc<Provider>) -> bool {
    provider.availability() == Availability::Unlinked
}

fn detail(began: Instant, error: Option<String>, output: Option<&[u8]>) -> AttemptDetail {
    let excerpt =
        |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(OUTPUT_MAX)]).into_owned();
    AttemptDetail {
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        error,
        output: output.map(excerpt),
        ..AttemptDetail::default()
    }
}

impl Deliverers {
    /// The params of a subscribed method. Its formatters (`event_sinks`) are tried in declared
    /// order. The first one that is active, permitted (`may_format`) and matches the event
    /// renders the params. Without such a formatter, the params have the default form.
    pub(super) async fn format(
        &self,
        owner: UserId,
        formatters: &[String],
        event: &Event,
    ) -> Result<String, RenderError> {
        let (names, event_type) = (formatters.to_vec(), event.r#type.clone());
        let formatter = self
            .store
            .read(move |tx| {
                for name in &names {
                    // A sink of the owner precedes a global sink with the same name.
                    let keys = [owner.to_string(), sinks::GLOBAL.to_owned()];
                    for key in &keys {
                        let Some(sink) = records::find_named::<SinkRow>(tx, key, name)? else {
                            continue;
                        };
                        if sink.kind != SinkType::JsonRpc {
                            continue;
                        }
                        let applies = sink.active
                            && matches(&sink.patterns, &event_type)
                            && may_format(tx, &sink, owner)?;
                        if applies {
                            return Ok(Some(sink));
                        }
                        break;
                    }
                }
                Ok(None)
            })
            .await?;
        let purpose = RenderPurpose::Delivery(owner);
        let source = formatter
            .as_ref()
            .and_then(|sink| sink.config.body_template());
        let rendered = self.render(source, event, purpose).await;
        if let (Some(sink), Err(RenderError::Unreadable(why))) = (&formatter, &rendered) {
            self.report_withheld(sink, why).await;
        }
        let params = rendered?;
        // Checked for each event: the template was checked with sample events only.
        if !params.trim_start().starts_with('{') {
            return Err(RenderError::Template(
                "the template does not render a JSON object".to_owned(),
            ));
        }
        if nests_deeper_than(&params, PARAMS_DEPTH_MAX) {
            return Err(RenderError::Template(format!(
                "the params nest more than {PARAMS_DEPTH_MAX} levels deep"
            )));
        }
        Ok(params)
    }
}

/// Whether a sink may format the params of the methods of this owner. A global sink may do so only
/// if the user who last saved the sink held all permissions of the method's owner, because the
/// params decide what a call does.
fn may_format(tx: &mut Tx<'_>, sink: &SinkRow, method_owner: UserId) -> Result<bool, StoreError> {
    if !sink.is_global() {
        return Ok(true);
    }
    let owner = users::find_power(tx, method_owner)?;
    let held = owner.map_or(Permissions::NONE, |owner| owner.permissions);
    Ok(records::saved_power::<SinkRow>(tx, sink.id)?
        .check(held)
        .is_ok())
}

fn matches(patterns: &[Pattern], event_type: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(event_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(method: usize) -> MethodKey {
        (UserId::NIL, format!("method_{method}"))
    }

    #[test]
    fn failed_providers_are_returned_for_the_same_event_only() {
        let (mut failed, provider) = (FailedProviders::new(), Arc::new(1));
        let (event, other) = (EventId::NIL, EventId(uuid::Uuid::max()));
        failed.insert(key(1), event, &[Arc::clone(&provider)]);
        assert_eq!(failed.take(&key(1), event), [Arc::clone(&provider)]);
        failed.insert(key(1), event, &[provider]);
        assert!(failed.take(&key(1), other).is_empty());
    }

    #[test]
    fn methods_that_no_longer_exist_leave_no_entries() {
        let (mut failed, provider) = (FailedProviders::new(), Arc::new(1));
        failed.insert(key(0), EventId::NIL, &[Arc::clone(&provider)]);
        for method in 1..10_000 {
            failed.insert(key(method), EventId::NIL, &[Arc::new(method)]);
        }
        let entries = failed.by_method.len();
        assert!(entries <= 2 * KEPT_MIN, "{entries} entries");
        assert_eq!(failed.take(&key(0), EventId::NIL), [provider]);
    }
}
