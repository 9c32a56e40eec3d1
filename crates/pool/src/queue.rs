//! The queue of a [`FairPool`](super::FairPool): one queue per user, and users take turns.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use svc_core::fair::{FairSlots, Share};

use super::PoolOptions;

pub(super) type Job = Box<dyn FnOnce() + Send>;

pub(super) struct Queue<U> {
    /// The slots of running jobs, one per thread, and the users that wait for a slot.
    slots: FairSlots<U>,
    jobs: HashMap<U, VecDeque<Job>>,
    /// The number of waiting jobs of all users.
    waiting: usize,
    /// The number of existing threads.
    pub(super) threads: usize,
    /// The number of threads that wait for a job.
    pub(super) idle: usize,
    pub(super) is_closed: bool,
}

impl<U: Copy + Eq + Hash> Queue<U> {
    pub(super) fn new(options: &PoolOptions) -> Self {
        let share = Share::at_most(options.running_per_user.max(1));
        Self {
            slots: FairSlots::new(options.threads.max(1), share),
            jobs: HashMap::new(),
            waiting: 0,
            threads: 0,
            idle: 0,
            is_closed: false,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many jobs of the user wait or run.
    pub(super) fn jobs_of(&self, user: U) -> usize {
        self.waiting_of(user) + self.slots.held(&user)
    }

    fn waiting_of(&self, user: U) -> usize {
        self.jobs.get(&user).map_or(0, VecDeque::len)
    }

    pub(super) fn push(&mut self, user: U, job: Job) {
        self.jobs.entry(user).or_default().push_back(job);
        self.waiting += 1;
        self.slots.wait(user);
    }

    /// Takes the next job of the first waiting user who may run another one.
    pub(super) fn next(&mut self) -> Option<(U, Job)> {
        let user = self.slots.take_next()?;
        let jobs = self.jobs.get_mut(&user)?;
        let job = jobs.pop_front()?;
        self.waiting -= 1;
        if jobs.is_empty() {
            self.jobs.remove(&user);
        } else {
            self.slots.wait(user);
        }
        Some((user, job))
    }

    pub(super) fn finished(&mut self, user: U) {
        self.slots.release(&user);
    }

    /// Makes room for a job of `user`: removes the newest waiting job of the user who has the most
    /// waiting jobs. Returns `None` if no user has at least two waiting jobs more than `user`.
    pub(super) fn evict_for(&mut self, user: U) -> Option<Job> {
        let own = self.waiting_of(user);
        let longest = self.jobs.values_mut().max_by_key(|jobs| jobs.len())?;
        if longest.len() <= own + 1 {
            return None;
        }
        self.waiting -= 1;
        longest.pop_back()
    }

    /// Removes all waiting jobs. Running jobs are not affected.
    pub(super) fn take_all(&mut self) -> Vec<Job> {
        self.waiting = 0;
        let jobs = std::mem::take(&mut self.jobs);
        jobs.into_values().flatten().collect()
    }
}
