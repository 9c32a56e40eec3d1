//! The end of a link: signalled once, with a goodbye if the other end must know the reason.

use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::control::Goodbye;

#[derive(Debug, Default)]
pub struct Closing {
    ended: CancellationToken,
    goodbye: Mutex<Option<Goodbye>>,
}

impl Closing {
    /// Ends the link with a goodbye. If called several times, the first reason is sent.
    pub fn end(&self, reason: Goodbye) {
        self.goodbye.lock().get_or_insert(reason);
        self.ended.cancel();
    }

    /// Ends the link without a goodbye, unless [`end`](Self::end) was called before.
    pub fn end_silently(&self) {
        self.ended.cancel();
    }

    pub fn is_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Waits until the link ends. The future may be polled again after that.
    pub fn ended(&self) -> WaitForCancellationFuture<'_> {
        self.ended.cancelled()
    }

    pub fn goodbye(&self) -> Option<Goodbye> {
        *self.goodbye.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_goodbye_is_sent() {
        let closing = Closing::default();
        assert!(!closing.is_ended());
        closing.end(Goodbye::Replaced);
        closing.end(Goodbye::Revoked);
        closing.end_silently();
        assert!(closing.is_ended());
        assert_eq!(closing.goodbye(), Some(Goodbye::Replaced));
    }
}
