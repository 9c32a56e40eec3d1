//! Backtest: what a changed sink would have done with past events. Sends and stores nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use svc_core::{EventId, SinkId, event::Event, pattern::Pattern};
use svc_pool::Cancelled;
use svc_protocol::api::{
    Backtest, BacktestCounts, BacktestDifference, BacktestError, BacktestResult, SinkType,
};
use svc_store::{Tx, events, sinks::SinkRow};
use svc_template::{self as template, Scope, Template, expression::Expression};

use super::super::{
    SinksService, check,
    programs::{self, Programs},
};
use crate::{events::deliver::Contexts, identity::Caller, records::RecordError};

/// How far a backtest reaches back if the request has no `since`.
const SINCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Limit of the events that one backtest evaluates. The last batch may exceed it.
const EVENTS_MAX: u32 = 10_000;
/// Time limit of one backtest, checked before each batch.
const TIME_MAX: Duration = Duration::from_secs(10);
/// One query reads at most this many events.
const WINDOW: u32 = 500;
/// At most this many events are evaluated together.
const BATCH: usize = 20;
/// The answer shows at most this many errors, and at most this many differences.
const SHOWN_MAX: usize = 10;
/// The answer shows at most this many bytes of a body.
const BODY_SHOWN_MAX: usize = 8 * 1024;

/// The compared fields of a sink, before or after the change.
#[derive(Clone)]
struct Version {
    patterns: Vec<Pattern>,
    filter: Option<String>,
    body_template: Option<String>,
}

/// A version that is ready to evaluate events.
struct Compiled {
    patterns: Vec<Pattern>,
    filter: Option<Expression>,
    template: Option<Template>,
}

/// What a version does with an event.
#[derive(Clone, PartialEq, Debug)]
enum Outcome {
    NotMatched,
    Body(String),
    /// The filter fails, so the event is not delivered.
    FilterFailed(String),
    TemplateFailed(String),
}

impl SinksService {
    pub async fn backtest(
        &self,
        caller: &Caller,
        id: SinkId,
        request: Backtest,
    ) -> Result<BacktestResult, RecordError> {
        if request.script.is_some() {
            return Err(RecordError::new(
                "invalid",
                "a script cannot be tried on past events: it calls methods and the API, and these effects cannot be undone; try it on one event with `svc sink test`, and the patterns and the filter with a backtest",
            ));
        }
        let row = self.read_managed(caller, id).await?;
        let now = svc_clock::now();
        let since = request.since.unwrap_or_else(|| now.minus(SINCE));
        let until = request.until.unwrap_or(now);
        if since > until {
            return Err(RecordError::new("invalid", "`since` is later than `until`"));
        }
        let before = Version {
            patterns: row.patterns.clone(),
            filter: row.policy.filter.clone(),
            body_template: row.config.body_template().map(str::to_owned),
        };
        let after = self.changed(caller, &row, &before, &request).await?;
        let filter = events::Filter {
            owner: (!row.is_global()).then_some(row.owner_id),
            since: Some(since),
            until: Some(until),
            ..events::Filter::default()
        };
        self.count_trial(caller)?;
        self.compare(caller, (before, after), filter).await
    }

    /// The changed version of the sink. Checks the change as if it were to be stored.
    async fn changed(
        &self,
        caller: &Caller,
        row: &SinkRow,
        before: &Version,
        request: &Backtest,
    ) -> Result<Version, RecordError> {
        let mut after = before.clone();
        if let Some(patterns) = &request.patterns {
            after.patterns = check::patterns(patterns)?;
        }
        if let Some(filter) = &request.filter {
            after.filter = Some(filter.clone()).filter(|text| !text.trim().is_empty());
            let mut policy = row.policy.clone();
            policy.filter.clone_from(&after.filter);
            check::policy(policy, row.kind)?;
        }
        let mut changed = Programs::default();
        if request.filter.is_some() {
            changed.filter.clone_from(&after.filter);
        }
        if let Some(source) = &request.body_template {
            if row.kind == SinkType::Script {
                return Err(RecordError::new(
                    "invalid_template",
                    "a script sink has no template; its script receives the event itself",
                ));
            }
            after.body_template = Some(source.clone()).filter(|text| !text.is_empty());
            changed.template.clone_from(&after.body_template);
        }
        self.check_programs(caller, row.kind, changed).await?;
        Ok(after)
    }

