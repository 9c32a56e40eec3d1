//! The engine for PostgreSQL, which the servers of a zone share.
//!
//! Parts: [`Server`] opens connections. Each [`Connection`] is used by one thread. `address` parses
//! the URL, `connect` finds the host that accepts writes, `timeline` recognises a former primary,
//! `presence` and `heartbeat` notice a database that does not answer, `types` converts values,
//! `listen` receives the notifications of other servers.
//!
//! A transaction that writes begins with the advisory lock of the zone. So such transactions run
//! one after the other, as in SQLite, and rules that read before they write need no other lock. The
//! database disconnects a server that stays idle in such a transaction longer than
//! `open::IDLE_MAX`, except in a long transaction. Round trips dominate the cost, so statements
//! whose outcome is not needed at once are sent without waiting.

mod address;
mod check;
mod connect;
mod error;
mod heartbeat;
mod listen;
mod open;
mod presence;
mod proving;
mod server;
mod timeline;
mod types;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_util::future::try_join_all;
use svc_core::Timestamp;
use tokio::{runtime::Runtime, time::timeout};
use tokio_postgres::{Client, SimpleQueryMessage, Statement, types::ToSql};

use self::presence::Presence;
pub use self::{
    address::{AddressError, DatabaseUrl},
    proving::{ProvingError, ProvingSchema},
};
pub(super) use self::{
    heartbeat::Heartbeat,
    listen::{Listener, listen},
    server::Server,
    types::without_zero_bytes,
};
use super::{
    connection::{self, Access, Connection as _},
    error::StoreError,
    sql::{Query, Row},
    value::Value,
};

/// The maximum time to open a connection to one address.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// The maximum time for an answer while the database answers on other connections. After this time
/// the connection is not used again. The time limits of the database end statements earlier.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// The maximum time for an answer in a long transaction, whose commit may take long. The operating
/// system detects a dead network earlier.
const LONG_ANSWER_MAX: Duration = Duration::from_secs(60 * 60);
/// The maximum number of statements that are sent before their outcomes are read, and the maximum
/// number of bytes of their values.
const PENDING_MAX: usize = 1_000;
const PENDING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The maximum number of prepared statements of a connection. At this number all are dropped.
const STATEMENTS_MAX: usize = 512;
/// The channel of notifications.
const CHANNEL: &str = "svc_zone";

/// Begins a transaction that reads. `$timeout` is the maximum time of one statement.
macro_rules! begin_read {
    ($timeout:literal) => {
        concat!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '",
            $timeout,
            "'; SET LOCAL idle_in_transaction_session_timeout = '60s'; ",
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        )
    };
}
const BEGIN_READ: &str = begin_read!("10s");
const BEGIN_READ_POINT: &str = begin_read!("2s");

/// A statement that was sent and whose outcome was not read yet. Returns the time, if the statement
/// queries it.
type PendingStatement =
    Pin<Box<dyn Future<Output = Result<Option<Timestamp>, tokio_postgres::Error>> + Send>>;

struct PreparedStatement {
    statement: Statement,
    columns: Arc<[String]>,
}

pub(super) struct Connection {
    /// Drives only this connection, while the connection's thread waits for an answer.
    runtime: Runtime,
    client: Arc<Client>,
    presence: Arc<Presence>,
    /// The number of outages when the connection was opened. After another outage no transaction
    /// begins on the connection.
    outages: u64,
    access: Access,
    begin_write: String,
    begin_long: String,
    notify: String,
    statements: RefCell<HashMap<String, Arc<PreparedStatement>>>,
    pending: RefCell<Vec<PendingStatement>>,
    /// Bytes of the values of these statements.
    pending_bytes: Cell<usize>,
    /// The database's time when the transaction began; `None` until the answer to BEGIN is read.
    now: Cell<Option<Timestamp>>,
    hint: Cell<bool>,
    /// How long an answer may take in this transaction.
    answer_max: Cell<Duration>,
    /// Set when a wait ended without an answer: at the time limit, or because of an outage.
    timed_out: Cell<bool>,
}

