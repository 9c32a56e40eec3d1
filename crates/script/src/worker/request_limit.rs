//! Limits how many requests a worker may send in one piece of work, and how long an answer may
//! take.

use std::{future::Future, io};

use tokio::time::Instant;

use super::protocol::ToWorker;

/// Requests for libraries, in addition to the limit of calls to the host.
const LIBRARIES_MAX: usize = 1_000;

/// Why the exchange with a worker ended early.
pub(super) enum ExchangeEnd {
    TimeLimit,
    TooManyRequests,
    /// The work cannot be sent.
    Unsendable(io::Error),
    /// The worker sent an invalid message. The worker may still be running.
    InvalidMessage(io::Error),
    /// The worker's pipes are closed.
    Closed,
}

/// Limits the requests of a worker. The worker limits its requests too, but the parent does not
/// trust the worker.
pub(super) struct RequestLimit {
    left: usize,
    until: Option<Instant>,
}

impl RequestLimit {
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

    pub(super) fn count(&mut self) -> Result<(), ExchangeEnd> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or(ExchangeEnd::TooManyRequests)?;
        Ok(())
    }

    /// Ends waiting for an answer at the script's time limit: a waiting script cannot stop itself.
    pub(super) async fn within<T>(
        &self,
        answer: impl Future<Output = T>,
    ) -> Result<T, ExchangeEnd> {
        match self.until {
            Some(until) => tokio::time::timeout_at(until, answer)
                .await
                .map_err(|_| ExchangeEnd::TimeLimit),
            None => Ok(answer.await),
        }
    }
}
