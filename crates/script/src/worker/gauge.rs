//! Measures the process's memory while a script runs, so that the script can be stopped with an
//! exception that names the line.
//!
//! The engine has two counters: the memory at the start of the script, and the memory now. This
//! module updates them. The engine and `evaluator::watch` compare their difference with the limit.
//! The counters are global to the process, so a worker runs one script at a time. The limit that
//! `confine` sets on the address space is the second barrier.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use monty_types::{BASELINE_MEMORY, LIVE_MEMORY};

/// Time between two measurements. A script can allocate some megabytes in this time.
const INTERVAL: Duration = Duration::from_millis(1);
/// A line with sizes of the process in pages. The first is the address space, the second the
/// resident memory. The others are not used.
const STATM: &str = "/proc/self/statm";

/// Memory of this process as counted by the operating system, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) address_space: usize,
    pub(super) resident: usize,
}

/// The file that the usage is read from, opened before the worker loses access to files.
#[derive(Debug)]
struct Meter {
    file: File,
    page_bytes: usize,
}

impl Meter {
    fn open() -> io::Result<Self> {
        Ok(Self {
            file: File::open(STATM)?,
            page_bytes: rustix::param::page_size(),
        })
    }

    fn read(&self) -> io::Result<Usage> {
        let mut text = [0; 128];
        let length = self.file.read_at(&mut text, 0)?;
        let mut pages = text[..length]
            .split(u8::is_ascii_whitespace)
            .map_while(|number| str::from_utf8(number).ok()?.parse::<usize>().ok());
        let mut next = || pages.next().map(|pages| pages * self.page_bytes);
        match (next(), next()) {
            (Some(address_space), Some(resident)) => Ok(Usage {
                address_space,
                resident,
            }),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Owns the measuring thread, which sleeps unless a script runs.
#[derive(Debug)]
pub(super) struct Gauge {
    meter: Arc<Meter>,
    running: Arc<AtomicBool>,
    sampler: JoinHandle<()>,
}

impl Gauge {
    pub(super) fn start() -> io::Result<Self> {
        let meter = Arc::new(Meter::open()?);
        let running = Arc::new(AtomicBool::new(false));
        let sampler = {
            let (meter, running) = (meter.clone(), running.clone());
            thread::Builder::new()
                .name("gauge".to_owned())
                .stack_size(128 * 1024)
                .spawn(move || sample(&meter, &running))?
        };
        Ok(Self {
            meter,
            running,
            sampler,
        })
    }

    pub(super) fn usage(&self) -> io::Result<Usage> {
        self.meter.read()
    }

    /// Updates the counters while `work` runs. Memory that was in use before does not count
    /// against the limit.
    pub(super) fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.usage().map_or(0, |usage| usage.resident);
        BASELINE_MEMORY.store(before, Ordering::Relaxed);
        LIVE_MEMORY.store(before, Ordering::Relaxed);
        self.running.store(true, Ordering::Release);
        self.sampler.thread().unpark();
        let done = work();
        self.running.store(false, Ordering::Release);
        done
    }
}

fn sample(meter: &Meter, running: &AtomicBool) {
    loop {
        while !running.load(Ordering::Acquire) {
            thread::park();
        }
        thread::sleep(INTERVAL);
        if let Ok(usage) = meter.read() {
            LIVE_MEMORY.store(usage.resident, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gauge_measures_memory_in_use() {
        let meter = Meter::open().expect("a /proc");
        let before = meter.read().expect("read");
        let block = vec![1_u8; 32 * 1024 * 1024];
        let after = meter.read().expect("read");
        assert!(
            after.resident > before.resident + block.len() / 2,
            "{before:?} {after:?}"
        );
        assert!(after.address_space >= after.resident);
    }
}
