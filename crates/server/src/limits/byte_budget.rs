//! Memory for the bodies of requests and answers: a budget for the server, with a share for each
//! user and for each connection without a valid credential.
//!
//! There are two budgets with the same rules, one for each direction. The body of a request is
//! counted from its first byte until the request ends: a change ends with its commit, a call with
//! its answer. The copies of calls and events that wait for a link are counted too, until they are
//! written. Small bodies are counted without a lock ([`Allowance`]). An answer is counted from its
//! arrival at the server until its last byte is written to the socket; small answers are not
//! counted.

mod allowance;
mod reservation;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::UserId;
use thiserror::Error;

use self::allowance::Allowance;
pub use self::reservation::{ChargedBytes, Hold, Reservation};

/// Limit of the bytes of one connection whose requests have no valid credential.
const CONNECTION_BYTES_MAX: usize = 1024 * 1024;
/// Only accounts that use at most this many bytes may use the last quarter of the budget.
const SMALL_BYTES: usize = 1024 * 1024;

/// For whom the bytes count: the sender of a body, the caller who gets an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Account {
    User(UserId),
    /// The user's changes with a session. They have a share of their own: a flood by code or by a
    /// leaked token must not keep its owner from ending it.
    Sessions(UserId),
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
    /// For small bodies, in addition to `bytes_max`.
    allowance: Allowance,
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

/// The budgets of both directions.
#[derive(Clone)]
pub struct ByteBudgets {
    pub bodies: Arc<ByteBudget>,
    pub answers: Arc<ByteBudget>,
}

impl ByteBudgets {
    pub fn new(bodies_max: usize, answers_max: usize) -> Self {
        Self {
            bodies: Arc::new(ByteBudget::of_bodies(bodies_max)),
            answers: Arc::new(ByteBudget::of_answers(answers_max)),
        }
    }
}

impl ByteBudget {
    /// For the bodies of requests that have not ended, and for calls that wait for a link.
    pub fn of_bodies(bytes_max: usize) -> Self {
        Self::new(Counted::Bodies, bytes_max, Allowance::new(bytes_max / 4))
    }

    /// For answers that their clients have not read yet.
    pub fn of_answers(bytes_max: usize) -> Self {
        Self::new(Counted::Answers, bytes_max, Allowance::new(0))
    }

    fn new(counted: Counted, bytes_max: usize, allowance: Allowance) -> Self {
        Self {
            counted,
            bytes_max,
            allowance,
            used: Mutex::default(),
            total: AtomicUsize::new(0),
        }
    }

    /// Counts a body, or a copy of one, that is complete.
    pub fn take(self: &Arc<Self>, account: Account, bytes: usize) -> Result<Hold, BudgetFull> {
        match self.allowance.take(account, bytes) {
            Some(taken) => Ok(Hold::Small(Arc::clone(self), taken)),
            None => self.begin(account).settle(bytes),
        }
    }

    /// Begins to count a body that still arrives.
    pub fn begin(self: &Arc<Self>, account: Account) -> Reservation {
        Reservation::new(Arc::clone(self), account)
    }

    /// Counts bytes that stay in memory as long as the result. It is the same bytes.
    pub fn charge<T>(self: &Arc<Self>, account: Account, bytes: T) -> Result<Bytes, BudgetFull>
    where
        T: AsRef<[u8]> + Send + 'static,
    {
        let hold = self.take(account, bytes.as_ref().len())?;
        Ok(Bytes::from_owner(ChargedBytes::new(bytes, hold)))
    }

    /// All bytes that are counted now, with those in the allowance for small bodies.
    pub fn all_bytes(&self) -> usize {
        self.total() + self.allowance.total()
    }

    /// The bytes that are counted now, without those in the allowance for small bodies.
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
            Account::User(_) | Account::Sessions(_) => quarter,
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
        // Only answers are ended early; requests have time limits.
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
            Self::Bodies => "bodies",
            Self::Answers => "unread answers",
        }
    }

    fn way_out(self) -> &'static str {
        match self {
            Self::Bodies => {
                "a body counts until its request ends: wait for earlier requests, send each body without a pause, or make fewer requests at a time (`max_unfinished_body_bytes`)"
            }
            Self::Answers => {
                "read each answer without a pause, or request fewer at a time (`max_unread_answer_bytes`)"
            }
        }
    }
}

#[cfg(test)]
mod tests;
