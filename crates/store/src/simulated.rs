//! A database for simulations: SQLite in memory, shared by the stores of several servers, on one
//! thread.
//!
//! Writer, reader, batches and statements are those of the product. Only the threads are replaced:
//! [`StoreTasks::run`] is a future that does their work, so that a simulated clock and a seed
//! decide everything that happens. Dropping this future ends a server like `kill -9`. [`Faults`]
//! decides how long a transaction waits and whether its commit fails. [`PlantedFault`] breaks a
//! rule of the store on purpose, to prove that a simulation notices.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use futures_util::future::{join, join_all};
use parking_lot::Mutex;
use svc_clock::Clock;
use svc_core::Timestamp;
use tokio::{sync::mpsc, time::sleep};

use super::{
    OpenError, Store, StoreError,
    connection::{Access, Connection, Database},
    engine::{Command, Counters, Reader, Writer},
    handle::{Queues, StoreOptions},
    migrations,
    read_pool::ReadPool,
    sql::Row,
    sqlite,
    store_clock::StoreClock,
    value::Value,
};

/// Decides what happens to the transactions of one server.
pub trait Faults: Send + Sync + 'static {
    /// How long the next transaction waits before it runs.
    fn delay(&self) -> Duration;

    /// How long the server stays frozen from now on.
    fn frozen_for(&self) -> Duration;

    fn commit(&self) -> CommitFate;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitFate {
    Commits,
    /// Nothing is stored, and the callers get an error.
    Fails,
    /// Everything is stored, but the callers get an error.
    FailsAfterwards,
}

/// A rule that the store breaks on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedFault {
    /// A claim does not raise the fence of its lane. So the fence of an earlier holder stays valid,
    /// as if the fence were not checked.
    FenceNotChecked,
    /// The callers of a commit get their answer before the commit is durable.
    EarlyAcknowledgement,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct SimulatedDatabase(Arc<Shared>);

struct Shared {
    connection: Mutex<sqlite::Connection>,
    planted: Option<PlantedFault>,
    /// The number of the start of a server (`run`) whose acknowledged transaction is not durable
    /// yet.
    unfinished: Mutex<Option<u64>>,
}

impl SimulatedDatabase {
    /// A new database. Leases are measured by `clock`.
    pub fn open(clock: Clock, planted: Option<PlantedFault>) -> Result<Self, OpenError> {
        let connection = open_migrated(&Arc::new(StoreClock::new(clock)))?;
        Ok(Self(Arc::new(Shared {
            connection: Mutex::new(connection),
            planted,
            unfinished: Mutex::default(),
        })))
    }

    /// A store for a server that starts, and the tasks that answer the store. `run` is the number
    /// of this start: no two starts of any servers may have the same number.
    pub fn connect(&self, run: u64, faults: Arc<dyn Faults>) -> (Store, StoreTasks) {
        let options = StoreOptions::default();
        let (writes, write_commands) = mpsc::channel(options.queue);
        let channels = ReadPool::ALL.map(|_| mpsc::channel(options.queue));
        let (reads, read_commands): (_, Vec<_>) = channels.into_iter().unzip();
        let read_commands = ReadPool::ALL.into_iter().zip(read_commands).collect();
        let counters = Arc::new(Counters::default());
        let queues = Queues { writes, reads };
        let store = Store::of_queues(queues, Vec::new(), counters.clone(), true, Arc::default());
        let tasks = StoreTasks {
            link: ServerLink {
                database: self.clone(),
                run,
                faults,
            },
            batch_max: options.batch_max,
            counters,
            write_commands,
            read_commands,
        };
        (store, tasks)
    }

    /// Ends a server at once: transactions that were acknowledged and are not durable are lost.
    pub fn kill(&self, run: u64) {
        let mut unfinished = self.0.unfinished.lock();
        if *unfinished == Some(run) {
            *unfinished = None;
            let rolled_back = self.0.connection.lock().rollback();
            rolled_back.expect("the transaction is open");
        }
    }
}

thread_local! {
    /// A database with all migrations and nothing else. A simulation opens thousands of databases,
    /// and a copy takes a fraction of the time of the migrations.
    static MIGRATED: RefCell<Option<sqlite::Connection>> = const { RefCell::new(None) };
}

fn open_migrated(clock: &Arc<StoreClock>) -> Result<sqlite::Connection, OpenError> {
    let mut connection = open_empty(clock.clone())?;
    MIGRATED.with_borrow_mut(|migrated| {
        let migrated = match migrated {
            Some(migrated) => migrated,
            None => {
                let first = open_empty(clock.clone())?;
                migrations::migrate(&first)?;
                migrated.insert(first)
            }
        };
        connection.copy_from(migrated)?;
        Ok(connection)
    })
}

fn open_empty(clock: Arc<StoreClock>) -> Result<sqlite::Connection, StoreError> {
    let file = sqlite::DatabaseFile {
        path: PathBuf::from(":memory:"),
        busy_timeout: Duration::ZERO,
        outage: Arc::default(),
        point_steps: StoreOptions::default().point_steps,
    };
    sqlite::Connection::open(&file, Access::Write, clock)
}

