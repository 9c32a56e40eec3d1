//! Counts of latencies in steps: two steps for each doubling, from 64 µs to about a minute.
//! Percentiles are interpolated within a step. Counts of different times and servers can be added.

use std::time::Duration;

pub const STEPS: usize = 40;
/// The first step covers everything below 1.5 · 2⁶ µs.
const FIRST_OCTAVE: u32 = 6;

/// The number of calls in each step.
pub type StepCounts = [u64; STEPS];

/// The step of a latency.
pub fn step_of(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
    let octave = micros.ilog2();
    if octave < FIRST_OCTAVE {
        return 0;
    }
    let half = (micros >> (octave - 1)) & 1;
    let step = (octave - FIRST_OCTAVE) as usize * 2 + half as usize;
    step.min(STEPS - 1)
}

/// The lower bound of a step in milliseconds.
pub fn begin_ms(step: usize) -> f64 {
    begin_micros(step) / 1_000.0
}

/// The lower bound of a step in seconds.
pub fn begin_seconds(step: usize) -> f64 {
    begin_micros(step) / 1_000_000.0
}

fn begin_micros(step: usize) -> f64 {
    if step == 0 {
        return 0.0;
    }
    let octave = f64::from(1_u32 << (FIRST_OCTAVE as usize + step / 2));
    let part = if step.is_multiple_of(2) { 1.0 } else { 1.5 };
    octave * part
}

/// The latency in milliseconds that the share `share` of the calls (from 0 to 1) did not exceed,
/// interpolated within a step. `None` without calls.
pub fn percentile_ms(counts: &StepCounts, share: f64) -> Option<f64> {
    let total: f64 = counts.iter().copied().map(to_float).sum();
    if total == 0.0 {
        return None;
    }
    let mut wanted = total * share;
    for (step, &count) in counts.iter().enumerate() {
        let count = to_float(count);
        if count > 0.0 && count >= wanted {
            let (from, to) = (begin_ms(step), begin_ms(step + 1));
            let ms = from + (to - from) * wanted / count;
            return Some((ms * 100.0).round() / 100.0);
        }
        wanted -= count;
    }
    Some(begin_ms(STEPS - 1))
}

/// Exact up to 2⁵³ calls.
fn to_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_lies_in_its_step() {
        for number in [
            0,
            1,
            63,
            64,
            95,
            96,
            127,
            128,
            1_000,
            5_000,
            12_345,
            900_000_u32,
        ] {
            let ms = f64::from(number) / 1_000.0;
            let step = step_of(Duration::from_micros(number.into()));
            assert!(
                begin_ms(step) <= ms && ms < begin_ms(step + 1),
                "{number} µs"
            );
        }
        assert_eq!(step_of(Duration::from_secs(3_600)), STEPS - 1);
        assert!(
            begin_ms(STEPS - 1) > 30_000.0,
            "the steps cover a default timeout"
        );
    }

    #[test]
    fn percentiles_are_close_to_the_exact_values() {
        let mut counts = [0; STEPS];
        for number in 1..=1_000 {
            counts[step_of(Duration::from_micros(number * 100))] += 1;
        }
        // The last step is only partly used, so the last percentile is less exact.
        for (share, truth, error) in [(0.5, 50.0, 0.05), (0.95, 95.0, 0.05), (0.99, 99.0, 0.2)] {
            let found = percentile_ms(&counts, share).expect("there were calls");
            assert!((found - truth).abs() < truth * error, "{found} for {truth}");
        }
        assert_eq!(percentile_ms(&[0; STEPS], 0.5), None);
    }

    #[test]
    fn steps_begin_at_powers_of_two_and_halfway_between_them() {
        let check = |step, micros: u64| {
            let begin = Duration::from_micros(micros);
            assert_eq!(step_of(begin), step, "{micros} µs");
            let before = begin - Duration::from_micros(1);
            assert_eq!(step_of(before), step - 1, "{micros} µs");
            assert_eq!(begin_ms(step), begin.as_secs_f64() * 1_000.0);
            assert_eq!(begin_seconds(step), begin.as_secs_f64());
        };
        check(1, 96);
        check(2, 128);
        check(3, 192);
        check(28, 1_048_576);
        check(39, 50_331_648);
        assert_eq!((begin_ms(0), begin_seconds(0)), (0.0, 0.0));
    }

    #[test]
    fn percentiles_are_interpolated_within_a_step_and_rounded_to_ten_microseconds() {
        let mut counts = [0; STEPS];
        // From 65.536 to 98.304 ms, and from 262.144 to 393.216 ms.
        (counts[20], counts[24]) = (4, 12);
        for (share, expected) in [
            (0.0, 65.54),
            (0.125, 81.92),
            (0.25, 98.3),
            (0.5, 305.83),
            (1.0, 393.22),
        ] {
            assert_eq!(percentile_ms(&counts, share), Some(expected), "{share}");
        }
    }

    #[test]
    fn a_share_above_one_gives_the_begin_of_the_last_step() {
        let mut counts = [0; STEPS];
        counts[0] = 2;
        assert_eq!(percentile_ms(&counts, 1.5), Some(50_331.648));
    }
}
