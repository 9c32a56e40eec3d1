//! The part of a budget that one body holds.

use std::sync::Arc;

use super::{Account, BudgetFull, ByteBudget, allowance::Taken};

/// The bytes of a body that still arrives, or of answers that grow; released when dropped.
pub struct Reservation {
    budget: Arc<ByteBudget>,
    account: Account,
    bytes: usize,
}

/// The bytes of something that is complete and will not grow; released when dropped. Small, because
/// the future of each call contains one.
pub enum Hold {
    /// Taken from the allowance for small bodies.
    Small(Arc<ByteBudget>, Taken),
    Exact(Box<Reservation>),
}

impl Reservation {
    pub fn new(budget: Arc<ByteBudget>, account: Account) -> Self {
        Self {
            budget,
            account,
            bytes: 0,
        }
    }

    /// Grows the reservation of a body that still arrives to this many bytes.
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

    /// Sets the reservation to the size of a body that has arrived completely.
    pub fn settle(mut self, bytes: usize) -> Result<Hold, BudgetFull> {
        self.grow_to(bytes)?;
        let spare = self.bytes - bytes;
        if spare > 0 {
            self.budget.release(self.account, spare);
            self.bytes = bytes;
        }
        Ok(Hold::Exact(Box::new(self)))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.release(self.account, self.bytes);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Self::Small(budget, taken) = self {
            budget.allowance.release(*taken);
        }
    }
}

/// Bytes that are counted as long as they exist.
pub struct ChargedBytes<T> {
    bytes: T,
    _hold: Hold,
}

impl<T> ChargedBytes<T> {
    pub fn new(bytes: T, hold: Hold) -> Self {
        Self { bytes, _hold: hold }
    }
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for ChargedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}
