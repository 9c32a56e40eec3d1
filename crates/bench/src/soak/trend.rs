//! Decides whether a measured value grows without end.
//!
//! The first third of a run is warm-up: caches and pools fill. The rest is divided into three parts
//! of equal length. A value that grows without end has a higher minimum, a higher median and a
//! higher maximum in each part than in the part before. After a single step, in a saw-tooth and in
//! noise, at least one of these values does not rise. Growth that slows down does not count: it is
//! probably a cache that fills.

/// A measured value: seconds since the start, and the value.
pub type Sample = (f64, f64);

/// How much a value may grow from one part of the run to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// The allowed growth, however short the run is. Even without a leak, a process sometimes gains
    /// a page of the allocator or an idle connection.
    pub steps: f64,
    /// The additional allowed growth for each hour of a part. Long runs find slow leaks, short runs
    /// only fast ones.
    pub per_hour: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Medians of the first and the last part.
    pub first: f64,
    pub last: f64,
    /// The slope between these medians.
    pub per_hour: f64,
    /// Whether the value grows beyond the allowance and beyond its own noise.
    pub grows: bool,
}

/// `None` if there are too few samples to decide.
pub fn find_trend(samples: &[Sample], allowance: Allowance) -> Option<Trend> {
    let steady = &samples[samples.len() / 3..];
    let length = steady.len() / 3;
    if length < SAMPLES_MIN {
        return None;
    }
    let parts: Vec<Part> = steady.chunks_exact(length).take(3).map(Part::of).collect();
    let [first, middle, last] = parts[..] else {
        return None;
    };
    let hours = (last.time - first.time) / 3_600.0;
    let noise = parts.iter().map(|part| part.noise).fold(0.0, f64::max);
    let allowed = (allowance.steps + allowance.per_hour * hours / 2.0).max(noise);
    let rises = |from: Part, to: Part| {
        let rise = (to.min - from.min)
            .min(to.median - from.median)
            .min(to.max - from.max);
        rise > allowed
    };
    Some(Trend {
        first: first.median,
        last: last.median,
        per_hour: (last.median - first.median) / hours.max(f64::MIN_POSITIVE),
        grows: rises(first, middle)
            && rises(middle, last)
            && last.median - middle.median > STEADY * (middle.median - first.median),
    })
}

/// If the rise from the second to the third part is not larger than this share of the rise from the
/// first to the second part, the growth is about to end.
const STEADY: f64 = 0.6;
/// The minimum number of samples in a part.
const SAMPLES_MIN: usize = 6;

#[derive(Clone, Copy)]
struct Part {
    /// The middle of the part, in seconds.
    time: f64,
    min: f64,
    median: f64,
    max: f64,
    /// The median distance from the median.
    noise: f64,
}

impl Part {
    fn of(samples: &[Sample]) -> Self {
        let values = samples.iter().map(|(_, value)| *value);
        let middle = median(values.clone().collect());
        Self {
            time: median(samples.iter().map(|(time, _)| *time).collect()),
            min: values.clone().fold(f64::INFINITY, f64::min),
            max: values.clone().fold(f64::NEG_INFINITY, f64::max),
            median: middle,
            noise: median(values.map(|value| (value - middle).abs()).collect()),
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWANCE: Allowance = Allowance {
        steps: 1.0,
        per_hour: 1.0,
    };

    /// A sample every five seconds.
    fn samples(minutes: u32, value: impl Fn(f64) -> f64) -> Vec<Sample> {
        let count = minutes * 12;
        let at = |n: u32| f64::from(n) * 5.0;
        (0..count).map(|n| (at(n), value(at(n) / 60.0))).collect()
    }

    /// Between -1 and 1, without a pattern.
    fn noise(minute: f64) -> f64 {
        let n = (minute * 7_919.0).sin() * 43_758.545;
        2.0 * (n - n.floor()) - 1.0
    }

    fn check(what: &str, minutes: u32, expected: bool, value: impl Fn(f64) -> f64) {
        let trend = find_trend(&samples(minutes, value), ALLOWANCE);
        let trend = trend.unwrap_or_else(|| panic!("{what}: too few samples"));
        assert_eq!(trend.grows, expected, "{what}: {trend:?}");
    }

    #[test]
    fn noise_steps_and_saw_teeth_pass() {
        for minutes in [10, 60, 600] {
            check("flat", minutes, false, |_| 80.0);
            check("flat with noise", minutes, false, |at| {
                80.0 + 5.0 * noise(at)
            });
            check("a step at the start", minutes, false, |at| {
                if at < 2.0 { 40.0 } else { 90.0 }
            });
            let middle = f64::from(minutes) * 0.6;
            check("a step in the middle", minutes, false, |at| {
                if at < middle { 40.0 } else { 90.0 }
            });
            // In a run that is shorter than three teeth, a saw-tooth looks like growth.
            let periods = [0.7, 3.0, 11.0].into_iter();
            for period in periods.filter(|period| period * 3.0 < f64::from(minutes)) {
                check("a saw-tooth", minutes, false, |at| {
                    60.0 + 30.0 * (at / period).fract() + noise(at)
                });
            }
            check("a value that shrinks", minutes, false, |at| 900.0 - at);
            check("growth that ends", minutes, false, |at| {
                90.0 - 50.0 / (1.0 + at) + 0.2 * noise(at)
            });
        }
    }

    #[test]
    fn leaks_fail() {
        for minutes in [10, 60, 600] {
            check("1 % a minute", minutes, true, |at| 80.0 + 0.8 * at);
            check("1 % a minute with noise", minutes, true, |at| {
                80.0 + 0.8 * at + 0.5 * noise(at)
            });
        }
        check("a slow leak in a long run", 600, true, |at| {
            80.0 + 3.0 * at / 60.0 + noise(at)
        });
        check("a leak below a saw-tooth", 600, true, |at| {
            80.0 + 0.2 * at + 10.0 * (at / 3.0).fract()
        });
    }

    #[test]
    fn slow_growth_within_the_allowance_passes() {
        check("0.5 an hour", 600, false, |at| 80.0 + 0.5 * at / 60.0);
    }

    #[test]
    fn few_samples_decide_nothing() {
        assert_eq!(find_trend(&[], ALLOWANCE), None);
        assert_eq!(find_trend(&samples(2, |at| at), ALLOWANCE), None);
    }
}
