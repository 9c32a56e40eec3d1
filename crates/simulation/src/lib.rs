//! Tools for simulations: a simulated time, random numbers from a seed, the trace of a run, and the
//! search for seeds that break a promise. A promise is a rule that every run must keep. A run
//! depends on its seed only.
//!
//! - `SVC_SIMULATION_SEEDS=100000 cargo verify simulation_keeps` runs more seeds. They begin with 0,
//!   or with `SVC_SIMULATION_FIRST`.
//! - `SVC_SIMULATION_SEED=17 cargo verify simulation_keeps -- --nocapture` runs one seed again and
//!   prints everything that happens.

mod random;
mod trace;

#[cfg(feature = "clock")]
use std::sync::Arc;
use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

pub use self::{random::Random, trace::Trace};

/// Seeds that a test runs if `SVC_SIMULATION_SEEDS` is not set.
const SEEDS: u64 = 1_000;
/// A planted fault must be found within this many seeds.
const SEEDS_FOR_FAULT: u64 = 10_000;

/// The run of one seed.
pub struct Run {
    pub seed: u64,
    /// Everything that happened, in order, with simulated times.
    pub trace: Vec<String>,
    /// Broken promises.
    pub broken: Vec<String>,
}

impl Run {
    /// Runs a simulation on this thread, in a simulated time of its own.
    #[cfg(feature = "clock")]
    pub fn of(seed: u64, simulation: impl Future<Output = Arc<Trace>>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let (trace, broken) = runtime.block_on(simulation).take();
        Self {
            seed,
            trace,
            broken,
        }
    }

    fn is_broken(&self) -> bool {
        !self.broken.is_empty()
    }
}

/// Simulates seeds on all cores until a run breaks a promise.
fn find_broken(seeds: Range<u64>, simulate: impl Fn(u64) -> Run + Sync) -> Option<Run> {
    let next = AtomicU64::new(seeds.start);
    let search = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return None;
            }
            let run = simulate(seed);
            if run.is_broken() {
                next.store(seeds.end, Ordering::Relaxed);
                return Some(run);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(search)).collect();
        let found = threads.into_iter().map(|thread| thread.join());
        found
            .filter_map(|found| found.expect("a simulation does not panic"))
            .min_by_key(|run| run.seed)
    })
}

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is `{value}`; it must be a number")))
}

/// Checks that no seed breaks a promise. `test` is the name of the test, for the message.
pub fn check_promises(test: &str, simulate: impl Fn(u64) -> Run + Sync) {
    let broken = match variable("SVC_SIMULATION_SEED") {
        Some(seed) => {
            let run = simulate(seed);
            println!("{}", run.trace.join("\n"));
            Some(run).filter(Run::is_broken)
        }
        None => {
            let first = variable("SVC_SIMULATION_FIRST").unwrap_or(0);
            let count = variable("SVC_SIMULATION_SEEDS").unwrap_or(SEEDS);
            let began = Instant::now();
            let broken = find_broken(first..first.saturating_add(count), simulate);
            println!("{count} seeds from {first} in {:.0?}", began.elapsed());
            broken
        }
    };
    if let Some(Run { seed, broken, .. }) = broken {
        panic!(
            "{}\nrun it again: SVC_SIMULATION_SEED={seed} cargo verify {test} -- --nocapture",
            broken.join("\n")
        );
    }
}

/// Checks that everything that happens depends on the seed, and on nothing else.
pub fn check_is_repeatable(simulate: impl Fn(u64) -> Run) {
    for seed in 0..20 {
        let (first, again) = (simulate(seed), simulate(seed));
        assert!(first.trace.len() > 20, "seed {seed} does almost nothing");
        assert_eq!(first.trace, again.trace, "seed {seed}");
    }
    assert_ne!(simulate(0).trace, simulate(1).trace);
}

/// Checks that a planted fault breaks one of these promises, and that the same seed keeps all
/// promises without the fault.
pub fn check_is_found(
    promises: &[&str],
    with_fault: impl Fn(u64) -> Run + Sync,
    without: impl Fn(u64) -> Run,
) {
    let Some(found) = find_broken(0..SEEDS_FOR_FAULT, with_fault) else {
        panic!("the planted fault was not found in {SEEDS_FOR_FAULT} seeds");
    };
    println!("found by seed {}: {}", found.seed, found.broken[0]);
    let is_expected = promises
        .iter()
        .any(|promise| found.broken[0].starts_with(promise));
    assert!(is_expected, "{:?}", found.broken);
    assert_eq!(without(found.seed).broken, Vec::<String>::new());
}
