//! The threads of the store: one writer that gathers waiting commands into one commit, and the
//! readers.
//!
//! Callers of a write get the result of their command only after the COMMIT of its batch has
//! returned. This includes the callers of failed commands: a command may have failed because of
//! changes of another command in the same batch, and these changes are rolled back if the COMMIT
//! fails. If the only command of a batch fails and belongs to no group, it is rolled back, and
//! there is no COMMIT.

use std::{
    any::{Any, TypeId},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::{
    batch::{Batch, Commands},
    connection::{Access, Connection, Database},
    error::StoreError,
    group::Group,
    sql::Tx,
};

/// A transaction in the queue of a thread. The trait hides the types of its closure and its answer.
pub(super) trait Command: Send {
    fn run(self: Box<Self>, tx: &mut Tx<'_>) -> Outcome;

    /// Answers with `error`, without running the transaction.
    fn refuse(self: Box<Self>, error: StoreError);

    /// Whether the caller has stopped waiting for the answer.
    fn is_abandoned(&self) -> bool;

    /// An empty group for commands of this type, if they can run together.
    fn new_group(&self) -> Option<(TypeId, Box<dyn Group>)> {
        None
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// Whether to keep the work of a command, and the channel for its answer.
pub(super) struct Outcome {
    keep: bool,
    /// Why the work cannot be kept although the command succeeded.
    fault: Option<StoreError>,
    reply: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

impl Outcome {
    pub(super) fn new<T, E>(result: Result<T, E>, answer: oneshot::Sender<Result<T, E>>) -> Self
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        Self {
            keep: result.is_ok(),
            fault: None,
            // A caller that stopped waiting needs no answer.
            reply: Box::new(move |committed| {
                let _ = answer.send(match committed {
                    Ok(()) => result,
                    Err(error) => Err(error.into()),
                });
            }),
        }
    }

    /// Runs a command and checks whether its work can be kept.
    pub(super) fn of(command: Box<dyn Command>, connection: &dyn Connection) -> Self {
        let mut tx = Tx::on(connection);
        let mut outcome = command.run(&mut tx);
        if let (Err(error), true) = (tx.end(), outcome.keep) {
            outcome.keep = false;
            outcome.fault = Some(error);
        }
        outcome
    }

    pub(super) fn is_kept(&self) -> bool {
        self.keep
    }

    pub(super) fn reply(self, committed: Result<(), StoreError>) {
        (self.reply)(self.fault.map_or(committed, Err));
    }
}

/// A closure and the channel for its answer.
pub(super) struct Job<F, T, E> {
    pub(super) work: F,
    pub(super) answer: oneshot::Sender<Result<T, E>>,
}

impl<F, T, E> Command for Job<F, T, E>
where
    F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    fn run(self: Box<Self>, tx: &mut Tx<'_>) -> Outcome {
        let Self { work, answer } = *self;
        Outcome::new(run_caught(|| work(tx)), answer)
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        let _ = self.answer.send(Err(error.into()));
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Runs a transaction; a panic becomes an error.
pub(super) fn run_caught<T, E: From<StoreError>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!(target: crate::LOG_TARGET, "a transaction of the store panicked; it is rolled back");
        Err(StoreError::Panicked.into())
    })
}

/// Counters of the writer, for metrics and tests.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) commands: AtomicU64,
}

pub(super) struct Writer {
    pub(super) database: Database,
    /// `None` after a failed transaction, until a connection is opened again.
    pub(super) connection: Option<Box<dyn Connection>>,
    pub(super) batch_max: usize,
    pub(super) counters: Arc<Counters>,
}

impl Writer {
    /// Runs until every sender is dropped and every command is answered.
    pub(super) fn run(mut self, mut commands: mpsc::Receiver<Box<dyn Command>>) {
        while let Some(first) = commands.blocking_recv() {
            self.commit_waiting(first, &mut commands);
        }
    }

    /// Commits a command together with the commands that wait behind it, up to `batch_max`
    /// commands.
    pub(super) fn commit_waiting(
        &mut self,
        first: Box<dyn Command>,
        commands: &mut mpsc::Receiver<Box<dyn Command>>,
    ) {
        let mut batch = Commands::from([first]);
        while batch.len() < self.batch_max {
            match commands.try_recv() {
                Ok(command) => batch.push_back(command),
                Err(_) => break,
            }
        }
        self.set_writing(true);
        self.commit(Batch::grouped(batch));
        self.set_writing(false);
    }

    fn set_writing(&self, is_writing: bool) {
        if let Some(outage) = self.database.outage() {
            outage.set_writing(is_writing);
        }
    }

    fn commit(&mut self, mut batch: Batch) {
        self.follow_clock();
        let was_open = self.connection.is_some();
        let begun = begin(
            &mut self.connection,
            &self.database,
            Access::Write,
            batch.is_repeatable(),
        );
        let was_begun = begun.is_ok();
        let error = match begun.and_then(|connection| batch.run(connection)) {
            Ok(()) => {
                self.counters.commits.fetch_add(1, Ordering::Relaxed);
                return self.reply(batch);
            }
            Err(error) => error,
        };
        let was_lost = self.connection.take().is_some_and(|there| there.is_lost());
        if was_open
            && was_lost
            && let Some(again) = batch.repeat_unsent()
        {
            // The database may have restarted since the last transaction, so try a new connection.
            return self.commit(again);
        }
        // An unreachable database is logged where the connection is opened, a failing disk by
        // `Outage`.
        let is_logged = error.is_outage() && (!was_begun || !self.database.is_shared());
        if !is_logged {
            tracing::error!(target: crate::LOG_TARGET, %error, "a commit of the store failed; its connection is reopened");
        }
        let split = was_begun.then(|| batch.split(&error)).flatten();
        match split {
            Some(commands) => self.commit(commands),
            None => batch.refuse(&error.of_commit()),
        }
    }

    /// Follows a change of the system clock. If this fails, the next commit tries again.
    fn follow_clock(&mut self) {
        if let (Database::Sqlite { clock, .. }, Some(connection)) =
            (&self.database, &self.connection)
            && let Err(error) = clock.follow(&**connection)
        {
            self.connection = None;
            if !error.is_outage() {
                tracing::error!(target: crate::LOG_TARGET, %error, "cannot follow the system clock; retrying");
            }
        }
    }

    fn reply(&self, batch: Batch) {
        let outcomes = batch.into_outcomes();
        let count = outcomes.len() as u64;
        self.counters.commands.fetch_add(count, Ordering::Relaxed);
        for outcome in outcomes {
            outcome.reply(Ok(()));
        }
    }
}

/// Begins a transaction on the open connection. If no connection is open, or if the transaction
/// cannot begin, opens a new connection: the database may have restarted since the last
/// transaction. With `lazily`, a later statement may be the first to report that the transaction
/// did not begin.
fn begin<'c>(
    connection: &'c mut Option<Box<dyn Connection>>,
    database: &Database,
    access: Access,
    lazily: bool,
) -> Result<&'c dyn Connection, StoreError> {
    let reused = connection.take().filter(|there| {
        let begun = match lazily {
            true => there.begin_lazily(),
            false => there.begin(),
        };
        begun.is_ok()
    });
    let begun = match reused {
        Some(begun) => begun,
        None => {
            let opened = database.open(access)?;
            opened.begin()?;
            opened
        }
    };
    Ok(&**connection.insert(begun))
}

