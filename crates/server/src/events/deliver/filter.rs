//! Evaluates the filters and keys of sinks, outside of any transaction.

use std::{collections::HashMap, sync::Arc};

use svc_core::{SpaceId, UserId, event::Event};
use svc_pool::Cancelled;
use svc_store::sinks::SinkRow;
use svc_template::{
    Scope,
    expression::{Expression, ExpressionError},
};

use super::{Deliverers, render::TemplateContext};
use crate::events::lanes::FilterResult;

impl Deliverers {
    pub(super) async fn filter_events(
        &self,
        user: UserId,
        filter: String,
        events: Vec<Event>,
    ) -> Result<Vec<FilterResult>, String> {
        let contexts = self.read_contexts(&events).await?;
        let evaluate = move |cancelled: &Cancelled| {
            let filter = match Expression::parse(&filter) {
                Ok(filter) => filter,
                // This filter was stored by an earlier version, which accepted it.
                Err(error) => return vec![Err(error.to_string()); events.len()],
            };
            cancelled.work_in_turn(&events, |event| {
                let result = contexts.evaluate(event, |scope| filter.is_true(scope));
                result.map_err(|error| error.to_string())
            })
        };
        let evaluated = self.compute.run_unbounded(user, evaluate).await;
        evaluated.map_err(|error| error.to_string())
    }

    /// The keys of events. A key that cannot be computed is empty. Events with equal keys are
    /// delivered in order; this includes events with an empty key. Fails if the stored expression
    /// cannot be read.
    pub(super) async fn key_events(
        &self,
        sink: &SinkRow,
        events: Vec<Event>,
    ) -> Result<Vec<String>, String> {
        let count = events.len();
        let Ok(contexts) = self.read_contexts(&events).await else {
            return Ok(vec![String::new(); count]);
        };
        let source: Arc<str> = sink.policy.key.as_deref().unwrap_or_default().into();
        let (contexts, events) = (Arc::new(contexts), Arc::new(events));
        let mut keys = Vec::with_capacity(count);
        while keys.len() < count {
            let (source, contexts) = (Arc::clone(&source), Arc::clone(&contexts));
            let (events, done) = (Arc::clone(&events), keys.len());
            let evaluate = move |cancelled: &Cancelled| {
                let key = Expression::parse(&source)?;
                let keys = cancelled.work_in_turn(&events[done..], |event| {
                    let key = contexts.evaluate(event, |scope| key.key(scope));
                    key.unwrap_or_default()
                });
                Ok::<_, ExpressionError>(keys)
            };
            match self.compute.run_unbounded(sink.owner_id, evaluate).await {
                Ok(Ok(more)) => keys.extend(more),
                Ok(Err(error)) => return Err(format!("`delivery.key`: {error}")),
                Err(_) => keys.resize(count, String::new()),
            }
        }
        Ok(keys)
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
