//! The escalation test: random users with random permissions send random requests to the routes of
//! the real router. After each answer, an oracle that uses no code of the server checks that no
//! user obtained a credential, code execution or a view beyond their permissions. The routes that
//! are not tested are in [`EXCLUDED_CHANGES`] and [`EXCLUDED_READS`].
//!
//! - `SVC_ESCALATION_SEQUENCES=20000`: the number of sequences (default [`SEQUENCES`]).
//! - `SVC_ESCALATION_SEED=7`: only this sequence; a failure prints the seed.
//! - `SVC_ESCALATION_STEPS=0,4,9`: with a seed, only these steps of the sequence.
//! - `SVC_ESCALATION_IGNORE=power.role,view.list`: rules that are not checked.
//! - `SVC_ESCALATION_COVERAGE=1`: print how many requests each route got, and how many succeeded.
//! - `SVC_ESCALATION_SURVEY=1`: continue after a failure; list every broken rule with its first
//!   seed.

mod authenticator;
mod directed;
mod effects;
mod model;
mod rng;
mod rules;
mod sequence;
mod steps;
mod views;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use svc_server::http::route_table;

use self::{
    model::PERMISSIONS,
    sequence::{Coverage, Failure, Sequence, step_seeds},
    steps::{CHANGES, EXCLUDED_CHANGES},
    views::{EXCLUDED_READS, READS},
    world::World,
};

/// The number of sequences of a run without settings.
const SEQUENCES: u64 = 2_000;
/// Sequences that share one server; with more, the server's lists would get long.
const SEQUENCES_PER_WORLD: u64 = 40;
/// Threads, each with its own servers.
const WORKERS: usize = 2;
/// The first seed of a run.
const FIRST_SEED: u64 = 1;

/// Rules that a run does not check (`SVC_ESCALATION_IGNORE`), so that it can find violations of
/// other rules.
fn ignored_rules() -> Vec<String> {
    let ignored = std::env::var("SVC_ESCALATION_IGNORE").unwrap_or_default();
    ignored.split(',').map(str::to_owned).collect()
}

#[test]
fn escalation_every_route_has_a_generator() {
    let covered: BTreeSet<_> = CHANGES
        .iter()
        .map(|row| (row.0, row.1))
        .chain(EXCLUDED_CHANGES.iter().copied())
        .chain(READS.iter().map(|row| ("GET", row.0)))
        .chain(EXCLUDED_READS.iter().map(|&path| ("GET", path)))
        .collect();
    let table = route_table();
    let routes: BTreeSet<_> = table
        .iter()
        .map(|row| (row.method.as_str(), row.path.as_str()))
        .collect();
    let missing: Vec<_> = routes.difference(&covered).collect();
    assert!(
        missing.is_empty(),
        "routes without a generator: {missing:?}"
    );
    let unknown: Vec<_> = covered.difference(&routes).collect();
    assert!(
        unknown.is_empty(),
        "generators without a route: {unknown:?}"
    );
    let permissions: Vec<_> = svc_core::Permission::ALL
        .iter()
        .map(|p| p.as_str())
        .collect();
    assert_eq!(permissions, PERMISSIONS, "the test knows every permission");
}

#[test]
fn escalation_no_sequence_gives_a_user_more_than_they_hold() {
    if let Some(seed) = setting("SVC_ESCALATION_SEED") {
        return replay(seed);
    }
    let run = Run {
        sequences: setting("SVC_ESCALATION_SEQUENCES").unwrap_or(SEQUENCES),
        ..Run::default()
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| runtime().block_on(run.work()));
        }
    });
    run.report_failures();
    let coverage = run.coverage.lock().expect("no panic");
    let never: Vec<_> = coverage
        .iter()
        .filter(|(_, (_, good))| *good == 0)
        .collect();
    println!(
        "escalation: {} sequences, {} requests, {} routes, {:.0} s; no rule was broken",
        run.sequences,
        run.requests.load(Ordering::Relaxed),
        coverage.len(),
        begun.elapsed().as_secs_f64()
    );
    if std::env::var_os("SVC_ESCALATION_COVERAGE").is_some() {
        for (route, (asked, good)) in &*coverage {
            println!("{good:>7} of {asked:>7} {route}");
        }
    }
    let expected = [
        "POST /api/auth/setup",
        "POST /api/auth/sign-in",
        "POST /api/event-sinks/{id}/deliveries/{n}/resend",
    ];
    let never: Vec<_> = never
        .iter()
        .filter(|(route, _)| !expected.contains(&route.as_str()))
        .collect();
    assert!(
        run.sequences < SEQUENCES || never.is_empty(),
        "routes without a successful request, so they were not tested: {never:?}"
    );
}

