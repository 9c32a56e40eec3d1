//! The check against growing costs: compares the system calls per call with the baseline.
//!
//! The check counts system calls and does not measure time: the number of system calls depends
//! little on the load of the machine and on the build profile.

use anyhow::{bail, ensure};
use serde::Deserialize;

use crate::calls::serial_system_calls;

const BASELINE: &str = include_str!("../baseline.json");

#[derive(Deserialize)]
struct Baseline {
    /// The system calls of server, agent and method server together, with one call at a time.
    system_calls_per_call: f64,
    /// The tolerated difference, as a fraction of the baseline.
    tolerance: f64,
}

/// Fails if a call costs clearly more or less than the baseline. With `required`, also fails if the
/// system calls cannot be counted.
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
    compare(counted, &baseline)
}

/// Fails if the count is far from the baseline. A count far below it is a failure too: either the
/// counter missed a process, or the baseline must be lowered to protect the improvement.
fn compare(counted: f64, baseline: &Baseline) -> anyhow::Result<()> {
    let expected = baseline.system_calls_per_call;
    if counted > expected * (1.0 + baseline.tolerance) {
        bail!(
            "a call takes {counted:.2} system calls; it took {expected:.2} when the baseline was \
             written; if that is intended, change crates/bench/baseline.json and say why"
        );
    }
    if counted < expected * (1.0 - baseline.tolerance) {
        bail!(
            "a call takes only {counted:.2} system calls; it took {expected:.2} when the baseline \
             was written; if every process was counted, renew crates/bench/baseline.json"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Baseline, compare};

    #[test]
    fn a_count_far_from_the_baseline_fails_on_either_side() {
        let baseline = Baseline {
            system_calls_per_call: 10.0,
            tolerance: 0.1,
        };
        for near in [9.1, 10.0, 10.9] {
            assert!(compare(near, &baseline).is_ok(), "{near}");
        }
        let more = compare(11.1, &baseline)
            .expect_err("it is far away")
            .to_string();
        assert!(more.contains("say why"), "{more}");
        for less in [0.0, 8.9] {
            let less = compare(less, &baseline)
                .expect_err("it is far away")
                .to_string();
            assert!(less.contains("renew"), "{less}");
        }
    }
}
