//! The queue of a [`FairPool`](super::FairPool): one queue per user, and users take turns.

use std::collections::{HashMap, VecDeque};

use svc_core::UserId;

pub(super) type Job = Box<dyn FnOnce() + Send>;

pub(super) struct Queue {
    users: HashMap<UserId, UserQueue>,
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
struct UserQueue {
    waiting: VecDeque<Job>,
    running: usize,
}

impl Queue {
    pub(super) fn new(running_per_user: usize) -> Self {
        Self {
            users: HashMap::new(),
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
        let queue = self.users.get(&user);
        queue.map_or(0, |queue| queue.waiting.len() + queue.running)
    }

    pub(super) fn push(&mut self, user: UserId, job: Job) {
        let queue = self.users.entry(user).or_default();
        if queue.waiting.is_empty() {
            self.order.push_back(user);
        }
        queue.waiting.push_back(job);
        self.waiting += 1;
    }

    /// Takes the next job of the first user in `order` who has fewer than `running_per_user`
    /// running jobs.
    pub(super) fn next(&mut self) -> Option<(UserId, Job)> {
        let max = self.running_per_user;
        let may_run = |user: &UserId| {
            self.users
                .get(user)
                .is_some_and(|queue| queue.running < max)
        };
        let at = self.order.iter().position(may_run)?;
        let user = self.order.remove(at)?;
        let queue = self.users.get_mut(&user)?;
        let job = queue.waiting.pop_front()?;
        queue.running += 1;
        self.waiting -= 1;
        if !queue.waiting.is_empty() {
            self.order.push_back(user);
        }
        Some((user, job))
    }

    pub(super) fn finished(&mut self, user: UserId) {
        let Some(queue) = self.users.get_mut(&user) else {
            return;
        };
        queue.running -= 1;
        if queue.running == 0 && queue.waiting.is_empty() {
            self.users.remove(&user);
        }
    }

    /// Removes all waiting jobs. Running jobs are not affected.
    pub(super) fn take_all(&mut self) -> Vec<Job> {
        self.order.clear();
        self.waiting = 0;
        let users = self.users.values_mut();
        users.flat_map(|queue| queue.waiting.drain(..)).collect()
    }
}
