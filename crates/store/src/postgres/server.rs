//! [`Server`]: the database server, as this svc server sees it. Opens connections and logs outages.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use uuid::Uuid;

use super::{Connection, DatabaseUrl, connect::Connector, error, presence::Presence};
use crate::{connection::Access, error::StoreError};

/// Time after a failure to connect in which further attempts return the same error.
const CONNECT_PAUSE: Duration = Duration::from_millis(500);

/// Opens connections to the database.
pub(crate) struct Server {
    pub(super) connector: Connector,
    pub(super) presence: Arc<Presence>,
    /// Distinguishes this server's notifications from those of other servers.
    pub(super) origin: String,
    failed: Mutex<Option<(Instant, StoreError)>>,
}

impl Server {
    pub(crate) fn new(url: DatabaseUrl) -> Self {
        Self {
            connector: Connector::new(url),
            presence: Arc::new(Presence::new()),
            origin: Uuid::now_v7().simple().to_string(),
            failed: Mutex::default(),
        }
    }

    /// Opens a connection, unless the database is away or opening one has just failed.
    pub(crate) fn connect(&self, access: Access) -> Result<Connection, StoreError> {
        self.presence.check()?;
        if let Some((at, error)) = &*self.failed.lock()
            && at.elapsed() < CONNECT_PAUSE
        {
            return Err(error.clone());
        }
        let opened = Connection::open(self, access);
        let failed = opened.as_ref().err().cloned();
        self.log_outage(failed);
        opened
    }

    /// Lets every request fail until the database answers again.
    pub(super) fn declare_away(&self, why: &str) {
        if self.presence.check().is_ok() {
            let error = self.unreachable(why);
            self.presence.set_away(&error);
            self.log_outage(Some(error));
        }
    }

    /// The database has answered a heartbeat.
    pub(super) fn declare_back(&self) {
        self.presence.answered();
        if self.presence.set_back() {
            self.log_outage(None);
        }
    }

    /// Logs an outage once when it begins and once when it ends.
    fn log_outage(&self, failed: Option<StoreError>) {
        let mut before = self.failed.lock();
        match (before.is_some(), &failed) {
            (false, Some(error)) => {
                tracing::error!(target: crate::LOG_TARGET, "{error}; calls continue, requests that need the database are rejected");
            }
            (true, None) => {
                tracing::info!(target: crate::LOG_TARGET, "the database can be reached again")
            }
            _ => {}
        }
        *before = failed.map(|error| (Instant::now(), error));
    }

    /// The error for a database that cannot be reached.
    pub(super) fn unreachable(&self, why: &str) -> StoreError {
        let hint = error::hint(why);
        StoreError::Unavailable(format!("{}: {why}{hint}", self.connector.url))
    }
}