/// Answers the store of one server.
pub struct StoreTasks {
    link: ServerLink,
    batch_max: usize,
    counters: Arc<Counters>,
    write_commands: mpsc::Receiver<Box<dyn Command>>,
    read_commands: Vec<(ReadPool, mpsc::Receiver<Box<dyn Command>>)>,
}

impl StoreTasks {
    /// Runs until the store is dropped.
    pub async fn run(self) {
        let Self {
            link,
            batch_max,
            counters,
            mut write_commands,
            read_commands,
        } = self;
        let faults = link.faults.clone();
        let database = Database::Simulated(link);
        let mut writer = Writer {
            database: database.clone(),
            connection: None,
            batch_max,
            counters,
        };
        let writing = async {
            while let Some(first) = write_commands.recv().await {
                wait(&*faults).await;
                writer.commit_waiting(first, &mut write_commands);
            }
        };
        let reading = read_commands.into_iter().map(|(pool, mut commands)| {
            let (database, faults) = (database.clone(), faults.clone());
            async move {
                // The queue in `Reader` stays unused: the loop below reads the commands.
                let (_, unused) = mpsc::channel(1);
                let mut reader = Reader {
                    database,
                    access: pool.access(),
                    connection: None,
                    commands: Arc::new(Mutex::new(unused)),
                };
                while let Some(command) = commands.recv().await {
                    wait(&*faults).await;
                    reader.answer(command);
                }
            }
        });
        join(writing, join_all(reading)).await;
    }
}

/// Waits until the next transaction may run.
async fn wait(faults: &dyn Faults) {
    sleep(faults.delay()).await;
    while !faults.frozen_for().is_zero() {
        sleep(faults.frozen_for()).await;
    }
}

/// Opens the connections of one server.
#[derive(Clone)]
pub(super) struct ServerLink {
    database: SimulatedDatabase,
    run: u64,
    faults: Arc<dyn Faults>,
}

impl ServerLink {
    pub(super) fn connect(&self, access: Access) -> SimulatedConnection {
        SimulatedConnection {
            link: self.clone(),
            access,
            is_open: Cell::new(false),
        }
    }
}

/// A connection of one server. No transaction waits between its begin and its end, so all servers
/// can share one connection to SQLite.
pub(super) struct SimulatedConnection {
    link: ServerLink,
    access: Access,
    /// Whether a transaction is open.
    is_open: Cell<bool>,
}

impl SimulatedConnection {
    fn shared(&self) -> &Shared {
        &self.link.database.0
    }

    fn with<T>(&self, work: impl FnOnce(&sqlite::Connection) -> T) -> T {
        work(&self.shared().connection.lock())
    }

    fn statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        match self.shared().planted {
            Some(PlantedFault::FenceNotChecked) => {
                sql.replace("fence = fence + 1", "fence = fence").into()
            }
            _ => sql.into(),
        }
    }
}

impl Drop for SimulatedConnection {
    fn drop(&mut self) {
        if self.is_open.get() {
            // SQLite does the same when a connection is closed. An error means that SQLite has
            // ended the transaction by itself.
            let _ = self.with(Connection::rollback);
        }
    }
}

impl Connection for SimulatedConnection {
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let sql = self.statement(sql);
        self.with(|connection| connection.query(&sql, values))
    }

    fn execute(&self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        let sql = self.statement(sql);
        self.with(|connection| connection.execute(&sql, values))
    }

    fn execute_script(&self, sql: &str) -> Result<(), StoreError> {
        self.with(|connection| connection.execute_script(sql))
    }

    fn begin(&self) -> Result<(), StoreError> {
        if self.shared().unfinished.lock().take().is_some() {
            self.with(Connection::commit)?;
        }
        self.with(|connection| {
            connection.control(match self.access {
                Access::Write => "BEGIN IMMEDIATE",
                Access::Read | Access::ReadPoint => "BEGIN",
            })
        })?;
        self.is_open.set(true);
        Ok(())
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.is_open.set(false);
        let failed = || StoreError::Commit("simulated".to_owned());
        match self.link.faults.commit() {
            CommitFate::Commits => match self.shared().planted {
                Some(PlantedFault::EarlyAcknowledgement) => {
                    *self.shared().unfinished.lock() = Some(self.link.run);
                    Ok(())
                }
                _ => self.with(Connection::commit),
            },
            CommitFate::Fails => {
                self.with(Connection::rollback)?;
                Err(failed())
            }
            CommitFate::FailsAfterwards => {
                self.with(Connection::commit)?;
                Err(failed())
            }
        }
    }

    fn rollback(&self) -> Result<(), StoreError> {
        self.is_open.set(false);
        self.with(Connection::rollback)
    }

    fn check_transaction(&self) -> Result<(), StoreError> {
        self.with(Connection::check_transaction)
    }

    fn now(&self) -> Result<Timestamp, StoreError> {
        self.with(Connection::now)
    }

    fn is_shared(&self) -> bool {
        true
    }
}
