//! The control experiment of the measurement: in place of an attacker, processes keep a given
//! number of cores busy and do nothing else.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context;

/// A process repeats slices of this length: it is busy for its share of a slice, then idle.
const SLICE: Duration = Duration::from_millis(10);

pub struct Burner(Vec<Child>);

impl Burner {
    /// Keeps this many cores busy, with one process for each core or part of a core.
    pub fn start(cores: f64) -> anyhow::Result<Self> {
        let mut children = Vec::new();
        let mut left = cores;
        while left > 0.005 {
            let share = left.min(1.0);
            let child = Command::new(std::env::current_exe()?)
                .args(["burn", &share.to_string()])
                .stdin(Stdio::piped())
                .spawn()
                .context("the control did not start")?;
            children.push(child);
            left -= share;
        }
        Ok(Self(children))
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        for mut child in self.0 {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }
}

/// `svc-bench burn SHARE`: uses this share of a core until stdin ends.
pub fn burn(share: &str) -> anyhow::Result<()> {
    let share: f64 = share.parse().context("a share of a core")?;
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = std::io::stdout().flush();
        std::process::exit(0)
    });
    let busy = SLICE.mul_f64(share.clamp(0.0, 1.0));
    loop {
        let begun = Instant::now();
        while begun.elapsed() < busy {
            std::hint::spin_loop();
        }
        std::thread::sleep(SLICE.saturating_sub(begun.elapsed()));
    }
}
