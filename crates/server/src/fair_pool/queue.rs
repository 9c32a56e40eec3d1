//! The queue of a [`FairPool`](super::FairPool): one queue per user, and users take turns.

use std::collections::{HashMap, VecDeque};

use svc_core::UserId;

pub(super) type Job = Box<dyn FnOnce() + Send>;

pub(super) struct Queue {
    lines: HashMap<UserId, Line>,
    /// Users with waiting jobs; the next user first.
    order: VecDeque<UserId>,
    waiting: usize,
    running_per_user: usize,
    /// Existing threads.
    pub(super) threads: usize,
    /// Threads that wait for a job.
    pub(super) idle: usize,
    pub(super) is_closed: bool,
}

/// The jobs of one user.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Job>,
    running: usize,
}

impl Queue {
    pub(super) fn new(running_per_user: usize) -> Self {
        Self {
            lines: HashMap::new(),
            order: VecDeque::new(),
            waiting: 0,
            running_per_user,
            threads: 0,
            idle: 0,
            is_closed: false,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Jobs of a user that wait or run.
    pub(super) fn jobs_of(&self, user: UserId) -> usize {
        let line = self.lines.get(&user);
        line.map_or(0, |line| line.waiting.len() + line.running)
    }

    pub(super) fn push(&mut self, user: UserId, job: Job) {
        let line = self.lines.entry(user).or_default();
        if line.waiting.is_empty() {
            self.order.push_back(user);
        }
        line.waiting.push_back(job);
        self.waiting += 1;
    }

    /// Takes the next job: of the first user in turn who may run one more.
    pub(super) fn next(&mut self) -> Option<(UserId, Job)> {
        let max = self.running_per_user;
        let may_run = |user: &UserId| self.lines.get(user).is_some_and(|line| line.running < max);
        let at = self.order.iter().position(may_run)?;
        let user = self.order.remove(at)?;
        let line = self.lines.get_mut(&user)?;
        let job = line.waiting.pop_front()?;
        line.running += 1;
        self.waiting -= 1;
        if !line.waiting.is_empty() {
            self.order.push_back(user);
        }
        Some((user, job))
    }

    pub(super) fn finished(&mut self, user: UserId) {
        let Some(line) = self.lines.get_mut(&user) else {
            return;
        };
        line.running -= 1;
        if line.running == 0 && line.waiting.is_empty() {
            self.lines.remove(&user);
        }
    }

    /// Removes all waiting jobs. Running jobs are not affected.
    pub(super) fn take_all(&mut self) -> Vec<Job> {
        self.order.clear();
        self.waiting = 0;
        let lines = self.lines.values_mut();
        lines.flat_map(|line| line.waiting.drain(..)).collect()
    }
}
