//! Memory for bodies that are on their way: a budget for the server, with a share for each user and
//! for each connection without a valid credential.
//!
//! There are two budgets with the same rules, one for each direction. A body of a request that
//! arrives in one piece with its head is not counted; the bytes of any other body are counted while
//! it arrives and released when it is complete or rejected. An answer is counted from its arrival
//! at the server until its last byte is written to the socket; small answers are not counted.

use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::UserId;
use thiserror::Error;

/// Limit of the bytes of one connection whose requests have no valid credential.
const CONNECTION_BYTES_MAX: usize = 1024 * 1024;
/// Only accounts that use at most this many bytes may use the last quarter of the budget.
const SMALL_BYTES: usize = 1024 * 1024;

/// For whom the bytes count: the sender of a body, the caller who gets an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Account {
    User(UserId),
    /// A connection without a valid credential.
    Connection(usize),
}

/// The bytes that a budget counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Counted {
    Bodies,
    Answers,
}

pub struct ByteBudget {
    counted: Counted,
    bytes_max: usize,
    used: Mutex<Usage>,
    /// The total of `used`, to read it without the lock.
    total: AtomicUsize,
}

#[derive(Default)]
struct Usage {
    total: usize,
    /// The part of `total` that belongs to requests without a valid credential.
    anonymous: usize,
    accounts: HashMap<Account, usize>,
    /// The reasons of refusals since the last [`ByteBudget::take_shortages`].
    shortages: HashSet<Shortage>,
}

/// A reason why bytes were refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shortage {
    /// The account has used up its share.
    Of(Account),
    /// All accounts together have used up the budget.
    OfAll,
}

impl ByteBudget {
    /// For the bodies of requests that are still arriving.
    pub fn of_bodies(bytes_max: usize) -> Self {
        Self::new(Counted::Bodies, bytes_max)
    }

    /// For answers that their clients have not read yet.
    pub fn of_answers(bytes_max: usize) -> Self {
        Self::new(Counted::Answers, bytes_max)
    }

    fn new(counted: Counted, bytes_max: usize) -> Self {
        Self {
            counted,
            bytes_max,
            used: Mutex::default(),
            total: AtomicUsize::new(0),
        }
    }

    /// Begins to count a body.
    pub fn begin(&self, account: Account) -> Reservation<&Self> {
        Reservation::new(self, account)
    }

    /// Counts bytes that stay in memory as long as the result. It is the same bytes.
    pub fn charge(self: &Arc<Self>, account: Account, bytes: Bytes) -> Result<Bytes, BudgetFull> {
        let mut reservation = Reservation::new(Arc::clone(self), account);
        reservation.grow_to(bytes.len())?;
        Ok(Bytes::from_owner(ChargedBytes {
            bytes,
            _reservation: reservation,
        }))
    }

    /// The bytes that are counted now.
    pub fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Whether an account has used up its share, so that it gets no further bytes. While the whole
    /// budget is used less than one share, this takes no lock.
    pub fn check_share(&self, account: Account) -> Result<(), BudgetFull> {
        let share = self.share(account);
        if self.total() < share {
            return Ok(());
        }
        let mut used = self.used.lock();
        match used.accounts.get(&account) {
            Some(&own) if own >= share => Err(self.refuse(&mut used, Shortage::Of(account), share)),
            _ => Ok(()),
        }
    }

    /// The reasons of refusals since the last call.
    pub fn take_shortages(&self) -> HashSet<Shortage> {
        // Refusals need used bytes, so this lock is rarely taken.
        match self.total() {
            0 => HashSet::new(),
            _ => std::mem::take(&mut self.used.lock().shortages),
        }
    }

    fn share(&self, account: Account) -> usize {
        let quarter = self.bytes_max / 4;
        match account {
            Account::User(_) => quarter,
            Account::Connection(_) => quarter.min(CONNECTION_BYTES_MAX),
        }
    }

    /// Counts `bytes` more for a reservation that has `held` bytes. The caller releases the bytes
    /// `replaced` of the same account at once, so the limits do not apply to them.
    fn reserve(
        &self,
        account: Account,
        (held, replaced): (usize, usize),
        bytes: usize,
    ) -> Result<(), BudgetFull> {
        let mut used = self.used.lock();
        let before = used.accounts.get(&account).copied().unwrap_or(0);
        let own = (before + bytes).saturating_sub(replaced);
        let share = self.share(account);
        let is_anonymous = matches!(account, Account::Connection(_));
        let quarter = self.bytes_max / 4;
        let total_max = match own > SMALL_BYTES {
            true => self.bytes_max - quarter,
            false => self.bytes_max,
        };
        // An answer exists when it is counted. An account with no other unread answer gets it even
        // if it is larger than the share: other limits bound the size of one answer.
        let is_only_answer = self.counted == Counted::Answers && before == held + replaced;
        if own > share && !is_only_answer {
            return Err(self.refuse(&mut used, Shortage::Of(account), share));
        }
        if is_anonymous && used.anonymous + bytes > quarter {
            return Err(self.full("all requests without a valid credential", quarter));
        }
        if (used.total + bytes).saturating_sub(replaced) > total_max {
            return Err(self.refuse(&mut used, Shortage::OfAll, total_max));
        }
        used.total += bytes;
        self.total.store(used.total, Ordering::Relaxed);
        if is_anonymous {
            used.anonymous += bytes;
        }
        used.accounts.insert(account, before + bytes);
        Ok(())
    }