impl Connection {
    /// Sends the statement that begins a transaction. [`settle`](Self::settle) waits for it.
    fn send_begin(&self, begin: &str, answer_max: Duration) -> Result<(), StoreError> {
        if self.presence.outages() != self.outages {
            return Err(presence::lost_error());
        }
        // Read the outcomes of an earlier transaction, such as its ROLLBACK.
        self.settle()?;
        self.now.set(None);
        self.hint.set(false);
        self.answer_max.set(answer_max);
        let (client, begin) = (self.client.clone(), begin.to_owned());
        self.send_without_waiting(async move {
            let messages = client.simple_query(&begin).await?;
            let now = single_text(&messages).and_then(|text| text.parse().ok());
            Ok(now.map(Timestamp))
        })
    }

    fn prepare(&self, sql: &str) -> Result<Arc<PreparedStatement>, StoreError> {
        if let Some(prepared) = self.statements.borrow().get(sql) {
            return Ok(prepared.clone());
        }
        let statement = self.wait(self.client.prepare(&types::translate(sql)));
        self.settle()?;
        let statement = statement?;
        let columns = statement.columns().iter();
        let prepared = Arc::new(PreparedStatement {
            columns: columns.map(|column| column.name().to_owned()).collect(),
            statement,
        });
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= STATEMENTS_MAX {
            statements.clear();
        }
        statements.insert(sql.to_owned(), prepared.clone());
        Ok(prepared)
    }

    /// Sends a statement without waiting for its outcome. An error means that the statement was not
    /// sent: the transaction must not be committed without it.
    fn send_without_waiting(
        &self,
        sending: impl Future<Output = Result<Option<Timestamp>, tokio_postgres::Error>> + Send + 'static,
    ) -> Result<(), StoreError> {
        let mut sending: PendingStatement = Box::pin(sending);
        // The first poll passes the message to the connection, so the messages have the order of
        // the polls.
        let polled = self.runtime.block_on(std::future::poll_fn(|context| {
            Poll::Ready(sending.as_mut().poll(context))
        }));
        let pending: PendingStatement = match polled {
            Poll::Ready(Err(error)) => return Err(error::translate(&error, self.access)),
            Poll::Ready(done) => Box::pin(std::future::ready(done)),
            Poll::Pending => sending,
        };
        self.pending.borrow_mut().push(pending);
        Ok(())
    }

    fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        if self.timed_out.get() {
            return Err(timeout_error());
        }
        let answer_max = self.answer_max.get();
        // A short outage does not end a long transaction.
        let ends_at_outage = answer_max != LONG_ANSWER_MAX;
        // The timeout is created inside the runtime, because it needs the runtime's timer.
        let answered = self.runtime.block_on(async {
            tokio::select! {
                biased;
                answer = timeout(answer_max, answer) => answer.map_err(|_| timeout_error()),
                lost = self.presence.until_outage(self.outages), if ends_at_outage => Err(lost),
            }
        });
        match answered {
            Ok(answer) => {
                if answer.is_ok() {
                    self.presence.answered();
                }
                answer.map_err(|error| error::translate(&error, self.access))
            }
            Err(error) => {
                self.timed_out.set(true);
                Err(error)
            }
        }
    }
}

