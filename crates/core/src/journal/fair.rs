//! Which recorded calls stay when an owner's journal is full, so that one caller uses only a share
//! of it. Callers get equal shares, and each caller's methods get equal shares of the caller's.

use std::collections::BTreeMap;

use crate::id::UserId;

/// A recorded call, or its recorded payloads, that may be removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate<'a> {
    pub caller: UserId,
    pub method: &'a str,
    /// The amount that the limit counts: 1 for a call, bytes for payloads.
    pub size: u64,
}

/// Chooses the candidates that stay, of at most about `limit` in size. `candidates` are in the order
/// of their times; of each group, the newest stay. Every caller keeps at least the newest one.
/// Returns the positions in their order.
pub fn choose_kept(candidates: &[Candidate<'_>], limit: u64) -> Vec<usize> {
    let mut by_caller = BTreeMap::<UserId, BTreeMap<&str, Vec<usize>>>::new();
    for (position, candidate) in candidates.iter().enumerate() {
        let methods = by_caller.entry(candidate.caller).or_default();
        methods.entry(candidate.method).or_default().push(position);
    }
    let size = |positions: &[usize]| positions.iter().map(|at| candidates[*at].size).sum();
    let callers: Vec<Vec<Vec<usize>>> = by_caller
        .into_values()
        .map(|methods| methods.into_values().collect())
        .collect();
    let sizes: Vec<u64> = callers
        .iter()
        .map(|methods| methods.iter().map(|positions| size(positions)).sum())
        .collect();
    let mut kept = Vec::new();
    for (methods, share) in callers.iter().zip(shares(&sizes, limit)) {
        let before = kept.len();
        let sizes: Vec<u64> = methods.iter().map(|positions| size(positions)).collect();
        for (positions, mut left) in methods.iter().zip(shares(&sizes, share)) {
            for at in positions.iter().rev() {
                let Some(rest) = left.checked_sub(candidates[*at].size) else {
                    break;
                };
                left = rest;
                kept.push(*at);
            }
        }
        if kept.len() == before {
            kept.extend(
                methods
                    .iter()
                    .filter_map(|positions| positions.last())
                    .max(),
            );
        }
    }
    kept.sort_unstable();
    kept
}

/// Chooses what stays of a full block that is removed: everything that [`choose_kept`] chooses
/// within `limit`, except the calls of the busiest caller and method. These are the calls that fill
/// the journal, so their oldest are removed.
pub fn choose_survivors(candidates: &[Candidate<'_>], limit: u64) -> Vec<usize> {
    let caller = busiest(candidates.iter().map(|call| (call.caller, call.size)));
    let of_caller = candidates.iter().filter(|call| Some(call.caller) == caller);
    let method = busiest(of_caller.map(|call| (call.method, call.size)));
    let is_other = |position: &usize| {
        let call = &candidates[*position];
        Some(call.caller) != caller || Some(call.method) != method
    };
    let others: Vec<_> = (0..candidates.len()).filter(is_other).collect();
    let rest: Vec<_> = others
        .iter()
        .map(|position| candidates[*position])
        .collect();
    let kept = choose_kept(&rest, limit).into_iter();
    kept.map(|position| others[position]).collect()
}

/// The key with the largest sum of sizes.
fn busiest<K: Ord>(sizes: impl Iterator<Item = (K, u64)>) -> Option<K> {
    let mut sums = BTreeMap::<K, u64>::new();
    for (key, size) in sizes {
        *sums.entry(key).or_default() += size;
    }
    let busiest = sums.into_iter().max_by_key(|(_, size)| *size);
    busiest.map(|(key, _)| key)
}

/// Divides `limit`: each gets an equal share, and what one does not need goes to the others.
fn shares(sizes: &[u64], limit: u64) -> Vec<u64> {
    let mut order: Vec<_> = (0..sizes.len()).collect();
    order.sort_unstable_by_key(|position| sizes[*position]);
    let mut shares = vec![0; sizes.len()];
    let mut left = limit;
    for (done, position) in order.into_iter().enumerate() {
        let equal = left / (sizes.len() - done) as u64;
        shares[position] = sizes[position].min(equal);
        left -= shares[position];
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use uuid::Uuid;

    use super::*;

    fn call(caller: u128, method: &str, size: u64) -> Candidate<'_> {
        Candidate {
            caller: UserId(Uuid::from_u128(caller)),
            method,
            size,
        }
    }

    #[test]
    fn a_flood_of_one_caller_leaves_the_calls_of_the_others() {
        let mut calls = vec![call(1, "pay", 1)];
        calls.extend(vec![call(2, "ping", 1); 4_000]);
        calls.push(call(3, "pay", 1));
        assert_eq!(choose_survivors(&calls, 512), [0, 4_001]);
        // Also if the flood uses many methods: callers share first.
        let names: Vec<_> = (0..4_000).map(|n| format!("m{n}")).collect();
        let flood = names.iter().map(|name| call(2, name, 1));
        let calls: Vec<_> = [call(1, "pay", 1)].into_iter().chain(flood).collect();
        let kept = choose_survivors(&calls, 512);
        assert_eq!((kept[0], kept.len()), (0, 512));
        let calls: Vec<_> = calls
            .iter()
            .map(|call| Candidate {
                caller: UserId(Uuid::from_u128(9 - call.caller.0.as_u128())),
                ..*call
            })
            .collect();
        assert_eq!(choose_survivors(&calls, 512)[0], 0);
    }

    #[test]
    fn a_flood_of_one_method_leaves_the_other_methods_of_its_caller() {
        let mut calls = vec![call(1, "pay", 1), call(1, "pay", 1)];
        calls.extend(vec![call(1, "ping", 1); 100]);
        assert_eq!(choose_survivors(&calls, 12), [0, 1]);
        assert_eq!(choose_kept(&calls, 12)[..2], [0, 1]);
    }

    #[test]
    fn of_one_caller_and_method_only_nothing_stays() {
        assert!(choose_survivors(&[call(1, "a", 1); 50], 10).is_empty());
        assert!(choose_survivors(&[], 10).is_empty());
    }

    #[test]
    fn the_newest_of_each_share_stay() {
        let calls = [call(1, "a", 1), call(2, "a", 1)].repeat(10);
        assert_eq!(choose_kept(&calls, 4), [16, 17, 18, 19]);
        // One large payload stays, although it exceeds the share of its caller.
        let calls = [call(1, "a", 90), call(1, "a", 80), call(2, "a", 5)];
        assert_eq!(choose_kept(&calls, 10), [1, 2]);
    }

    proptest! {
        #[test]
        fn every_caller_keeps_something_within_the_limit(
            groups in vec((0..5_u128, 0..3_usize), 0..200), limit in 0..100_u64,
        ) {
            let names = ["a", "b", "c"];
            let calls: Vec<_> = groups.iter().map(|(caller, method)| call(*caller, names[*method], 1)).collect();
            let kept = choose_kept(&calls, limit);
            let callers = |positions: &mut dyn Iterator<Item = usize>| {
                positions.map(|at| calls[at].caller).collect::<std::collections::BTreeSet<_>>()
            };
            let all = callers(&mut (0..calls.len()));
            prop_assert_eq!(&callers(&mut kept.iter().copied()), &all);
            prop_assert!(kept.len() as u64 <= limit.max(all.len() as u64));
            prop_assert!(kept.is_sorted());
        }
    }
}