    fn release(&self, account: Account, bytes: usize) {
        let mut used = self.used.lock();
        used.total -= bytes;
        self.total.store(used.total, Ordering::Relaxed);
        if matches!(account, Account::Connection(_)) {
            used.anonymous -= bytes;
        }
        if let Some(own) = used.accounts.get_mut(&account) {
            *own -= bytes;
            if *own == 0 {
                used.accounts.remove(&account);
                used.shortages.remove(&Shortage::Of(account));
            }
        }
    }

    fn refuse(&self, used: &mut Usage, shortage: Shortage, limit: usize) -> BudgetFull {
        // Only answers are ended early; unfinished bodies have a time limit.
        if self.counted == Counted::Answers {
            used.shortages.insert(shortage);
        }
        let whose = match shortage {
            Shortage::Of(_) => "your requests",
            Shortage::OfAll => "all requests",
        };
        self.full(whose, limit)
    }

    fn full(&self, whose: &'static str, limit: usize) -> BudgetFull {
        BudgetFull {
            counted: self.counted,
            whose,
            limit,
        }
    }
}

/// A budget is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the {} of {whose} have reached the limit of {limit} bytes; {}", self.counted.name(), self.counted.way_out())]
pub struct BudgetFull {
    counted: Counted,
    whose: &'static str,
    pub limit: usize,
}

impl BudgetFull {
    /// The code of the problem.
    pub fn code(&self) -> &'static str {
        match self.counted {
            Counted::Bodies => "too_many_unfinished_bodies",
            Counted::Answers => "too_many_unread_answers",
        }
    }
}

impl Counted {
    fn name(self) -> &'static str {
        match self {
            Self::Bodies => "unfinished bodies",
            Self::Answers => "unread answers",
        }
    }

    fn way_out(self) -> &'static str {
        match self {
            Self::Bodies => {
                "send each body without a pause, or fewer bodies at a time (`max_unfinished_body_bytes`)"
            }
            Self::Answers => {
                "read each answer without a pause, or request fewer at a time (`max_unread_answer_bytes`)"
            }
        }
    }
}

/// The part of a budget that one body holds; released when dropped.
pub struct Reservation<B: Deref<Target = ByteBudget>> {
    budget: B,
    account: Account,
    bytes: usize,
}

/// A reservation that is not bound to the life of a request.
pub type OwnedReservation = Reservation<Arc<ByteBudget>>;

impl<B: Deref<Target = ByteBudget>> Reservation<B> {
    pub fn new(budget: B, account: Account) -> Self {
        Self {
            budget,
            account,
            bytes: 0,
        }
    }

    /// Grows the reservation to this many bytes.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), BudgetFull> {
        self.grow_replacing(bytes, 0)
    }

    /// Grows the reservation to this many bytes. The caller drops another reservation of the same
    /// account, with the bytes `replaced`, at once.
    pub fn grow_replacing(&mut self, bytes: usize, replaced: usize) -> Result<(), BudgetFull> {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            let present = (self.bytes, replaced);
            self.budget.reserve(self.account, present, more)?;
            self.bytes += more;
        }
        Ok(())
    }
}

impl<B: Deref<Target = ByteBudget>> Drop for Reservation<B> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.release(self.account, self.bytes);
        }
    }
}

/// Bytes with their reservation.
struct ChargedBytes {
    bytes: Bytes,
    _reservation: OwnedReservation,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
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
        let budget = ByteBudget::of_bodies(64 * MIB);
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
        let budget = ByteBudget::of_bodies(64 * MIB);
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
        let budget = ByteBudget::of_bodies(8 * MIB);
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

    #[test]
    fn an_account_gets_one_answer_of_any_size_or_many_within_its_share() {
        let budget = Arc::new(ByteBudget::of_answers(64 * MIB));
        let answer = |number, size| budget.charge(user(number), vec![0; size * MIB].into());
        let large = answer(1, 40).expect("its only answer");
        let refusal = answer(1, 1).expect_err("over the share").to_string();
        assert!(refusal.contains("max_unread_answer_bytes"), "{refusal}");
        budget.check_share(user(1)).expect_err("over the share");
        budget.check_share(user(2)).expect("another account");
        answer(2, 9).expect_err("the budget for large answers is used up");
        let small = answer(2, 1).expect("small");
        let shortages = budget.take_shortages();
        let expected = HashSet::from([Shortage::Of(user(1)), Shortage::OfAll]);
        assert_eq!(shortages, expected);
        // A part of the bytes keeps all of them in memory.
        let part = large.slice(10..20);
        drop((large, small));
        assert_eq!(budget.total(), 40 * MIB);
        drop(part);
        assert_eq!(budget.total(), 0);
        assert!(budget.used.lock().accounts.is_empty());
    }
}
