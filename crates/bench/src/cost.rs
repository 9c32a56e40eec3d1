//! The check against slow growth: what a call costs in system calls, against what it cost when the
//! baseline was written.
//!
//! System calls and not time: they are the same on a busy machine, and the same in a debug build.

use anyhow::{bail, ensure};
use serde::Deserialize;

use crate::calls::serial_system_calls;

const BASELINE: &str = include_str!("../baseline.json");

#[derive(Deserialize)]
struct Baseline {
    /// Of server, agent and method server together, for one call after another.
    system_calls_per_call: f64,
    /// How much more is still the same: a part of it.
    tolerance: f64,
}

/// Fails if a call costs more than the baseline says; with `required`, also if it cannot be counted.
pub async fn check(required: bool) -> anyhow::Result<()> {
    let baseline: Baseline = serde_json::from_str(BASELINE)?;
    let Some(counted) = serial_system_calls().await? else {
        ensure!(
            !required,
            "system calls cannot be counted here: neither `perf` nor `strace` works"
        );
        println!("skipped: neither `perf` nor `strace` can count system calls here");
        return Ok(());
    };
    let expected = baseline.system_calls_per_call;
    println!("system calls per call: {counted:.2}, baseline {expected:.2}");
    if counted > expected * (1.0 + baseline.tolerance) {
        bail!(
            "a call takes {counted:.2} system calls, {expected:.2} when the baseline was written; \
             if that is meant, change crates/bench/baseline.json and say why"
        );
    }
    if counted < expected * (1.0 - baseline.tolerance) {
        println!("that is better: lower the baseline in crates/bench/baseline.json");
    }
    Ok(())
}
