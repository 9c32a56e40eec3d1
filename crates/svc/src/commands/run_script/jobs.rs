//! The queue between the reader of requests and the seats, which run one job at a time each. The
//! queue is limited in bytes and in jobs.
//!
//! The queue is short on purpose. The agent orders the jobs so that users alternate, and cannot
//! reorder jobs that are already in this queue.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::oneshot;

/// An unchanged request and the time of its arrival.
#[derive(Debug)]
pub struct Job {
    pub method: String,
    /// JSON text; `None` for a request without params.
    pub params: Option<String>,
    /// JSON text; `None` for a notification.
    pub id: Option<String>,
    /// The trace context in `_meta`, as the text of `TraceContext`.
    pub trace: Option<String>,
    pub arrived: Instant,
}

/// Memory of a job without its texts: its entry in the queue, and about 64 bytes that the allocator
/// needs for the texts. Without this number, jobs with empty texts would count as no memory.
const JOB_BYTES: usize = size_of::<Job>() + 64;

impl Job {
    fn bytes(&self) -> usize {
        let others = [&self.params, &self.id, &self.trace].into_iter().flatten();
        JOB_BYTES + self.method.len() + others.map(String::len).sum::<usize>()
    }
}

pub struct Jobs {
    state: Mutex<State>,
    /// Signalled when a job leaves the queue, and when the queue is closed.
    room: Condvar,
    bytes_max: usize,
    jobs_max: usize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    bytes: usize,
    /// Seats without work. The seat that became idle last gets the next job: its process is warm,
    /// and a seat that is never needed starts no process.
    idle: Vec<oneshot::Sender<Job>>,
    closed: bool,
}

impl Jobs {
    pub fn new(bytes_max: usize, jobs_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            room: Condvar::new(),
            bytes_max,
            jobs_max,
        }
    }

    /// Queues a job, and blocks while the queue is full: never call it on the runtime's thread.
    /// `false` if the queue is closed.
    pub fn put(&self, mut job: Job) -> bool {
        let bytes = job.bytes();
        let mut state = self.lock();
        loop {
            if state.closed {
                return false;
            }
            // A job that is larger than the whole queue waits until the queue is empty.
            let fits = state.bytes + bytes <= self.bytes_max && state.queue.len() < self.jobs_max;
            if state.queue.is_empty() || fits {
                break;
            }
            let waited = self.room.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        while let Some(seat) = state.idle.pop() {
            match seat.send(job) {
                Ok(()) => return true,
                // The seat no longer waits.
                Err(back) => job = back,
            }
        }
        state.bytes += bytes;
        state.queue.push_back(job);
        true
    }

    /// Waits for the next job; `None` once the queue is closed and empty.
    pub async fn next(&self) -> Option<Job> {
        let waiting = {
            let mut state = self.lock();
            if let Some(job) = state.queue.pop_front() {
                state.bytes -= job.bytes();
                self.room.notify_all();
                return Some(job);
            }
            if state.closed {
                return None;
            }
            let (sender, receiver) = oneshot::channel();
            state.idle.push(sender);
            receiver
        };
        waiting.await.ok()
    }

    /// Accepts no more jobs; queued jobs are still handed out.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.idle.clear();
        self.room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    fn job(method: &str) -> Job {
        Job {
            method: method.to_owned(),
            params: None,
            id: None,
            trace: None,
            arrived: Instant::now(),
        }
    }

    #[tokio::test]
    async fn jobs_are_handed_out_in_order_until_the_closed_queue_is_empty() {
        let jobs = Jobs::new(1_000, 100);
        assert!(jobs.put(job("a")) && jobs.put(job("b")));
        jobs.close();
        assert!(!jobs.put(job("c")));
        assert_eq!(jobs.next().await.expect("waits").method, "a");
        assert_eq!(jobs.next().await.expect("waits").method, "b");
        assert!(jobs.next().await.is_none());
    }

    #[tokio::test]
    async fn the_seat_that_became_idle_last_gets_the_next_job() {
        let jobs = Jobs::new(1_000, 100);
        let mut first = Box::pin(jobs.next());
        let mut second = Box::pin(jobs.next());
        tokio::select! {
            biased;
            _ = &mut first => panic!("there is no job"),
            _ = &mut second => panic!("there is no job"),
            () = std::future::ready(()) => {}
        }
        assert!(jobs.put(job("a")) && jobs.put(job("b")));
        assert_eq!(second.await.expect("given").method, "a");
        assert_eq!(first.await.expect("given").method, "b");
        let waiting = jobs.next();
        jobs.close();
        assert!(waiting.await.is_none());
    }

    #[tokio::test]
    async fn jobs_without_texts_fill_the_queue_too() {
        check_full(Jobs::new(10 * JOB_BYTES, 100));
    }

    #[tokio::test]
    async fn the_queue_holds_at_most_jobs_max_jobs() {
        check_full(Jobs::new(1_000_000, 10));
    }

    /// Checks that the reader waits once ten jobs without texts are queued.
    fn check_full(jobs: Jobs) {
        let jobs = Arc::new(jobs);
        let reader = {
            let jobs = Arc::clone(&jobs);
            thread::spawn(move || while jobs.put(job("")) {})
        };
        let queued = || jobs.lock().queue.len();
        while queued() < 10 {
            thread::yield_now();
        }
        thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(queued(), 10, "the reader waits");
        jobs.close();
        reader.join().expect("ends");
    }

    #[tokio::test]
    async fn a_full_queue_blocks_the_reader() {
        let jobs = Arc::new(Jobs::new(4, 100));
        assert!(jobs.put(job("1234")));
        let reader = {
            let jobs = Arc::clone(&jobs);
            thread::spawn(move || jobs.put(job("56")) && jobs.put(job("a longer one")))
        };
        for expected in ["1234", "56", "a longer one"] {
            assert_eq!(jobs.next().await.expect("comes").method, expected);
        }
        assert!(reader.join().expect("ends"));
    }
}