    async fn compare(
        &self,
        caller: &Caller,
        (before, after): (Version, Version),
        filter: events::Filter,
    ) -> Result<BacktestResult, RecordError> {
        let began = Instant::now();
        let mut result = BacktestResult::default();
        let mut position = EventId::NIL;
        // The time is also checked before each window: perhaps no event of a long history matches,
        // and so no batch is evaluated.
        while began.elapsed() <= TIME_MAX {
            let (reading, filter) = (position, filter.clone());
            let reading = move |tx: &mut Tx<'_>| events::list_after(tx, &filter, reading, WINDOW);
            let window = self.store.read_list(caller.user.id, reading).await?;
            let matching: Vec<_> = window
                .events
                .into_iter()
                .filter(|(_, event_type)| {
                    let mut patterns = before.patterns.iter().chain(&after.patterns);
                    patterns.any(|pattern| pattern.matches(event_type))
                })
                .map(|(id, _)| id)
                .collect();
            for ids in matching.chunks(BATCH) {
                if result.events >= EVENTS_MAX || began.elapsed() > TIME_MAX {
                    return Ok(result);
                }
                let events = Arc::new(self.read_events(caller, ids.to_vec()).await?);
                let contexts = self.deliverers.read_contexts(&events).await;
                let contexts = Arc::new(contexts.map_err(RecordError::Internal)?);
                let mut done = 0;
                while done < events.len() && began.elapsed() <= TIME_MAX {
                    let versions = (before.clone(), after.clone());
                    let (events, contexts) = (Arc::clone(&events), Arc::clone(&contexts));
                    let work = move |cancelled: &Cancelled| {
                        evaluate(&versions, &contexts, &events[done..], cancelled)
                    };
                    let outcomes = self.deliverers.compute.run(caller.user.id, work).await??;
                    done += outcomes.len();
                    for (event, before, after) in outcomes {
                        record(&mut result, &event, before, after);
                    }
                }
                if done < events.len() {
                    return Ok(result);
                }
            }
            let Some(next) = window.next else {
                result.complete = true;
                return Ok(result);
            };
            position = next;
        }
        Ok(result)
    }
}

/// The outcomes of the first events, of at least one: users share the threads.
fn evaluate(
    (before, after): &(Version, Version),
    contexts: &Contexts,
    events: &[Event],
    cancelled: &Cancelled,
) -> Result<Vec<(Event, Outcome, Outcome)>, RecordError> {
    let (before, after) = (before.compile()?, after.compile()?);
    Ok(cancelled.work_in_turn(events, |event| {
        contexts.evaluate(event, |scope| {
            (event.clone(), before.outcome(scope), after.outcome(scope))
        })
    }))
}

impl Version {
    fn compile(&self) -> Result<Compiled, RecordError> {
        let filter = self.filter.as_deref();
        let template = self.body_template.as_deref().map(template::load);
        Ok(Compiled {
            patterns: self.patterns.clone(),
            filter: filter
                .map(|source| programs::expression("filter", source))
                .transpose()?,
            template: template
                .transpose()
                .map_err(|error| RecordError::new("invalid_template", error.to_string()))?,
        })
    }
}

impl Compiled {
    fn outcome(&self, scope: &Scope<'_>) -> Outcome {
        let event = scope.event;
        let mut patterns = self.patterns.iter();
        if !patterns.any(|pattern| pattern.matches(&event.r#type)) {
            return Outcome::NotMatched;
        }
        match self.filter.as_ref().map(|filter| filter.is_true(scope)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return Outcome::NotMatched,
            Some(Err(error)) => return Outcome::FilterFailed(error.to_string()),
        }
        match self
            .template
            .as_ref()
            .map(|template| template.render(scope))
        {
            None => Outcome::Body(event.default_body()),
            Some(Ok(body)) => Outcome::Body(body),
            Some(Err(error)) => Outcome::TemplateFailed(error.to_string()),
        }
    }
}

impl Outcome {
    fn is_delivered(&self) -> bool {
        matches!(self, Self::Body(_))
    }

    fn error(&self) -> Option<&str> {
        match self {
            Self::FilterFailed(error) | Self::TemplateFailed(error) => Some(error),
            Self::NotMatched | Self::Body(_) => None,
        }
    }

    /// The text for the answer; a long body is cut.
    fn shown(self) -> String {
        match self {
            Self::NotMatched => "not matched".to_owned(),
            Self::FilterFailed(error) => format!("not matched: {error}"),
            Self::TemplateFailed(error) => format!("not sent: {error}"),
            Self::Body(body) => {
                let end = body.floor_char_boundary(BODY_SHOWN_MAX);
                match end < body.len() {
                    true => format!("{}… ({} bytes)", &body[..end], body.len()),
                    false => body,
                }
            }
        }
    }
}

fn record(result: &mut BacktestResult, event: &Event, before: Outcome, after: Outcome) {
    result.events += 1;
    result.through = Some(event.ts);
    for (counts, outcome) in [(&mut result.before, &before), (&mut result.after, &after)] {
        count(counts, outcome);
    }
    if let Some(error) = after.error()
        && result.errors.len() < SHOWN_MAX
    {
        result.errors.push(BacktestError {
            event_id: event.id,
            event_type: event.r#type.clone(),
            error: error.to_owned(),
        });
    }
    if before == after {
        return;
    }
    match (before.is_delivered(), after.is_delivered()) {
        (false, true) => result.added += 1,
        (true, false) => result.removed += 1,
        (true, true) | (false, false) => result.changed += 1,
    }
    if result.differences.len() < SHOWN_MAX {
        result.differences.push(BacktestDifference {
            event_id: event.id,
            event_type: event.r#type.clone(),
            before: before.shown(),
            after: after.shown(),
        });
    }
}

fn count(counts: &mut BacktestCounts, outcome: &Outcome) {
    match outcome {
        Outcome::Body(_) => counts.matching += 1,
        Outcome::FilterFailed(_) | Outcome::TemplateFailed(_) => counts.failures += 1,
        Outcome::NotMatched => {}
    }
}
