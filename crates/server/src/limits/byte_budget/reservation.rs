//! The part of a budget that one body holds.

use std::sync::Arc;

use super::{Account, BudgetFull, ByteBudget};

/// The part of a budget that one body holds; released when dropped.
pub struct Reservation {
    budget: Arc<ByteBudget>,
    account: Account,
    bytes: usize,
    /// Whether the bytes are taken from the allowance for small bodies.
    is_small: bool,
}

impl Reservation {
    pub fn new(budget: Arc<ByteBudget>, account: Account) -> Self {
        Self {
            budget,
            account,
            bytes: 0,
            is_small: false,
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

    /// Sets the reservation to the size of a body that is complete and will not grow.
    pub fn settle(&mut self, bytes: usize) -> Result<(), BudgetFull> {
        if self.bytes == 0 {
            self.is_small = self.budget.allowance.take(self.account, bytes);
            if self.is_small {
                self.bytes = bytes;
                return Ok(());
            }
        }
        self.grow_to(bytes)?;
        let spare = self.bytes - bytes;
        if spare > 0 {
            self.budget.release(self.account, spare);
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        match (self.bytes, self.is_small) {
            (0, _) => {}
            (bytes, true) => self.budget.allowance.release(self.account, bytes),
            (bytes, false) => self.budget.release(self.account, bytes),
        }
    }
}

/// Bytes with their reservation.
pub struct ChargedBytes<T> {
    bytes: T,
    _reservation: Reservation,
}

impl<T> ChargedBytes<T> {
    pub fn new(bytes: T, reservation: Reservation) -> Self {
        Self {
            bytes,
            _reservation: reservation,
        }
    }
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for ChargedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}
