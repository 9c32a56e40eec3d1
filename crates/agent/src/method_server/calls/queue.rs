//! What waits for a method server, in order of arrival. Anyone may leave early.

use std::{collections::VecDeque, time::Instant};

use bytes::Bytes;

use crate::link::Caller;

pub struct Waiting {
    /// `None` for a notification.
    pub caller: Option<Caller>,
    pub json: Bytes,
    pub arrived: Instant,
}

#[derive(Default)]
pub struct Queue {
    /// What left early is `None`, so that the others keep their numbers.
    items: VecDeque<Option<Waiting>>,
    /// Number of the first of `items`.
    first: u64,
    count: usize,
    bytes: usize,
}

impl Queue {
    /// Adds to the end; the number serves to remove it.
    pub fn push(&mut self, item: Waiting) -> u64 {
        self.count += 1;
        self.bytes += item.json.len();
        self.items.push_back(Some(item));
        self.first + self.items.len() as u64 - 1
    }

    /// The first, once the gaps before it are forgotten.
    pub fn front(&mut self) -> Option<&Waiting> {
        while let Some(None) = self.items.front() {
            self.items.pop_front();
            self.first += 1;
        }
        self.items.front().and_then(Option::as_ref)
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        self.front()?;
        let item = self.items.pop_front().flatten()?;
        self.first += 1;
        self.count_out(&item);
        Some(item)
    }

    /// Lets one leave early; nothing happens if it is not here any more.
    pub fn remove(&mut self, number: u64) {
        let index = number
            .checked_sub(self.first)
            .and_then(|index| usize::try_from(index).ok());
        let place = index.and_then(|index| self.items.get_mut(index));
        if let Some(item) = place.and_then(Option::take) {
            self.count_out(&item);
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of JSON that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn count_out(&mut self, item: &Waiting) {
        self.count -= 1;
        self.bytes -= item.json.len();
    }
}
