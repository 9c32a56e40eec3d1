//! Memory for bodies that are still arriving: a budget for the server, with a share for each user
//! and for each connection without a valid credential.
//!
//! A body that arrives in one piece with its head is not counted. The bytes of any other body are
//! counted while it arrives and released when it is complete or rejected.

use std::collections::HashMap;

use parking_lot::Mutex;
use svc_core::UserId;
use thiserror::Error;

/// Limit of the bytes of one connection whose requests have no valid credential.
const CONNECTION_BYTES_MAX: usize = 1024 * 1024;
/// Only accounts that use at most this many bytes may use the last quarter of the budget.
const SMALL_BYTES: usize = 1024 * 1024;

/// The sender of a body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Account {
    User(UserId),
    /// A connection without a valid credential.
    Connection(usize),
}

pub struct BodyBudget {
    bytes_max: usize,
    used: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    total: usize,
    /// The part of `total` that belongs to requests without a valid credential.
    anonymous: usize,
    accounts: HashMap<Account, usize>,
}

impl BodyBudget {
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            used: Mutex::default(),
        }
    }

    /// Begins to count a body.
    pub fn begin(&self, account: Account) -> Reservation<'_> {
        Reservation {
            budget: self,
            account,
            bytes: 0,
        }
    }

    fn share(&self, account: Account) -> usize {
        let quarter = self.bytes_max / 4;
        match account {
            Account::User(_) => quarter,
            Account::Connection(_) => quarter.min(CONNECTION_BYTES_MAX),
        }
    }

    fn reserve(&self, account: Account, bytes: usize) -> Result<(), BodiesFull> {
        let mut used = self.used.lock();
        let own = used.accounts.get(&account).copied().unwrap_or(0) + bytes;
        let share = self.share(account);
        let is_anonymous = matches!(account, Account::Connection(_));
        let quarter = self.bytes_max / 4;
        let total_max = match own > SMALL_BYTES {
            true => self.bytes_max - quarter,
            false => self.bytes_max,
        };
        if own > share {
            return Err(BodiesFull {
                whose: "your requests",
                limit: share,
            });
        }
        if is_anonymous && used.anonymous + bytes > quarter {
            return Err(BodiesFull {
                whose: "all requests without a valid credential",
                limit: quarter,
            });
        }
        if used.total + bytes > total_max {
            return Err(BodiesFull {
                whose: "all requests",
                limit: total_max,
            });
        }
        used.total += bytes;
        if is_anonymous {
            used.anonymous += bytes;
        }
        used.accounts.insert(account, own);
        Ok(())
    }

    fn release(&self, account: Account, bytes: usize) {
        let mut used = self.used.lock();
        used.total -= bytes;
        if matches!(account, Account::Connection(_)) {
            used.anonymous -= bytes;
        }
        if let Some(own) = used.accounts.get_mut(&account) {
            *own -= bytes;
            if *own == 0 {
                used.accounts.remove(&account);
            }
        }
    }
}

/// The budget for bodies that are still arriving is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "the unfinished bodies of {whose} have reached the limit of {limit} bytes; send each body without a pause, or fewer bodies at a time (`max_unfinished_body_bytes`)"
)]
pub struct BodiesFull {
    whose: &'static str,
    limit: usize,
}

/// The part of the budget that one body holds; released when dropped.
pub struct Reservation<'a> {
    budget: &'a BodyBudget,
    account: Account,
    bytes: usize,
}

impl Reservation<'_> {
    /// Grows the reservation to this many bytes.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), BodiesFull> {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            self.budget.reserve(self.account, more)?;
            self.bytes += more;
        }
        Ok(())
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.release(self.account, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn user(number: u128) -> Account {
        Account::User(uuid::Uuid::from_u128(number).into())
    }

    #[test]
    fn no_user_takes_more_than_a_quarter() {
        let budget = BodyBudget::new(64 * MIB);
        let mut first = budget.begin(user(1));
        let mut second = budget.begin(user(1));
        first.grow_to(10 * MIB).expect("a part of the share");
        second.grow_to(6 * MIB).expect("the rest of it");
        let refusal = second.grow_to(6 * MIB + 1).expect_err("over the share");
        let refusal = refusal.to_string();
        assert!(refusal.contains("max_unfinished_body_bytes"), "{refusal}");
        assert!(refusal.contains("16777216"), "{refusal}");
        drop(first);
        second.grow_to(16 * MIB).expect("given back");
        budget.begin(user(2)).grow_to(16 * MIB).expect("its own");
        drop(second);
        assert!(budget.used.lock().accounts.is_empty());
        assert_eq!(budget.used.lock().total, 0);
    }

    #[test]
    fn the_last_quarter_is_for_small_bodies() {
        let budget = BodyBudget::new(64 * MIB);
        let mut large: Vec<_> = (0..3).map(|number| budget.begin(user(number))).collect();
        for body in &mut large {
            body.grow_to(16 * MIB).expect("its share");
        }
        let refusal = budget.begin(user(9)).grow_to(2 * MIB).expect_err("large");
        assert_eq!((refusal.whose, refusal.limit), ("all requests", 48 * MIB));
        budget.begin(user(9)).grow_to(MIB).expect("small");
    }

    #[test]
    fn anonymous_connections_share_a_quarter() {
        let budget = BodyBudget::new(8 * MIB);
        let mut first = budget.begin(Account::Connection(1));
        first.grow_to(MIB).expect("its share");
        first.grow_to(MIB + 1).expect_err("more than its share");
        let mut second = budget.begin(Account::Connection(2));
        second.grow_to(MIB).expect("its share");
        let mut third = budget.begin(Account::Connection(3));
        let refusal = third.grow_to(1).expect_err("the quarter is used up");
        assert_eq!(refusal.limit, 2 * MIB);
        budget.begin(user(1)).grow_to(2 * MIB).expect("a user");
        drop(first);
        third.grow_to(MIB).expect("given back");
    }
}
