//! The figures that are compared with two limits: the gate is the minimum requirement, the goal is
//! stricter. `svc` is compared with two references: B is a bare HTTP echo, C is HTTP to a stdio
//! program without an agent.

use serde_json::{Value, json};

use super::{Measured, Quartiles, Report};

/// Whether a higher or a lower figure is better.
#[derive(Clone, Copy)]
enum Bound {
    AtLeast,
    AtMost,
}

pub struct Figure {
    metric: &'static str,
    values: Quartiles,
    bound: Bound,
    limits: Limits,
    unit: &'static str,
}

impl Figure {
    fn holds(&self, limit: f64) -> bool {
        match self.bound {
            Bound::AtLeast => self.values.median() >= limit,
            Bound::AtMost => self.values.median() <= limit,
        }
    }

    fn verdict(&self) -> &'static str {
        match (self.holds(self.limits.gate), self.holds(self.limits.goal)) {
            (_, true) => "goal met",
            (true, false) => "gate met",
            (false, false) => "**missed**",
        }
    }

    pub fn json(&self) -> Value {
        json!({
            "metric": self.metric,
            "quartiles": self.values.0,
            "unit": self.unit,
            "gate": self.limits.gate,
            "goal": self.limits.goal,
            "verdict": self.verdict().trim_matches('*'),
        })
    }

    pub fn row(&self) -> String {
        let Quartiles([low, median, high]) = self.values;
        let sign = match self.bound {
            Bound::AtLeast => "≥",
            Bound::AtMost => "≤",
        };
        let (unit, verdict) = (self.unit, self.verdict());
        let number = |value: f64| match value.abs() {
            0.0..10.0 => format!("{value:.2}"),
            10.0..100.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        };
        format!(
            "| {} | {}{unit} | {} – {} | {sign} {} | {sign} {} | {verdict} |\n",
            self.metric,
            number(median),
            number(low),
            number(high),
            self.limits.gate,
            self.limits.goal,
        )
    }
}

/// Compares two cases round by round. In each round, both cases were measured only seconds apart,
/// so the load of the machine was similar.
fn each_round(
    one: &Measured,
    other: &Measured,
    of: impl Fn(f64, f64) -> f64,
    value: impl Fn(&Measured) -> Vec<f64>,
) -> Quartiles {
    let (one, other) = (value(one), value(other));
    Quartiles::of(
        one.into_iter()
            .zip(other)
            .map(|(one, other)| of(one, other)),
    )
}

fn rates(case: &Measured) -> Vec<f64> {
    case.rates().collect()
}

fn p50s(case: &Measured) -> Vec<f64> {
    case.slices.iter().map(|slice| slice.p50).collect()
}

/// The limits of a figure.
struct Limits {
    gate: f64,
    goal: f64,
}

fn limits(gate: f64, goal: f64) -> Limits {
    Limits { gate, goal }
}

impl Report {
    pub fn figures(&self) -> Vec<Figure> {
        let small = self.small_calls().into_iter();
        let all = small.chain(self.other_calls()).chain(self.scale());
        all.flatten().collect()
    }

    /// Calls of a hundred bytes, one in each request.
    fn small_calls(&self) -> [Option<Figure>; 7] {
        let (many, bare, stdio) = ("svc 64", "B 64", "C 64");
        [
            self.ratio("64 connections / B", many, bare, limits(0.60, 0.75)),
            self.ratio("64 connections / C", many, stdio, limits(0.85, 0.95)),
            self.cpu("CPU per call / B", many, bare, limits(2.5, 1.9)),
            self.added(
                "p50 added at 1 connection, over B",
                "B 1",
                limits(45.0, 25.0),
            ),
            self.added(
                "p50 added at 1 connection, over C",
                "C 1",
                limits(25.0, 15.0),
            ),
            self.system_calls(
                "system calls per call, 64 connections",
                many,
                limits(4.0, 2.6),
            ),
            self.system_calls(
                "system calls per call, 1 connection",
                "svc 1",
                limits(20.0, 16.0),
            ),
        ]
    }

    /// Large calls, batches, many methods, and other forms of the method's name, all at 64
    /// connections.
    fn other_calls(&self) -> [Option<Figure>; 4] {
        [
            self.ratio(
                "16 KB / 16 KB echo (B)",
                "svc 16 KB",
                "B 16 KB",
                limits(0.20, 0.35),
            ),
            self.ratio(
                "batch of 100: calls/s / single calls/s",
                "svc batch",
                "svc 64",
                limits(3.0, 6.0),
            ),
            self.ratio(
                "100 k methods / 1 k methods",
                "svc 100k methods",
                "svc 64",
                limits(0.90, 0.97),
            ),
            self.ratio(
                "`user.` name / bare name",
                "svc user name",
                "svc bare name",
                limits(0.90, 0.97),
            ),
        ]
    }

    /// Figures of large installations.
    fn scale(&self) -> [Option<Figure>; 3] {
        let registration = self.registration.as_ref();
        let registration = registration.map(|times| Quartiles::of(times.iter().copied()));
        let most = self.links.last();
        let memory = most.map(|links| links.memory as f64 / 1e6);
        let storm = most.map(|links| links.storm.as_secs_f64());
        let one = |value| Quartiles::of([value]);
        [
            registration.map(|times| {
                let metric = "registering 10 methods at 100 k";
                at_most(metric, times, limits(1_000.0, 50.0), " µs")
            }),
            memory.map(|memory| {
                let metric = "10,000 idle links: server memory";
                at_most(metric, one(memory), limits(250.0, 100.0), " MB")
            }),
            storm.map(|storm| {
                let metric = "reconnect storm of 10,000 links";
                at_most(metric, one(storm), limits(30.0, 5.0), " s")
            }),
        ]
    }

    /// Calls per second of one case, divided by those of another.
    fn ratio(
        &self,
        metric: &'static str,
        one: &str,
        other: &str,
        limits: Limits,
    ) -> Option<Figure> {
        let (one, other) = (self.case(one)?, self.case(other)?);
        let values = each_round(one, other, |one, other| one / other, rates);
        Some(Figure {
            metric,
            values,
            bound: Bound::AtLeast,
            limits,
            unit: "",
        })
    }

    /// CPU time per call of one case, divided by that of another.
    fn cpu(&self, metric: &'static str, one: &str, other: &str, limits: Limits) -> Option<Figure> {
        let (one, other) = (self.case(one)?, self.case(other)?);
        let cpu = |case: &Measured| case.cpu().collect();
        let values = each_round(one, other, |one, other| one / other, cpu);
        Some(at_most(metric, values, limits, ""))
    }

    /// Latency of `svc` at one connection, minus that of another case.
    fn added(&self, metric: &'static str, other: &str, limits: Limits) -> Option<Figure> {
        let (one, other) = (self.case("svc 1")?, self.case(other)?);
        let values = each_round(one, other, |one, other| one - other, p50s);
        Some(at_most(metric, values, limits, " µs"))
    }

    fn system_calls(&self, metric: &'static str, case: &str, limits: Limits) -> Option<Figure> {
        let values = Quartiles::of([self.case(case)?.system_calls?]);
        Some(at_most(metric, values, limits, ""))
    }
}

fn at_most(metric: &'static str, values: Quartiles, limits: Limits, unit: &'static str) -> Figure {
    Figure {
        metric,
        values,
        bound: Bound::AtMost,
        limits,
        unit,
    }
}
