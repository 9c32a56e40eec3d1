//! The memory of the answers to one request, from the arrival of the first reply until the last
//! byte is written to the socket.
//!
//! A reply of a method belongs to the caller as soon as it arrives at the server, whether or not
//! the task of the caller runs ([`charge_reply`]). The answer that is made of the reply is a copy,
//! and replaces it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::UserId;

use super::{Account, BudgetFull, ByteBudget, Reservation};

/// Answers of up to this size are not counted: they are as large as the buffers of a connection,
/// and counting would take a lock for each call.
pub const UNCOUNTED_BYTES_MAX: usize = 16 * 1024;

/// Counts a reply that has just arrived for a caller, if it is large. The bytes stay counted as
/// long as the result exists.
pub fn charge_reply(
    budget: &Arc<ByteBudget>,
    caller: UserId,
    reply: Bytes,
) -> Result<Bytes, BudgetFull> {
    match reply.len() <= UNCOUNTED_BYTES_MAX {
        true => Ok(reply),
        false => budget.charge(Account::User(caller), reply),
    }
}

/// Counts the answers to one request. Small, because the future of each call contains one.
#[derive(Default)]
pub struct AnswerHold {
    /// The sum of all answers so far. Up to [`UNCOUNTED_BYTES_MAX`], nothing is counted.
    bytes: AtomicUsize,
    reservation: Mutex<Option<Box<Reservation>>>,
}

impl AnswerHold {
    /// Counts one more answer. It replaces a reply of `replaced` bytes, which the caller drops at
    /// once.
    pub fn add(
        &self,
        budget: &Arc<ByteBudget>,
        user: UserId,
        (bytes, replaced): (usize, usize),
    ) -> Result<(), BudgetFull> {
        let total = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if total <= UNCOUNTED_BYTES_MAX {
            return Ok(());
        }
        // Small replies are not counted.
        let replaced = match replaced > UNCOUNTED_BYTES_MAX {
            true => replaced,
            false => 0,
        };
        let grown = self.grow_to(budget, user, (total, replaced));
        if grown.is_err() {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        grown
    }

    fn grow_to(
        &self,
        budget: &Arc<ByteBudget>,
        user: UserId,
        (bytes, replaced): (usize, usize),
    ) -> Result<(), BudgetFull> {
        let account = Account::User(user);
        let begin = || Box::new(budget.begin(account));
        self.reservation
            .lock()
            .get_or_insert_with(begin)
            .grow_replacing(bytes, replaced)
    }

    /// The sum of all answers so far.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts at least this many bytes: the size of the whole answer is known.
    pub fn set(
        &self,
        budget: &Arc<ByteBudget>,
        user: UserId,
        bytes: usize,
    ) -> Result<(), BudgetFull> {
        self.grow_to(budget, user, (bytes, 0))
    }

    /// `None` if nothing is counted.
    pub fn into_counted(mut self) -> Option<Arc<Self>> {
        let is_counted = self.reservation.get_mut().is_some();
        is_counted.then(|| Arc::new(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    #[test]
    fn many_small_answers_to_one_request_are_counted_together() {
        let budget = Arc::new(ByteBudget::of_answers(400 * KIB));
        let user = UserId(uuid::Uuid::from_u128(1));
        let hold = AnswerHold::default();
        let add = |bytes| hold.add(&budget, user, (bytes, 0));
        for _ in 0..16 {
            add(KIB).expect("small");
        }
        assert_eq!(budget.total(), 0);
        add(KIB).expect("within the share");
        assert_eq!(budget.total(), 17 * KIB);
        let other = charge_reply(&budget, user, vec![0; 80 * KIB].into()).expect("within");
        add(4 * KIB).expect_err("over the share");
        // A refused answer is not counted.
        drop(other);
        add(KIB).expect("within the share");
        assert_eq!(budget.total(), 18 * KIB);
        drop(hold);
        assert_eq!(budget.total(), 0);
    }

    #[test]
    fn an_answer_takes_the_place_of_its_reply() {
        let budget = Arc::new(ByteBudget::of_answers(600 * KIB));
        let user = UserId(uuid::Uuid::from_u128(1));
        let reply = |bytes: usize| charge_reply(&budget, user, vec![0; bytes].into());
        let (first, second) = (reply(50 * KIB), reply(50 * KIB));
        let other = reply(50 * KIB);
        let hold = AnswerHold::default();
        let replace = |bytes| hold.add(&budget, user, (bytes, 50 * KIB));
        replace(50 * KIB).expect("as large as the reply");
        drop(first);
        assert_eq!(budget.total(), 150 * KIB);
        replace(51 * KIB).expect_err("larger, and the share is used up");
        drop((second, other));
        assert_eq!(budget.total(), 50 * KIB);
    }
}
