//! Evaluates the filters and keys of sinks, outside of any transaction.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use svc_core::{SpaceId, UserId, event::Event};
use svc_store::sinks::SinkRow;
use svc_template::{Scope, expression::Expression};

use super::{Deliverers, render::TemplateContext};
use crate::{events::lanes::FilterResult, fair_pool::Cancelled};

/// Time limit of one batch of filter evaluations, because users share the threads. At least one
/// event is evaluated; the remaining events are left for the next batch.
const BATCH_TIME_MAX: Duration = Duration::from_millis(100);

impl Deliverers {
    pub(super) async fn filter_events(
        &self,
        user: UserId,
        filter: String,
        events: Vec<Event>,
    ) -> Result<Vec<FilterResult>, String> {
        let contexts = self.read_contexts(&events).await?;
        let evaluate = move |_: &Cancelled| {
            let filter = match Expression::parse(&filter) {
                Ok(filter) => filter,
                // This filter was stored by an earlier version, which accepted it.
                Err(error) => return vec![Err(error.to_string()); events.len()],
            };
            let began = Instant::now();
            let mut results = Vec::with_capacity(events.len());
            for event in &events {
                if !results.is_empty() && began.elapsed() > BATCH_TIME_MAX {
                    break;
                }
                let result = contexts.evaluate(event, |scope| filter.is_true(scope));
                results.push(result.map_err(|error| error.to_string()));
            }
            results
        };
        let evaluated = self.compute.run_unbounded(user, evaluate).await;
        evaluated.map_err(|error| error.to_string())
    }

    /// The keys of events. A key that cannot be computed is empty. Events with equal keys are
    /// delivered in order; this includes events with an empty key.
    pub(super) async fn key_events(&self, sink: &SinkRow, events: Vec<Event>) -> Vec<String> {
        let (count, source) = (events.len(), sink.policy.key.clone().unwrap_or_default());
        let Ok(contexts) = self.read_contexts(&events).await else {
            return vec![String::new(); count];
        };
        let evaluate = move |_: &Cancelled| {
            let Ok(key) = Expression::parse(&source) else {
                return vec![String::new(); events.len()];
            };
            let key_of = |event| contexts.evaluate(event, |scope| key.key(scope));
            let keys = events.iter().map(|event| key_of(event).unwrap_or_default());
            keys.collect()
        };
        let evaluated = self.compute.run_unbounded(sink.owner_id, evaluate).await;
        evaluated.unwrap_or_else(|_| vec![String::new(); count])
    }

    /// Reads the spaces of events, each space once.
    pub(in crate::events) async fn read_contexts(
        &self,
        events: &[Event],
    ) -> Result<Contexts, String> {
        let mut contexts = HashMap::new();
        for event in events {
            // The context of an event without a space is made from the event itself.
            if event.space_id == SpaceId::NIL || contexts.contains_key(&event.space_id) {
                continue;
            }
            let context = self.read_context(event).await;
            let context = context.map_err(|error| error.to_string())?;
            contexts.insert(event.space_id, context);
        }
        Ok(Contexts(contexts))
    }
}

/// The variables that expressions and templates can use, for each space.
pub(in crate::events) struct Contexts(HashMap<SpaceId, TemplateContext>);

impl Contexts {
    /// Calls `evaluate` with the variables of an event.
    pub(in crate::events) fn evaluate<T>(
        &self,
        event: &Event,
        evaluate: impl FnOnce(&Scope<'_>) -> T,
    ) -> T {
        let context = match self.0.get(&event.space_id) {
            Some(context) => context.clone(),
            None => TemplateContext::without_space(event),
        };
        evaluate(&Scope {
            event,
            space: context.space,
            custom: &context.custom,
        })
    }
}
