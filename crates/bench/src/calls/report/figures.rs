//! The figures that have a gate and a goal.

use serde_json::{Value, json};

use super::{Measured, Quartiles, Report};

/// Which way a figure is good.
#[derive(Clone, Copy)]
enum Bound {
    AtLeast,
    AtMost,
}

pub struct Figure {
    metric: &'static str,
    values: Quartiles,
    bound: Bound,
    gate: f64,
    goal: f64,
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
        match (self.holds(self.gate), self.holds(self.goal)) {
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
            "gate": self.gate,
            "goal": self.goal,
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
            self.gate,
            self.goal,
        )
    }
}

/// One value for each round: the cases of a round were measured within seconds of each other.
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

impl Report {
    pub fn figures(&self) -> Vec<Figure> {
        let divide = |one: f64, other: f64| one / other;
        let pair = |one, other| Some((self.case(one)?, self.case(other)?));
        let ratio = |metric, one, other, gate, goal| {
            let (one, other) = pair(one, other)?;
            let values = each_round(one, other, divide, rates);
            Some(at_least(metric, values, gate, goal))
        };
        let cpu = |metric, one, other, gate, goal| {
            let (one, other) = pair(one, other)?;
            let values = each_round(one, other, divide, |case| case.cpu().collect());
            Some(at_most(metric, values, gate, goal, ""))
        };
        let added = |metric, one, other, gate, goal| {
            let (one, other) = pair(one, other)?;
            let values = each_round(one, other, |one, other| one - other, p50s);
            Some(at_most(metric, values, gate, goal, " µs"))
        };
        let system_calls = |metric, case, gate, goal| {
            let values = Quartiles::of([self.case(case)?.system_calls?]);
            Some(at_most(metric, values, gate, goal, ""))
        };
        let all = [
            ratio("64 connections / B", "svc 64", "B 64", 0.60, 0.75),
            ratio("64 connections / C", "svc 64", "C 64", 0.85, 0.95),
            cpu("CPU per call / B", "svc 64", "B 64", 2.5, 1.9),
            added(
                "p50 added at 1 connection, over B",
                "svc 1",
                "B 1",
                45.0,
                25.0,
            ),
            added(
                "p50 added at 1 connection, over C",
                "svc 1",
                "C 1",
                25.0,
                15.0,
            ),
            system_calls("system calls per call, 64 connections", "svc 64", 4.0, 2.6),
            system_calls("system calls per call, 1 connection", "svc 1", 20.0, 16.0),
            ratio("16 KB / 16 KB echo (B)", "svc 16 KB", "B 16 KB", 0.20, 0.35),
            ratio(
                "batch of 100: calls/s / single calls/s",
                "svc batch",
                "svc 64",
                3.0,
                6.0,
            ),
            ratio(
                "100 k methods / 1 k methods",
                "svc 100k methods",
                "svc 64",
                0.90,
                0.97,
            ),
            ratio(
                "`user.` name / bare name",
                "svc user name",
                "svc bare name",
                0.90,
                0.97,
            ),
            self.registration.as_ref().map(|times| {
                let values = Quartiles::of(times.iter().copied());
                at_most(
                    "registering 10 methods at 100 k",
                    values,
                    1_000.0,
                    50.0,
                    " µs",
                )
            }),
            self.links.map(|links| {
                let values = Quartiles::of([links.memory as f64 / 1e6]);
                at_most(
                    "10,000 idle links: server memory",
                    values,
                    250.0,
                    100.0,
                    " MB",
                )
            }),
            self.links.map(|links| {
                let values = Quartiles::of([links.storm.as_secs_f64()]);
                at_most("reconnect storm of 10,000 links", values, 30.0, 5.0, " s")
            }),
        ];
        all.into_iter().flatten().collect()
    }
}

fn at_least(metric: &'static str, values: Quartiles, gate: f64, goal: f64) -> Figure {
    Figure {
        metric,
        values,
        bound: Bound::AtLeast,
        gate,
        goal,
        unit: "",
    }
}

fn at_most(
    metric: &'static str,
    values: Quartiles,
    gate: f64,
    goal: f64,
    unit: &'static str,
) -> Figure {
    Figure {
        metric,
        values,
        bound: Bound::AtMost,
        gate,
        goal,
        unit,
    }
}
