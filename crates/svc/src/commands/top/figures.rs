//! Rates and latencies of methods, from recorded calls.

use std::{collections::HashMap, time::Duration};

use serde::Serialize;
use svc_core::{Timestamp, UserId};
use svc_protocol::api::{Call, Method, PAGE_MAX};

/// One method that the user sees, or another name that was called.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MethodFigures {
    /// The name as the user sees it.
    pub name: String,
    pub load: Load,
    /// `None` if the server does not list the providers, which only the owner of a method sees.
    pub in_flight: Option<u32>,
    /// Spaces that can take calls now.
    pub providers: usize,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Load {
    pub calls_per_second: f64,
    pub failed_per_second: f64,
    /// `None` without calls.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
}

/// The busiest methods first. `calls` are the newest calls of the last `window`.
pub fn of_methods(
    me: UserId,
    methods: Vec<Method>,
    calls: &[Call],
    now: Timestamp,
    window: Duration,
) -> Vec<MethodFigures> {
    let seconds = measured_seconds(calls, now, window);
    let mut by_method: HashMap<(UserId, &str), Vec<&Call>> = HashMap::new();
    for call in calls {
        let key = (call.owner_id, call.method.as_str());
        by_method.entry(key).or_default().push(call);
    }
    let mut figures: Vec<_> = methods
        .iter()
        .map(|method| {
            let prefix = format!("user.{}.", method.owner);
            let canonical = match method.owner_id == me {
                true => &method.name,
                false => method.name.strip_prefix(&prefix).unwrap_or(&method.name),
            };
            let own = by_method.remove(&(method.owner_id, canonical));
            MethodFigures {
                name: method.name.clone(),
                load: load(&own.unwrap_or_default(), seconds),
                in_flight: (!method.providers.is_empty())
                    .then(|| method.providers.iter().map(|one| one.in_flight).sum()),
                providers: method.provider_count,
            }
        })
        .collect();
    figures.extend(by_method.into_iter().map(|((owner, name), calls)| {
        let owner = calls.first().and_then(|call| {
            let other = owner != me;
            call.owner.as_ref().filter(|_| other)
        });
        MethodFigures {
            name: owner.map_or(name.to_owned(), |owner| format!("user.{owner}.{name}")),
            load: load(&calls, seconds),
            in_flight: None,
            providers: 0,
        }
    }));
    let rate = |one: &MethodFigures| one.load.calls_per_second;
    figures.sort_by(|a, b| {
        let by_rate = rate(b).total_cmp(&rate(a));
        by_rate.then_with(|| a.name.cmp(&b.name))
    });
    figures
}

/// The time in which the calls ended: the window, or less if one page cannot hold all calls of the
/// window.
fn measured_seconds(calls: &[Call], now: Timestamp, window: Duration) -> f64 {
    let is_full = calls.len() >= PAGE_MAX as usize;
    match calls.last().filter(|_| is_full) {
        Some(oldest) => now.since(oldest.at).min(window).as_secs_f64().max(0.001),
        None => window.as_secs_f64(),
    }
}

fn load(calls: &[&Call], seconds: f64) -> Load {
    let failed = calls
        .iter()
        .filter(|call| call.outcome.is_failure())
        .count();
    let mut took: Vec<f64> = calls.iter().map(|call| call.duration_ms).collect();
    took.sort_by(f64::total_cmp);
    let percentile =
        |percent: usize| took.get((took.len() * percent / 100).min(took.len().saturating_sub(1)));
    Load {
        calls_per_second: calls.len() as f64 / seconds,
        failed_per_second: failed as f64 / seconds,
        p50_ms: percentile(50).copied(),
        p95_ms: percentile(95).copied(),
    }
}

#[cfg(test)]
mod tests;