/// One of several readers that share a queue.
pub(super) struct Reader {
    pub(super) database: Database,
    pub(super) access: Access,
    pub(super) connection: Option<Box<dyn Connection>>,
    pub(super) commands: Arc<Mutex<mpsc::Receiver<Box<dyn Command>>>>,
}

impl Reader {
    pub(super) fn run(mut self) {
        loop {
            let next = self.commands.lock().blocking_recv();
            let Some(command) = next else { return };
            // A read changes nothing, so it need not run if its caller stopped waiting.
            if !command.is_abandoned() {
                self.answer(command);
            }
        }
    }

    pub(super) fn answer(&mut self, command: Box<dyn Command>) {
        // In one transaction, all statements of a read see the same snapshot.
        if let Err(error) = begin(&mut self.connection, &self.database, self.access, false) {
            if !error.is_outage() {
                tracing::error!(target: crate::LOG_TARGET, %error, "a read of the store failed; its connection is reopened");
            }
            return command.refuse(error);
        }
        let Some(connection) = self.connection.take() else {
            return;
        };
        let outcome = Outcome::of(command, &*connection);
        outcome.reply(Ok(()));
        if connection.check_transaction().is_ok() && connection.rollback().is_ok() {
            self.connection = Some(connection);
        }
    }
}
