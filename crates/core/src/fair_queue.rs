//! A queue in which flows take turns: items of one flow keep their order, and no flow delays
//! another by more than one turn.
//!
//! A flow is named by a number, such as the number of a user. Pushing and removing one item takes
//! constant time, except that a pop passes over flows that have too little credit. An empty queue
//! keeps its memory for later items until [`FairQueue::shrink_empty`] frees it.

use std::num::NonZeroUsize;

use slab::Slab;

use crate::number_map::NumberMap;

/// The end of a linked list.
const NONE: usize = usize::MAX;

/// How long a turn is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// One item, whatever its size.
    Item,
    /// About this many bytes. A flow whose first item is larger accumulates the credit of several
    /// turns (deficit round robin).
    Bytes(NonZeroUsize),
}

pub struct FairQueue<T> {
    turn: Turn,
    items: Slab<Item<T>>,
    flows: Slab<Flow>,
    by_name: NumberMap<u32, usize>,
    /// The flow whose turn it is. The flows that have items form a ring.
    current: usize,
    /// The flow of the last item, if the queue is empty. The next item often has the same flow, so
    /// the flow is kept.
    last: usize,
    bytes: usize,
}

struct Item<T> {
    value: T,
    bytes: usize,
    flow: usize,
    before: usize,
    after: usize,
}

struct Flow {
    name: u32,
    first: usize,
    last: usize,
    before: usize,
    after: usize,
    bytes: usize,
    /// Bytes that the flow may still send in this turn.
    credit: usize,
}

/// Identifies an item as long as the item is in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ItemKey(usize);

