//! Spans that wait for their export. When the queue fills up, it drops new spans.

use std::collections::VecDeque;

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::Notify;

use super::span::Span;
use crate::random_key::RandomKeyMap;

pub(super) struct SpanQueue {
    capacity: usize,
    waiting: Mutex<Waiting>,
    /// Notified when [`Self::many_spans`] spans wait.
    many: Notify,
}

#[derive(Default)]
struct Waiting {
    spans: VecDeque<(UserId, Span)>,
    /// Only users with waiting spans.
    by_user: RandomKeyMap<UserId, usize>,
}

impl SpanQueue {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            waiting: Mutex::default(),
            many: Notify::new(),
        }
    }

    /// Adds spans of work for a user, and returns the number of spans that were dropped. A span is
    /// dropped if the user has at least as many spans in the queue as the queue has free entries.
    /// So a single user gets at most half of the queue.
    pub(super) fn push(&self, user: UserId, spans: impl IntoIterator<Item = Span>) -> u64 {
        let mut dropped = 0;
        let mut waiting = self.waiting.lock();
        let before = waiting.spans.len();
        let mut of_user = waiting.by_user.get(&user).copied().unwrap_or_default();
        for span in spans {
            if of_user < self.capacity.saturating_sub(waiting.spans.len()) {
                of_user += 1;
                waiting.spans.push_back((user, span));
            } else {
                dropped += 1;
            }
        }
        if of_user > 0 {
            waiting.by_user.insert(user, of_user);
        }
        let after = waiting.spans.len();
        drop(waiting);
        if before < self.many_spans() && after >= self.many_spans() {
            self.many.notify_one();
        }
        dropped
    }

    /// If this many spans wait, they are exported at once, without waiting for the next interval.
    fn many_spans(&self) -> usize {
        self.capacity / 8
    }

    /// Waits until [`Self::many_spans`] spans wait.
    pub(super) async fn wait_for_many(&self) {
        self.many.notified().await;
    }

    pub(super) fn take(&self, most: usize) -> Vec<Span> {
        let mut waiting = self.waiting.lock();
        let count = most.min(waiting.spans.len());
        let taken: Vec<_> = waiting.spans.drain(..count).collect();
        for (user, _) in &taken {
            if let Some(of_user) = waiting.by_user.get_mut(user) {
                *of_user -= 1;
                if *of_user == 0 {
                    waiting.by_user.remove(user);
                }
            }
        }
        taken.into_iter().map(|(_, span)| span).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.lock().spans.len()
    }
}