#[derive(Default)]
struct Run {
    sequences: u64,
    begun: AtomicU64,
    failed: AtomicBool,
    /// The first failure of each rule, with its seed.
    failures: Mutex<BTreeMap<&'static str, (u64, Failure)>>,
    coverage: Mutex<Coverage>,
    requests: AtomicU64,
}

impl Run {
    /// The work of one thread: runs sequences on servers that only this thread uses, until no
    /// sequence is left or one has failed.
    async fn work(&self) {
        loop {
            let world = World::start().await;
            let has_more = self.work_in(&world).await;
            world.stop().await;
            if !has_more {
                return;
            }
        }
    }

    async fn work_in(&self, world: &World) -> bool {
        for _ in 0..SEQUENCES_PER_WORLD {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            if number >= self.sequences || self.failed.load(Ordering::Relaxed) {
                return false;
            }
            let seed = FIRST_SEED + number;
            let mut sequence = Sequence::new(world, ignored_rules());
            let outcome = sequence.run(seed, &step_seeds(seed)).await;
            self.requests
                .fetch_add(sequence.requests, Ordering::Relaxed);
            let mut coverage = self.coverage.lock().expect("no panic");
            for (route, (asked, good)) in sequence.coverage {
                let total = coverage.entry(route).or_default();
                (total.0, total.1) = (total.0 + asked, total.1 + good);
            }
            if let Err(failure) = outcome {
                self.failed.store(!is_survey(), Ordering::Relaxed);
                let mut failures = self.failures.lock().expect("no panic");
                let first = failures.entry(failure.violation.rule);
                first.or_insert((seed, failure));
            }
        }
        true
    }

    fn report_failures(&self) {
        let failures = self.failures.lock().expect("no panic");
        if is_survey() {
            for (rule, (seed, failure)) in &*failures {
                println!("{rule}: seed {seed}: {}", failure.violation.text);
            }
        }
        if let Some((seed, failure)) = failures.values().next() {
            let (kept, failure) = runtime().block_on(shrink(*seed, failure.clone()));
            panic!("{}", report(*seed, &kept, &failure));
        }
    }
}

fn is_survey() -> bool {
    std::env::var_os("SVC_ESCALATION_SURVEY").is_some()
}

/// Tries to remove each step, from the last to the first. A step stays removed if the other steps
/// still break the same rule.
async fn shrink(seed: u64, first: Failure) -> (Vec<usize>, Failure) {
    let seeds = step_seeds(seed);
    let mut kept: Vec<usize> = (0..seeds.len()).collect();
    let mut failure = first;
    let world = World::start().await;
    for dropped in (0..seeds.len()).rev() {
        let fewer: Vec<_> = kept
            .iter()
            .copied()
            .filter(|&step| step != dropped)
            .collect();
        let steps: Vec<_> = fewer.iter().map(|&step| seeds[step]).collect();
        let mut sequence = Sequence::new(&world, ignored_rules());
        if let Err(again) = sequence.run(seed, &steps).await
            && again.violation.rule == failure.violation.rule
        {
            (kept, failure) = (fewer, again);
        }
    }
    world.stop().await;
    (kept, failure)
}

fn report(seed: u64, kept: &[usize], failure: &Failure) -> String {
    let steps: Vec<_> = kept.iter().map(ToString::to_string).collect();
    format!(
        "seed {seed} breaks the rule `{}`: {}\n  {}\nreplay with:\n  SVC_ESCALATION_SEED={seed} SVC_ESCALATION_STEPS={} cargo test --ignore-rust-version -p svc-server --examples --test escalation no_sequence\n",
        failure.violation.rule,
        failure.violation.text,
        failure.log.join("\n  "),
        steps.join(",")
    )
}

fn replay(seed: u64) {
    let seeds = step_seeds(seed);
    let kept = match std::env::var("SVC_ESCALATION_STEPS") {
        Ok(list) => {
            let steps = list.split(',').filter(|step| !step.is_empty());
            steps.map(|step| step.parse().expect("a number")).collect()
        }
        Err(_) => (0..seeds.len()).collect::<Vec<usize>>(),
    };
    let steps: Vec<_> = kept.iter().map(|&step| seeds[step]).collect();
    let outcome = runtime().block_on(async {
        let world = World::start().await;
        let mut sequence = Sequence::new(&world, ignored_rules());
        let outcome = sequence.run(seed, &steps).await;
        world.stop().await;
        outcome
    });
    if let Err(failure) = outcome {
        panic!("{}", report(seed, &kept, &failure));
    }
    println!("escalation: seed {seed} breaks no rule");
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is `{text}`; it must be a number")),
    )
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
