//! Opens a connection.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};

use super::{ANSWER_MAX, CHANNEL, Connection, Server, connect::drive};
use crate::{connection::Access, error::StoreError};

/// The maximum time that an ordinary writing transaction may be idle. It holds the writers' lock,
/// so all other writers of the zone wait meanwhile. The transactions of a working server are
/// usually idle for microseconds only.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// The key of the writers' advisory lock: the ASCII codes of `svc`, then the number 1.
const WRITE_LOCK: i64 = 0x0073_7663_0000_0001;

impl Connection {
    pub(super) fn open(server: &Server, access: Access) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let outages = server.presence.outages();
        let opened = runtime.block_on(async {
            tokio::select! {
                biased;
                opened = server.connector.connect() => {
                    opened.map_err(|error| server.unreachable(&error.to_string()))
                }
                lost = server.presence.until_outage(outages) => Err(lost),
            }
        });
        let (client, messages) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // Does not wait for a name lookup that is still running.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        server.presence.answered();
        runtime.spawn(drive(messages));
        Ok(Self {
            runtime,
            client: Arc::new(client),
            presence: server.presence.clone(),
            outages,
            access,
            begin_write: format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
                 SET LOCAL client_min_messages = warning; \
                 SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout = '8s'; \
                 SET LOCAL idle_in_transaction_session_timeout = {}; \
                 SELECT pg_advisory_xact_lock({WRITE_LOCK}); \
                 SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
                IDLE_MAX.as_millis()
            ),
            begin_long: format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
                 SET LOCAL client_min_messages = warning; SET LOCAL lock_timeout = '10min'; \
                 SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN \
                 ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'); \
                 SELECT pg_advisory_xact_lock({WRITE_LOCK}); \
                 SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
            ),
            notify: format!("NOTIFY {CHANNEL}, '{}'", server.origin),
            statements: RefCell::default(),
            pending: RefCell::default(),
            pending_bytes: Cell::default(),
            now: Cell::default(),
            hint: Cell::default(),
            answer_max: Cell::new(ANSWER_MAX),
            timed_out: Cell::default(),
        })
    }
}