impl<T> FairQueue<T> {
    pub fn new(turn: Turn) -> Self {
        Self {
            turn,
            items: Slab::new(),
            flows: Slab::new(),
            by_name: NumberMap::default(),
            current: NONE,
            last: NONE,
            bytes: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes of all items.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an item to the end of its flow. Returns the item instead if the flow would then hold
    /// more bytes than are free now: `bytes_max` minus the bytes of all flows. So the small items
    /// of a single flow can hold about half of `bytes_max`, those of two flows that fill at the
    /// same time about a third each, and some bytes stay free for a new flow.
    pub fn push_within(
        &mut self,
        flow: u32,
        value: T,
        bytes: usize,
        bytes_max: usize,
    ) -> Result<ItemKey, T> {
        let index = self.find(flow);
        let held = index.map_or(0, |index| self.flows[index].bytes);
        if held + bytes > bytes_max.saturating_sub(self.bytes) {
            return Err(value);
        }
        Ok(self.append(flow, index, value, bytes))
    }

    /// Adds an item to the end of its flow, without a limit.
    pub fn push(&mut self, flow: u32, value: T, bytes: usize) -> ItemKey {
        let index = self.find(flow);
        self.append(flow, index, value, bytes)
    }

    /// The flow of this name, if it has items.
    fn find(&self, name: u32) -> Option<usize> {
        if self.items.is_empty() {
            return None;
        }
        if self.flows[self.current].name == name {
            return Some(self.current);
        }
        self.by_name.get(&name).copied()
    }

    fn append(&mut self, name: u32, index: Option<usize>, value: T, bytes: usize) -> ItemKey {
        let flow = index.unwrap_or_else(|| self.add_flow(name));
        let before = self.flows[flow].last;
        let key = self.items.insert(Item {
            value,
            bytes,
            flow,
            before,
            after: NONE,
        });
        match before {
            NONE => self.flows[flow].first = key,
            before => self.items[before].after = key,
        }
        self.flows[flow].last = key;
        self.flows[flow].bytes += bytes;
        self.bytes += bytes;
        ItemKey(key)
    }

    /// The next item: the item that `pop` would return.
    pub fn front(&mut self) -> Option<&T> {
        let key = self.front_key()?;
        Some(&self.items[key].value)
    }

    pub fn pop(&mut self) -> Option<T> {
        let key = self.front_key()?;
        let flow = self.current;
        let item = self.unlink(key);
        if self.current != NONE && self.flows.contains(flow) {
            match self.turn {
                Turn::Item => self.current = self.flows[flow].after,
                Turn::Bytes(_) => {
                    let credit = &mut self.flows[flow].credit;
                    *credit = credit.saturating_sub(item.bytes);
                }
            }
        }
        Some(item.value)
    }

    /// Removes an item that has not left the queue yet.
    pub fn remove(&mut self, key: ItemKey) -> Option<T> {
        self.items.contains(key.0).then(|| self.unlink(key.0).value)
    }

    /// Removes items from the front of every flow, flow by flow, as long as `accepts` returns true.
    /// The first rejected item ends the search in its flow.
    pub fn pop_fronts(&mut self, mut accepts: impl FnMut(&T) -> bool, mut take: impl FnMut(T)) {
        let flows: Vec<usize> = self.flows.iter().map(|(index, _)| index).collect();
        for flow in flows {
            while let Some(first) = self.flows.get(flow).map(|flow| flow.first) {
                if first == NONE || !accepts(&self.items[first].value) {
                    break;
                }
                take(self.unlink(first).value);
            }
        }
    }

    /// Frees the memory of an empty queue that has grown beyond `kept` items.
    pub fn shrink_empty(&mut self, kept: usize) {
        if self.items.is_empty() && self.items.capacity() > kept {
            *self = Self::new(self.turn);
        }
    }

    /// The next item. A flow without enough credit for its first item is passed over. It gets more
    /// credit at its next turn.
    fn front_key(&mut self) -> Option<usize> {
        if self.current == NONE {
            return None;
        }
        loop {
            let flow = &self.flows[self.current];
            let (first, after) = (flow.first, flow.after);
            match self.turn {
                // A single flow needs no credit.
                Turn::Bytes(bytes)
                    if after != self.current && flow.credit < self.items[first].bytes =>
                {
                    self.give_turn(after, bytes);
                }
                _ => return Some(first),
            }
        }
    }

    fn give_turn(&mut self, flow: usize, bytes: NonZeroUsize) {
        self.current = flow;
        self.flows[flow].credit += bytes.get();
    }

    fn add_flow(&mut self, name: u32) -> usize {
        if self.last != NONE {
            return self.reuse_last_flow(name);
        }
        let index = self.flows.insert(Flow {
            name,
            first: NONE,
            last: NONE,
            before: NONE,
            after: NONE,
            bytes: 0,
            credit: 0,
        });
        self.by_name.insert(name, index);
        if self.current == NONE {
            self.current = index;
            self.flows[index].before = index;
            self.flows[index].after = index;
            return index;
        }
        // Add the flow at the end of the round: before the current flow.
        let (before, after) = (self.flows[self.current].before, self.current);
        self.flows[before].after = index;
        self.flows[after].before = index;
        self.flows[index].before = before;
        self.flows[index].after = after;
        index
    }

    /// Gives the kept flow this name. The flow becomes the only flow of the queue.
    fn reuse_last_flow(&mut self, name: u32) -> usize {
        let index = std::mem::replace(&mut self.last, NONE);
        let flow = &mut self.flows[index];
        if flow.name != name {
            self.by_name.remove(&flow.name);
            self.by_name.insert(name, index);
            flow.name = name;
        }
        flow.credit = 0;
        self.current = index;
        index
    }

    /// Removes an item from its flow, and the flow from the ring if the flow is then empty.
    fn unlink(&mut self, key: usize) -> Item<T> {
        let item = self.items.remove(key);
        self.bytes -= item.bytes;
        let flow = &mut self.flows[item.flow];
        flow.bytes -= item.bytes;
        match item.before {
            NONE => flow.first = item.after,
            before => self.items[before].after = item.after,
        }
        match item.after {
            NONE => flow.last = item.before,
            after => self.items[after].before = item.before,
        }
        if flow.first == NONE {
            self.remove_flow(item.flow);
        }
        item
    }

    fn remove_flow(&mut self, index: usize) {
        if self.flows[index].after == index {
            self.current = NONE;
            self.last = index;
            return;
        }
        let flow = self.flows.remove(index);
        self.by_name.remove(&flow.name);
        self.flows[flow.before].after = flow.after;
        self.flows[flow.after].before = flow.before;
        if self.current == index {
            match self.turn {
                Turn::Item => self.current = flow.after,
                Turn::Bytes(bytes) => self.give_turn(flow.after, bytes),
            }
        }
    }
}

#[cfg(test)]
mod tests;
