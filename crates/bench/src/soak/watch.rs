//! Watches processes and the database: samples every few seconds, a line each minute, and the
//! verdict at the end.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use svc_testkit::{descendants_of, resident_bytes};

use super::trend::{Allowance, Sample, find_trend};
use crate::calls::processes::cpu_times;

pub const SAMPLE_EVERY: Duration = Duration::from_secs(5);
const MIB: f64 = 1_048_576.0;

/// The bytes that one audited operation may add to the database: its audit entry, which is kept for
/// a year, the index entries of this audit entry, and the row of a deleted space.
const AUDITED_BYTES: f64 = 2_000.0;

/// The allocator takes memory in pages of up to 4 MiB and returns them late, so a growth of 2 MiB
/// from one part of a run to the next is no leak. In a long run, a growth of more than 1 MiB an
/// hour is a leak: a server that runs for a year would gain 8 GiB.
const MEMORY: Allowance = Allowance {
    steps: 2.0 * MIB,
    per_hour: MIB,
};
/// Allows for a few connections that happen to be open when the sample is taken.
const DESCRIPTORS: Allowance = Allowance {
    steps: 4.0,
    per_hour: 1.0,
};
const THREADS: Allowance = Allowance {
    steps: 2.0,
    per_hour: 0.5,
};
/// Settings limit the stored events, calls and deliveries, so only the audit log grows, and
/// [`Watch::sample`] subtracts it. The number of free pages in the file varies.
const DATABASE: Allowance = Allowance {
    steps: MIB,
    per_hour: MIB,
};

struct Metric {
    name: String,
    unit: f64,
    allowance: Allowance,
    samples: Vec<Sample>,
}

impl Metric {
    fn new(name: String, unit: f64, allowance: Allowance) -> Self {
        Self {
            name,
            unit,
            allowance,
            samples: Vec::new(),
        }
    }

    fn newest(&self) -> f64 {
        self.samples
            .last()
            .map_or(0.0, |(_, value)| value / self.unit)
    }
}

pub struct Watch {
    began: Instant,
    processes: Vec<(&'static str, u32)>,
    data: PathBuf,
    /// Memory, descriptors and threads of each process, then the number of descendants of the
    /// server process, then the size of the database.
    metrics: Vec<Metric>,
    /// When the last line was made, and the CPU time that all processes had used until then.
    cpu: (Instant, Duration),
}

impl Watch {
    pub fn new(processes: &[(&'static str, u32)], data: PathBuf) -> Self {
        let mut metrics = Vec::new();
        for (name, _) in processes {
            metrics.push(Metric::new(format!("{name}: memory, MiB"), MIB, MEMORY));
            metrics.push(Metric::new(
                format!("{name}: descriptors"),
                1.0,
                DESCRIPTORS,
            ));
            metrics.push(Metric::new(format!("{name}: threads"), 1.0, THREADS));
        }
        metrics.push(Metric::new(
            "processes below the server".to_owned(),
            1.0,
            THREADS,
        ));
        metrics.push(Metric::new(
            "database without audit log, MiB".to_owned(),
            MIB,
            DATABASE,
        ));
        Self {
            began: Instant::now(),
            processes: processes.to_vec(),
            data,
            metrics,
            cpu: (Instant::now(), Duration::ZERO),
        }
    }

    /// Takes a sample. `audited` is the number of audited operations so far.
    pub fn sample(&mut self, audited: u64) {
        let mut values = Vec::new();
        for (_, id) in &self.processes {
            values.push(resident_bytes(*id) as f64);
            values.push(count(&format!("/proc/{id}/fd")));
            values.push(count(&format!("/proc/{id}/task")));
        }
        values.push(descendants_of(self.processes[0].1).len() as f64);
        let size = |name: &str| fs::metadata(self.data.join(name)).map_or(0, |file| file.len());
        // The write-ahead log is not counted. SQLite moves its data to the database file when the
        // log has about 4 MiB.
        let database = size("svc.db") as f64;
        values.push(database - audited as f64 * AUDITED_BYTES);
        let at = self.began.elapsed().as_secs_f64();
        for (metric, value) in self.metrics.iter_mut().zip(values) {
            metric.samples.push((at, value));
        }
    }

    /// One line about the newest sample.
    pub fn line(&mut self) -> String {
        let ids: Vec<u32> = self.processes.iter().map(|(_, id)| *id).collect();
        let used = cpu_times(&ids).unwrap_or_default().into_iter().sum();
        let now = Instant::now();
        let (since, before) = std::mem::replace(&mut self.cpu, (now, used));
        let share = used.saturating_sub(before).as_secs_f64()
            / now.duration_since(since).as_secs_f64().max(0.001);
        let minutes = self.began.elapsed().as_secs() / 60;
        let values = self.metrics.iter().map(|metric| {
            let short = metric.name.replace(", MiB", "").replace(": ", " ");
            format!("{short} {:.1}", metric.newest())
        });
        let values: Vec<String> = values.collect();
        format!(
            "{minutes:>4} min  cpu {:.0} %  {}",
            share * 100.0,
            values.join("  ")
        )
    }

    /// Prints the table of trends. Returns the names of the values that grow.
    pub fn report(&self) -> Vec<String> {
        println!(
            "\n{:<28} {:>10} {:>10} {:>12}",
            "after the warm-up", "first", "last", "per hour"
        );
        let mut growing = Vec::new();
        for metric in &self.metrics {
            let Some(trend) = find_trend(&metric.samples, metric.allowance) else {
                println!("{:<28} too few samples to decide", metric.name);
                continue;
            };
            let shown = |value: f64| value / metric.unit;
            println!(
                "{:<28} {:>10.1} {:>10.1} {:>+12.2}{}",
                metric.name,
                shown(trend.first),
                shown(trend.last),
                shown(trend.per_hour),
                if trend.grows { "  GROWS" } else { "" }
            );
            if trend.grows {
                growing.push(metric.name.clone());
            }
        }
        growing
    }
}

/// The number of entries of a folder; 0 if it is gone.
fn count(folder: &str) -> f64 {
    fs::read_dir(folder).map_or(0, Iterator::count) as f64
}
