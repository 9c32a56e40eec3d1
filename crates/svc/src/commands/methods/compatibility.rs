//! Compares a new registration with the current methods of the space. Names the recent callers of
//! each method that the new registration breaks.

use std::time::Duration;

use svc_client::Client;
use svc_core::{
    journal::{CallGrouping, JournalLevel},
    registration::{CheckedMethod, MethodSchemas, breaking_changes},
};
use svc_protocol::{
    agent_api::Status,
    api::{CallQuery, Method, MethodQuery},
};

use crate::exit::Failure;

/// How far back calls are counted.
const CALLS_SINCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The maximum number of callers that are named for one method.
const CALLERS_MAX: usize = 10;

/// Prints the changes that break callers, and who called the methods. With `is_strict`, such
/// changes are an error.
pub async fn check(
    api: &Client,
    status: &Status,
    methods: &[CheckedMethod],
    is_strict: bool,
) -> Result<(), Failure> {
    let published = match api.methods(&MethodQuery::default()).await {
        Ok(published) => published.methods,
        // Without `--strict`, the comparison only warns. Its failure is not an error.
        Err(error) if is_strict => return Err(error.into()),
        Err(_) => return Ok(()),
    };
    let mut broken = 0;
    for old in published.iter().filter(|old| is_of_space(old, status)) {
        if will_record_payloads(old, methods) {
            let name = &old.name;
            eprintln!(
                "note: `{name}`: after this registration, params, results and errors of calls are recorded"
            );
        }
        let changes = find_changes(old, methods);
        if changes.is_empty() {
            continue;
        }
        broken += 1;
        for change in changes {
            eprintln!("warning: `{}`: {change}", old.name);
        }
        eprintln!("  {}", describe_callers(api, old).await);
    }
    if broken == 0 || !is_strict {
        return Ok(());
    }
    let what = if broken == 1 { "method" } else { "methods" };
    let what = format!("nothing was registered: {broken} {what} would break callers");
    let hint = "publish the change under a new name, or register without --strict";
    Err(Failure::refused(what).hint(hint))
}

/// Whether the agent's space is a provider of the method.
fn is_of_space(method: &Method, status: &Status) -> bool {
    let mut providers = method.providers.iter();
    let is_it = |id| providers.any(|provider| provider.space_id == id);
    status.space_id.is_some_and(is_it)
}

/// Whether the new registration begins to record params and results of the method's calls.
fn will_record_payloads(old: &Method, methods: &[CheckedMethod]) -> bool {
    let new = methods.iter().find(|new| new.name.as_str() == old.name);
    let is_now = new.is_some_and(|new| new.journal == JournalLevel::Payloads);
    is_now && old.journal != JournalLevel::Payloads
}

fn find_changes(old: &Method, methods: &[CheckedMethod]) -> Vec<String> {
    let Some(new) = methods.iter().find(|new| new.name.as_str() == old.name) else {
        // Other spaces may still offer the method.
        return match old.providers.len() {
            0 | 1 => vec!["the method is removed".to_owned()],
            _ => Vec::new(),
        };
    };
    let before = MethodSchemas {
        params: old.params_schema.as_ref(),
        result: old.result_schema.as_ref(),
    };
    let after = MethodSchemas {
        params: new.params_schema.as_ref(),
        result: new.result_schema.as_ref(),
    };
    let changes = breaking_changes(before, after);
    changes.iter().map(ToString::to_string).collect()
}

/// Describes who called a method within [`CALLS_SINCE`], from the call journal.
async fn describe_callers(api: &Client, method: &Method) -> String {
    let query = CallQuery {
        method: Some(method.name.clone()),
        owner: Some(method.owner_id.to_string()),
        since: Some(svc_clock::now().minus(CALLS_SINCE)),
        ..CallQuery::default()
    };
    let summary = api.recorded_call_summary(CallGrouping::Caller, &query);
    let Ok(summary) = summary.await else {
        return "cannot read who called it".to_owned();
    };
    if summary.groups.is_empty() && summary.is_complete {
        return "no recorded calls in the last 7 days".to_owned();
    }
    let others = summary.other.map_or(0, |other| other.groups);
    let more = summary.groups.len().saturating_sub(CALLERS_MAX) as u64 + others;
    let named = summary.groups.iter().take(CALLERS_MAX);
    let mut named: Vec<_> = named
        .map(|group| match &group.caller {
            Some(name) => format!("{name} ({})", group.calls),
            None => format!("a deleted user ({})", group.calls),
        })
        .collect();
    if more > 0 {
        named.push(format!("{more} more users"));
    }
    if !summary.is_complete {
        named.push("perhaps others: older calls were not read".to_owned());
    }
    format!("called in the last 7 days by {}", named.join(", "))
}
