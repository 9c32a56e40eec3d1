//! What a worker may ask in one piece of work, and how long an answer may take.

use std::{future::Future, io};

use tokio::time::Instant;

use super::protocol::ToWorker;

/// Questions beyond those of the limit that a worker gets answered: its libraries.
const LIBRARIES_MAX: usize = 1_000;

/// Why the exchange with a worker broke off.
pub(super) enum Break {
    OutOfTime,
    TooManyQuestions,
    /// The work cannot be sent.
    Refused(io::Error),
    /// It said what nobody understands: it may well go on.
    Garbled(io::Error),
    /// Its pipes are closed.
    Gone,
}

/// Bounds what a worker may ask. It counts by itself; but who says that it still does.
pub(super) struct Questions {
    left: usize,
    until: Option<Instant>,
}

impl Questions {
    pub(super) fn of(work: &ToWorker, until: Option<Instant>) -> Self {
        let left = match work {
            ToWorker::Run { setting, .. } => setting.limits.host_calls,
            _ => 0,
        };
        Self {
            left: left.saturating_add(LIBRARIES_MAX),
            until,
        }
    }

    pub(super) fn count(&mut self) -> Result<(), Break> {
        self.left = self.left.checked_sub(1).ok_or(Break::TooManyQuestions)?;
        Ok(())
    }

    /// A script that waits for its host does not stop by itself: it has no more time than that.
    pub(super) async fn within<T>(&self, answer: impl Future<Output = T>) -> Result<T, Break> {
        match self.until {
            Some(until) => tokio::time::timeout_at(until, answer)
                .await
                .map_err(|_| Break::OutOfTime),
            None => Ok(answer.await),
        }
    }
}
