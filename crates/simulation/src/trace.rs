//! Records what happens in one run of a simulation.

use parking_lot::Mutex;
use tokio::time::Instant;

pub struct Trace {
    began: Instant,
    lines: Mutex<Vec<String>>,
    broken: Mutex<Vec<String>>,
}

impl Trace {
    /// A trace that begins now, in simulated time.
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            lines: Mutex::default(),
            broken: Mutex::default(),
        }
    }

    pub fn note(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.lines.lock().push(format!("{seconds:>9.3} {text}"));
    }

    pub fn break_promise(&self, text: String) {
        self.note(&format!("BROKEN: {text}"));
        self.broken.lock().push(text);
    }

    pub fn is_broken(&self) -> bool {
        !self.broken.lock().is_empty()
    }

    /// All lines, and the broken promises.
    pub fn take(&self) -> (Vec<String>, Vec<String>) {
        let lines = std::mem::take(&mut *self.lines.lock());
        (lines, std::mem::take(&mut *self.broken.lock()))
    }
}
