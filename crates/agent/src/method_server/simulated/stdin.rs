//! A pipe in memory that behaves like a pipe of the kernel, as far as the writer of stdin can see.

use std::{collections::VecDeque, future::poll_fn, io, sync::Arc, task::Poll, task::Waker};

use parking_lot::Mutex;
use rustix::io::Errno;

/// The kernel writes up to this many bytes at once or not at all.
const PAGE_BYTES: usize = 4 * 1024;
const DEFAULT_BYTES: usize = 64 * 1024;

struct State {
    bytes: VecDeque<u8>,
    size: usize,
    /// Whether the size can be changed. On some systems it cannot.
    is_resizable: bool,
    has_reader: bool,
    has_writer: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl State {
    /// Whether a whole page is free. A pipe of one page is then empty.
    fn is_writable(&self) -> bool {
        self.bytes.len() + PAGE_BYTES <= self.size
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

/// The end of the agent.
pub struct SimulatedStdin(Arc<Mutex<State>>);

/// The end of the program.
pub struct StdinReader {
    pipe: Arc<Mutex<State>>,
    line: Vec<u8>,
}

pub fn pipe(is_resizable: bool) -> (SimulatedStdin, StdinReader) {
    let state = Arc::new(Mutex::new(State {
        bytes: VecDeque::new(),
        size: DEFAULT_BYTES,
        is_resizable,
        has_reader: true,
        has_writer: true,
        reader: None,
        writer: None,
    }));
    let reader = StdinReader {
        pipe: Arc::clone(&state),
        line: Vec::new(),
    };
    (SimulatedStdin(state), reader)
}

impl SimulatedStdin {
    pub fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let mut state = self.0.lock();
        if !state.has_reader {
            return Err(Errno::PIPE);
        }
        let free = state.size - state.bytes.len();
        if free == 0 || (bytes.len() <= PAGE_BYTES && bytes.len() > free) {
            return Err(Errno::AGAIN);
        }
        let count = bytes.len().min(free);
        state.bytes.extend(&bytes[..count]);
        state.wake_reader();
        Ok(count)
    }

    pub fn set_size(&self, bytes: usize) -> io::Result<()> {
        let mut state = self.0.lock();
        if !state.is_resizable {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if bytes < state.bytes.len() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        state.size = bytes;
        Ok(())
    }

    pub fn unread_bytes(&self) -> u64 {
        self.0.lock().bytes.len() as u64
    }

    pub fn check_reader(&self) -> io::Result<()> {
        match self.0.lock().has_reader {
            true => Ok(()),
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub async fn writable(&self) -> io::Result<()> {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if !state.has_reader {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            if state.is_writable() {
                return Poll::Ready(Ok(()));
            }
            state.writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Drop for SimulatedStdin {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.has_writer = false;
        state.wake_reader();
    }
}

impl StdinReader {
    /// The next line; `None` at the end.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.line) {
                let rest = self.line.split_off(at + 1);
                let mut line = std::mem::replace(&mut self.line, rest);
                line.pop();
                return Some(String::from_utf8(line).expect("the agent writes UTF-8"));
            }
            if !self.read().await {
                return None;
            }
        }
    }

    /// Reads up to a page. Returns `false` at the end.
    async fn read(&mut self) -> bool {
        poll_fn(|context| {
            let mut state = self.pipe.lock();
            let count = state.bytes.len().min(PAGE_BYTES);
            if count > 0 {
                self.line.extend(state.bytes.drain(..count));
                state.wake_writer();
                return Poll::Ready(true);
            }
            if !state.has_writer {
                return Poll::Ready(false);
            }
            state.reader = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Drop for StdinReader {
    fn drop(&mut self) {
        let mut state = self.pipe.lock();
        state.has_reader = false;
        state.wake_writer();
    }
}