impl connection::Connection for Connection {
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let prepared = self.prepare(sql)?;
        let params = types::params(values);
        let rows = self.wait(self.client.query(&prepared.statement, &params));
        self.settle()?;
        if let Err(StoreError::Unavailable(why)) = &rows
            && why == error::POINT_TIMEOUT
        {
            tracing::warn!(target: crate::LOG_TARGET, statement = sql,
                "a read that should be small took longer than 2 s: the database is slow, or the statement reads too many records"
            );
        }
        rows?
            .iter()
            .map(|row| Ok(Row::new(prepared.columns.clone(), types::read_row(row)?)))
            .collect()
    }

    fn query_all(&self, queries: &[Query]) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut prepared = Vec::new();
        for query in queries {
            prepared.push(self.prepare(&query.sql)?);
        }
        let params: Vec<_> = queries
            .iter()
            .map(|query| types::params(&query.values))
            .collect();
        let sent = prepared.iter().zip(&params);
        // All queries are polled before the first answer is read, so they are sent together.
        let rows =
            self.wait(try_join_all(sent.map(|(prepared, params)| {
                self.client.query(&prepared.statement, params)
            })));
        self.settle()?;
        let read = |(prepared, rows): (&Arc<PreparedStatement>, Vec<_>)| {
            let rows = rows.iter();
            rows.map(|row| Ok(Row::new(prepared.columns.clone(), types::read_row(row)?)))
                .collect()
        };
        prepared.iter().zip(rows?).map(read).collect()
    }

    fn execute(&self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        let prepared = self.prepare(sql)?;
        let params = types::params(values);
        let changed = self.wait(self.client.execute(&prepared.statement, &params));
        self.settle()?;
        Ok(usize::try_from(changed?).unwrap_or(usize::MAX))
    }

    fn send(&self, sql: &str, values: &[Value]) -> Result<(), StoreError> {
        let prepared = self.prepare(sql)?;
        let bytes = values.iter().map(Value::size).sum::<usize>();
        self.pending_bytes.set(self.pending_bytes.get() + bytes);
        if self.pending.borrow().len() >= PENDING_MAX
            || self.pending_bytes.get() >= PENDING_BYTES_MAX
        {
            self.settle()?;
        }
        let (client, values) = (self.client.clone(), values.to_vec());
        self.send_without_waiting(async move {
            let params = types::params(&values);
            client.execute(&prepared.statement, &params).await?;
            Ok(None)
        })
    }

    fn execute_script(&self, sql: &str) -> Result<(), StoreError> {
        let done = self.wait(self.client.batch_execute(&types::translate_schema(sql)));
        self.settle()?;
        done
    }

    fn control(&self, sql: &'static str) -> Result<(), StoreError> {
        let client = self.client.clone();
        self.send_without_waiting(async move { client.batch_execute(sql).await.map(|()| None) })
    }

    fn begin(&self) -> Result<(), StoreError> {
        self.begin_lazily()?;
        self.settle()
    }

    fn begin_lazily(&self) -> Result<(), StoreError> {
        let begin = match self.access {
            Access::Read => BEGIN_READ,
            Access::ReadPoint => BEGIN_READ_POINT,
            Access::Write => &self.begin_write,
        };
        self.send_begin(begin, ANSWER_MAX)
    }

    /// In this transaction, the database limits only the wait for a lock.
    fn begin_long(&self) -> Result<(), StoreError> {
        self.send_begin(&self.begin_long, LONG_ANSWER_MAX)?;
        self.settle()
    }

    /// Waits for the outcome. Otherwise the statement would be sent only with the next one, and the
    /// lock of the zone would be held until then.
    fn rollback(&self) -> Result<(), StoreError> {
        self.control("ROLLBACK")?;
        self.settle()
    }

    fn commit(&self) -> Result<(), StoreError> {
        if self.hint.get() {
            let (client, notify) = (self.client.clone(), self.notify.clone());
            self.send_without_waiting(async move {
                client.batch_execute(&notify).await.map(|()| None)
            })?;
        }
        self.control("COMMIT")?;
        let commit = self.pending.borrow_mut().pop();
        // After a failed statement, COMMIT rolls the transaction back.
        self.settle()?;
        match commit.map(|commit| self.wait(commit)) {
            Some(Err(error)) => Err(error.of_commit()),
            _ => Ok(()),
        }
    }

    fn settle(&self) -> Result<(), StoreError> {
        let pending = std::mem::take(&mut *self.pending.borrow_mut());
        self.pending_bytes.set(0);
        let mut result = Ok(());
        for sent in pending {
            match self.wait(sent) {
                Ok(Some(now)) => self.now.set(Some(now)),
                Ok(None) => {}
                // The first failure is the cause of the later ones.
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    fn check_transaction(&self) -> Result<(), StoreError> {
        if self.timed_out.get() || self.client.is_closed() {
            return Err(StoreError::Unavailable("it ended the session".to_owned()));
        }
        Ok(())
    }

    fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    fn now(&self) -> Result<Timestamp, StoreError> {
        if self.now.get().is_none() {
            self.settle()?;
        }
        self.now.get().ok_or(StoreError::NoRow)
    }

    fn hint(&self) {
        self.hint.set(true);
    }

    fn is_shared(&self) -> bool {
        true
    }
}

fn timeout_error() -> StoreError {
    StoreError::Unavailable("it did not answer in time".to_owned())
}

/// The first column of the last row that a simple query returned.
fn single_text(messages: &[SimpleQueryMessage]) -> Option<&str> {
    messages.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    })
}

/// The parameters of a statement, as the driver expects them.
type Params<'v> = Vec<&'v (dyn ToSql + Sync)>;
