//! [`Presence`]: whether the database answers.
//!
//! If the database refuses connections, every request notices it. If the database does not react at
//! all, the heartbeat (`heartbeat`) notices it and declares the database away. Then every wait for
//! an answer ends, except in long transactions, and requests open no connection until the database
//! answers again. A connection from before an outage is never used again: it may lead to a
//! database host that is no longer the primary.

use std::{
    future::pending,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::error::StoreError;

pub(super) struct Presence {
    state: watch::Sender<State>,
    started: Instant,
    /// Milliseconds from `started` to the last answer on any connection.
    answered: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The number of outages so far.
    outages: u64,
    /// The error for requests while the database is away.
    away: Option<StoreError>,
}

impl Presence {
    pub(super) fn new() -> Self {
        Self {
            state: watch::Sender::default(),
            started: Instant::now(),
            answered: AtomicU64::default(),
        }
    }

    /// Fails while the database is away.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.state.borrow().away.clone().map_or(Ok(()), Err)
    }

    /// The number of outages so far. A connection stores this number when it is opened.
    pub(super) fn outages(&self) -> u64 {
        self.state.borrow().outages
    }

    /// Records an answer of the database on any connection.
    pub(super) fn answered(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.answered.fetch_max(now, Ordering::Relaxed);
    }

    /// The time since the last answer on any connection.
    pub(super) fn silence(&self) -> Duration {
        let answered = Duration::from_millis(self.answered.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(answered)
    }

    /// Declares the database away, unless it is already.
    pub(super) fn set_away(&self, error: &StoreError) {
        self.state.send_if_modified(|state| {
            let is_new = state.away.is_none();
            if is_new {
                state.outages += 1;
                state.away = Some(error.clone());
            }
            is_new
        });
    }

    /// Declares the database present. Returns whether it was away.
    pub(super) fn set_back(&self) -> bool {
        let mut was_away = false;
        self.state.send_if_modified(|state| {
            was_away = state.away.take().is_some();
            // No task is notified, because none waits for the end of an outage.
            false
        });
        was_away
    }

    /// Waits until more than `outages` outages have begun. Returns the error of the current outage,
    /// or [`lost_error`] if the outage is over.
    pub(super) async fn until_outage(&self, outages: u64) -> StoreError {
        let mut state = self.state.subscribe();
        let outage = match state.wait_for(|state| state.outages != outages).await {
            Ok(state) => Some(state.away.clone().unwrap_or_else(lost_error)),
            Err(_) => None,
        };
        match outage {
            Some(error) => error,
            None => pending().await,
        }
    }
}

/// The error for a connection from before an outage.
pub(super) fn lost_error() -> StoreError {
    StoreError::Unavailable("the connection was lost".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> StoreError {
        StoreError::Unavailable(text.to_owned())
    }

    #[tokio::test]
    async fn an_outage_ends_the_waits_of_earlier_connections_only() {
        let presence = Presence::new();
        let before = presence.outages();
        presence.check().expect("present");
        presence.set_away(&error("first"));
        presence.set_away(&error("second"));
        assert_eq!(presence.check(), Err(error("first")));
        assert_eq!(presence.until_outage(before).await, error("first"));
        assert!(presence.set_back());
        assert!(!presence.set_back());
        presence.check().expect("back");
        // A connection from before the outage is lost, even if its wait begins after the outage.
        assert_eq!(presence.until_outage(before).await, lost_error());
        let later = presence.until_outage(presence.outages());
        tokio::time::timeout(Duration::from_millis(20), later)
            .await
            .expect_err("no new outage");
    }

    #[test]
    fn any_answer_ends_the_silence() {
        let presence = Presence {
            started: Instant::now() - Duration::from_secs(60),
            ..Presence::new()
        };
        assert!(presence.silence() >= Duration::from_secs(60));
        presence.answered();
        assert!(presence.silence() < Duration::from_secs(30));
    }
}
