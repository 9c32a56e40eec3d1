use std::collections::{HashMap, VecDeque};

use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::*;

fn bytes(bytes: usize) -> Turn {
    Turn::Bytes(NonZeroUsize::new(bytes).expect("not zero"))
}

fn drain<T>(queue: &mut FairQueue<T>) -> Vec<T> {
    std::iter::from_fn(|| queue.pop()).collect()
}

#[test]
fn flows_take_turns_and_keep_their_own_order() {
    let check = |pushed: &[(u32, &'static str)], popped: &[&str]| {
        let mut queue = FairQueue::new(Turn::Item);
        for (flow, name) in pushed {
            queue.push(*flow, *name, name.len());
        }
        assert_eq!(drain(&mut queue), popped);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    };
    check(&[], &[]);
    check(&[(1, "a1"), (1, "a2"), (1, "a3")], &["a1", "a2", "a3"]);
    check(
        &[(1, "a1"), (1, "a2"), (1, "a3"), (2, "b1"), (2, "b2")],
        &["a1", "b1", "a2", "b2", "a3"],
    );
    check(
        &[(3, "c1"), (1, "a1"), (1, "a2"), (2, "b1"), (3, "c2")],
        &["c1", "a1", "b1", "c2", "a2"],
    );
}

#[test]
fn a_new_flow_waits_for_one_item_of_each_other_flow() {
    let mut queue = FairQueue::new(Turn::Item);
    for n in 0..1_000 {
        queue.push(1, n, 1);
    }
    for n in 0..10 {
        assert_eq!(queue.pop(), Some(n));
    }
    queue.push(2, 5_000, 1);
    assert_eq!(queue.pop(), Some(10));
    assert_eq!(queue.pop(), Some(5_000));
    assert_eq!(queue.pop(), Some(11));
}

#[test]
fn a_turn_of_bytes_lets_small_items_pass_a_large_one() {
    let mut queue = FairQueue::new(bytes(100));
    queue.push(1, "large", 1_000);
    queue.push(1, "after it", 10);
    for _ in 0..5 {
        queue.push(2, "small", 100);
    }
    let popped = drain(&mut queue);
    assert_eq!(popped[..5], ["small"; 5]);
    assert_eq!(popped[5..], ["large", "after it"]);
    // No other flow waits, so a large item is popped at once.
    queue.push(1, "large", 1_000_000);
    assert_eq!(queue.pop(), Some("large"));
}

#[test]
fn every_flow_leaves_space_for_a_new_one() {
    let mut queue = FairQueue::new(Turn::Item);
    let mut held = [0; 4];
    for (flow, held) in (0..4).zip(&mut held) {
        while queue.push_within(flow, (), 10, 1_000).is_ok() {
            *held += 10;
        }
    }
    assert_eq!(held, [500, 250, 130, 60]);
    // A rejected item is returned.
    assert_eq!(queue.push_within(0, (), 1, 1_000), Err(()));
    assert!(queue.push_within(9, (), 60, 1_000).is_ok());
    // One item may use the whole limit.
    let mut queue = FairQueue::new(Turn::Item);
    assert!(queue.push_within(0, (), 1_000, 1_000).is_ok());
}

#[test]
fn an_empty_queue_keeps_little_memory() {
    let mut queue = FairQueue::new(Turn::Item);
    for n in 0..1_000 {
        queue.push(n, n, 1);
    }
    queue.shrink_empty(256);
    assert_eq!(queue.len(), 1_000);
    drain(&mut queue);
    queue.shrink_empty(256);
    assert_eq!(queue.items.capacity(), 0);
}

#[test]
fn a_queue_keeps_the_memory_that_it_may_keep() {
    let mut queue = FairQueue::new(Turn::Item);
    queue.push(1, (), 1);
    queue.pop();
    let capacity = queue.items.capacity();
    queue.shrink_empty(capacity);
    assert_eq!(queue.items.capacity(), capacity);
    queue.shrink_empty(capacity - 1);
    assert_eq!(queue.items.capacity(), 0);
}

#[test]
fn a_queue_is_empty_before_the_first_push_and_after_the_last_pop() {
    let mut queue = FairQueue::new(Turn::Item);
    assert!(queue.is_empty());
    queue.push(1, 'a', 1);
    assert!(!queue.is_empty());
    queue.pop();
    assert!(queue.is_empty());
}

#[test]
fn the_bytes_of_a_popped_item_are_free_for_its_flow_again() {
    let mut queue = FairQueue::new(Turn::Item);
    for bytes in [300, 200] {
        assert!(queue.push_within(1, bytes, bytes, 1_000).is_ok());
    }
    assert_eq!(queue.pop(), Some(300));
    assert_eq!(queue.push_within(1, 601, 601, 1_000), Err(601));
    assert!(queue.push_within(1, 600, 600, 1_000).is_ok());
}

#[test]
fn an_item_that_needs_exactly_one_turn_leaves_in_that_turn() {
    let mut queue = FairQueue::new(bytes(100));
    queue.push(1, "99 bytes", 99);
    queue.push(2, "100 bytes", 100);
    assert_eq!(drain(&mut queue), ["100 bytes", "99 bytes"]);
}

#[test]
fn a_queue_that_was_empty_does_not_mix_the_last_flow_with_a_new_one() {
    let mut queue = FairQueue::new(Turn::Item);
    queue.push(1, "old", 1);
    queue.pop();
    for (flow, name) in [(2, "b1"), (2, "b2"), (1, "a1")] {
        queue.push(flow, name, 1);
    }
    assert_eq!(drain(&mut queue), ["b1", "a1", "b2"]);
}

#[test]
fn a_flow_that_empties_and_refills_does_not_delay_a_large_item() {
    let mut queue = FairQueue::new(bytes(100));
    queue.push(1, 's', 10);
    queue.push(2, 'L', 250);
    let mut order = String::new();
    // The flow of the small item is empty after each pop, and gets a new item at once.
    while order.len() < 10
        && let Some(item) = queue.pop()
        && item != 'L'
    {
        order.push(item);
        queue.push(1, 's', 10);
    }
    assert_eq!(order, "ss", "an item of 250 bytes needs three turns");
}

#[derive(Clone, Debug)]
enum Act {
    Push { flow: u32, bytes: usize },
    Pop,
    Remove(usize),
    PopFronts(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => (0_u32..5, 1_usize..300).prop_map(|(flow, bytes)| Act::Push { flow, bytes }),
        4 => Just(Act::Pop),
        1 => (0_usize..30).prop_map(Act::Remove),
        1 => (0_u64..200).prop_map(Act::PopFronts),
    ]
}

/// The expected content of the queue: one plain queue per flow.
struct Model {
    flows: HashMap<u32, VecDeque<(u64, usize)>>,
    /// For each waiting flow: the flow and the size of every item that was popped since the waiting
    /// flow was last served.
    passed_over: HashMap<u32, Vec<(u32, usize)>>,
}

impl Model {
    fn flow_of(&self, number: u64) -> u32 {
        let holds = |items: &VecDeque<(u64, usize)>| items.iter().any(|item| item.0 == number);
        let found = self.flows.iter().find(|(_, items)| holds(items));
        *found.expect("the item is in a flow").0
    }

    fn remove(&mut self, number: u64) {
        let flow = self.flow_of(number);
        let items = self.flows.get_mut(&flow).expect("there");
        items.retain(|item| item.0 != number);
        if items.is_empty() {
            self.flows.remove(&flow);
            self.passed_over.remove(&flow);
        }
    }

    /// Records that a flow was served. Then counts, for each waiting flow, the items and bytes of
    /// the served flow since the waiting flow was last served. Returns the largest counts.
    fn served(&mut self, served: u32, bytes: usize) -> (usize, usize) {
        self.passed_over.remove(&served);
        let mut most = (0, 0);
        for flow in self.flows.keys().filter(|flow| **flow != served) {
            let passed = self.passed_over.entry(*flow).or_default();
            passed.push((served, bytes));
            let of_it = || passed.iter().filter(|(flow, _)| *flow == served);
            let bytes = of_it().map(|(_, bytes)| bytes).sum();
            most = (most.0.max(of_it().count()), most.1.max(bytes));
        }
        most
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_waiting_flow_is_served_in_every_round(
        by_bytes in prop::bool::ANY,
        acts in prop::collection::vec(act(), 0..200),
    ) {
        let turn = if by_bytes { bytes(100) } else { Turn::Item };
        let mut queue = FairQueue::new(turn);
        let mut model = Model { flows: HashMap::new(), passed_over: HashMap::new() };
        let mut keys: Vec<(u64, ItemKey)> = Vec::new();
        for (number, act) in (0_u64..).zip(acts) {
            match act {
                Act::Push { flow, bytes } => {
                    keys.push((number, queue.push(flow, number, bytes)));
                    model.flows.entry(flow).or_default().push_back((number, bytes));
                }
                Act::Pop => {
                    let front = queue.front().copied();
                    let popped = queue.pop();
                    prop_assert_eq!(front, popped);
                    prop_assert_eq!(popped.is_none(), model.flows.is_empty());
                    if let Some(popped) = popped {
                        let flow = model.flow_of(popped);
                        prop_assert_eq!(model.flows[&flow][0].0, popped, "first in, first out");
                        let (items, bytes) = model.served(flow, model.flows[&flow][0].1);
                        // An item of 299 bytes waits for three turns of its flow. Meanwhile another
                        // flow sends at most 598 bytes: 298 that it saved from earlier turns, and
                        // three turns of 100.
                        let is_fair = if by_bytes { bytes <= 598 } else { items <= 1 };
                        prop_assert!(is_fair, "{} items, {} bytes of {}", items, bytes, flow);
                        model.remove(popped);
                        keys.retain(|(number, _)| *number != popped);
                    }
                }
                Act::Remove(at) => {
                    if at < keys.len() {
                        let (number, key) = keys.swap_remove(at);
                        prop_assert_eq!(queue.remove(key), Some(number));
                        model.remove(number);
                    }
                }
                Act::PopFronts(below) => {
                    let mut taken = Vec::new();
                    queue.pop_fronts(|number| *number < below, |number| taken.push(number));
                    for number in taken {
                        let flow = model.flow_of(number);
                        prop_assert_eq!(model.flows[&flow][0].0, number);
                        model.remove(number);
                        keys.retain(|(known, _)| *known != number);
                    }
                    let fronts = model.flows.values().map(|items| items[0].0);
                    prop_assert!(fronts.into_iter().all(|front| front >= below));
                }
            }
            prop_assert_eq!(queue.len(), model.flows.values().map(VecDeque::len).sum::<usize>());
            let bytes = model.flows.values().flatten().map(|item| item.1);
            prop_assert_eq!(queue.bytes(), bytes.sum::<usize>());
        }
        let left: usize = model.flows.values().map(VecDeque::len).sum();
        prop_assert_eq!(drain(&mut queue).len(), left);
        prop_assert!(queue.flows.len() <= 1, "only the last flow is kept");
        prop_assert_eq!(queue.by_name.len(), queue.flows.len());
    }
}
