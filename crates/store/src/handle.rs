//! [`Store`]: the handle for all reads and writes.

use std::{
    fmt, io,
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::{Notify, mpsc, oneshot};

use super::{
    DATABASE_FILE,
    connection::{Access, Connection, Database},
    engine::{Command, Counters, Job, Reader, Writer},
    error::{OpenError, StoreError},
    folder::{self, FolderLock},
    group::{Grouped, GroupedJob},
    migrations,
    outage::Outage,
    postgres::{self, DatabaseUrl},
    read_pool::{POINT_STEPS_MAX, ReadPool},
    sql::Tx,
    sqlite,
    store_clock::StoreClock,
    user_permits::UserPermits,
};
use svc_clock::Clock;

/// The maximum number of concurrent reads of long lists, for one user and for all users.
const LISTS_PER_USER_MAX: usize = 2;
const LISTS_MAX: usize = 8;

/// Sizes and timings of the store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Threads for [`Store::read`].
    pub readers: usize,
    /// The maximum number of steps of SQLite's virtual machine for one statement of
    /// [`Store::read`]. To read a record by its id takes about 50 steps.
    pub point_steps: u32,
    /// The maximum number of commands in a queue. If it is full, callers wait.
    pub queue: usize,
    /// The maximum number of commands in one commit.
    pub batch_max: usize,
    /// How long to wait for another process that holds the database, such as a backup.
    pub busy_timeout: Duration,
    /// Whether to listen for notifications of other servers. Otherwise their changes are found by
    /// polling.
    pub listen: bool,
    /// The clock of the embedded engine. With PostgreSQL, the time comes from the database.
    pub clock: Clock,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            readers: 2,
            point_steps: POINT_STEPS_MAX,
            queue: 1_024,
            batch_max: 256,
            busy_timeout: Duration::from_secs(10),
            listen: true,
            clock: Clock::system(),
        }
    }
}

impl StoreOptions {
    /// The number of connections to a shared database: those of the writer, the readers, the
    /// heartbeat and the listener.
    pub fn connections(&self) -> usize {
        let readers = ReadPool::ALL.map(|pool| pool.threads(self));
        2 + readers.iter().sum::<usize>() + usize::from(self.listen)
    }
}

/// Counters of the writer since it started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreStats {
    pub commits: u64,
    /// Commands that ran in those commits.
    pub commands: u64,
    /// Commands that wait for the next commit.
    pub waiting: usize,
}

/// The handle of the store; cheap to clone. The threads end after [`close`](Store::close), or when
/// the last clone is dropped. Queued commands finish first.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// The threads for the reads of this handle.
    reads: ReadPool,
}

struct Inner {
    /// Taken by `close`.
    queues: Mutex<Option<Queues>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    counters: Arc<Counters>,
    is_shared: bool,
    /// Notified when another server has committed a change.
    hints: Arc<Notify>,
    /// Limits concurrent reads of long lists.
    lists: UserPermits,
    listener: Mutex<Option<postgres::Listener>>,
    /// Whether the disk of the embedded database fails. With PostgreSQL, never reports an outage.
    outage: Arc<Outage>,
    heartbeat: Mutex<Option<postgres::Heartbeat>>,
}

pub(super) type Queue = mpsc::Sender<Box<dyn Command>>;

pub(super) struct Queues {
    pub(super) writes: Queue,
    /// One for each of [`ReadPool::ALL`].
    pub(super) reads: Vec<Queue>,
}

impl Store {
    /// Creates the data folder if it is missing, locks it, and migrates its database.
    pub fn open(data_dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(data_dir, StoreOptions::default())
    }

    pub fn open_with(data_dir: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        folder::prepare_folder(data_dir)?;
        let lock = Arc::new(FolderLock::acquire(data_dir)?);
        let file = data_dir.join(DATABASE_FILE);
        folder::prepare_file(&file).map_err(|source| OpenError::Create {
            path: file.clone(),
            source,
        })?;
        let clock = Arc::new(StoreClock::new(options.clock.clone()));
        let database = Database::Sqlite {
            file: sqlite::DatabaseFile {
                path: file,
                busy_timeout: options.busy_timeout,
                outage: Arc::default(),
                point_steps: options.point_steps,
            },
            clock: clock.clone(),
            _lock: lock,
        };
        let connection = database.open(Access::Write)?;
        migrations::migrate(&*connection)?;
        clock.follow_restart(&*connection)?;
        Self::start(database, connection, &options)
    }

    /// Connects to a database that several servers may share, and migrates it.
    pub async fn connect(url: DatabaseUrl, options: StoreOptions) -> Result<Self, OpenError> {
        let server = Arc::new(postgres::Server::new(url));
        let opening = tokio::task::spawn_blocking({
            let (server, options) = (server.clone(), options.clone());
            move || {
                let connection = server.connect(Access::Write)?;
                server.check(&connection)?;
                migrations::migrate(&connection)?;
                Self::start(Database::Postgres(server), Box::new(connection), &options)
            }
        });
        let store = opening
            .await
            .unwrap_or_else(|_| Err(StoreError::Panicked.into()))?;
        *store.inner.heartbeat.lock() = Some(postgres::Heartbeat::start(server.clone())?);
        if options.listen {
            let listener = postgres::listen(server, store.inner.hints.clone());
            *store.inner.listener.lock() = Some(listener);
        }
        Ok(store)
    }

    fn start(
        database: Database,
        connection: Box<dyn Connection>,
        options: &StoreOptions,
    ) -> Result<Self, OpenError> {
        let is_shared = connection.is_shared();
        let outage = match &database {
            Database::Sqlite { file, .. } => file.outage.clone(),
            _ => Arc::default(),
        };
        let counters = Arc::new(Counters::default());
        let (writes, write_commands) = mpsc::channel(options.queue);
        let writer = Writer {
            database: database.clone(),
            connection: Some(connection),
            batch_max: options.batch_max,
            counters: counters.clone(),
        };
        let mut threads = vec![spawn("svc-store-write", move || {
            writer.run(write_commands)
        })?];
        let mut reads = Vec::new();
        for pool in ReadPool::ALL {
            let (queue, commands) = mpsc::channel(options.queue);
            reads.push(queue);
            let commands = Arc::new(Mutex::new(commands));
            for _ in 0..pool.threads(options) {
                let reader = Reader {
                    database: database.clone(),
                    access: pool.access(),
                    connection: None,
                    commands: commands.clone(),
                };
                threads.push(spawn("svc-store-read", move || reader.run())?);
            }
        }
        let queues = Queues { writes, reads };
        let store = Self::of_queues(queues, threads, counters, is_shared, outage);
        Ok(store)
    }

    pub(super) fn of_queues(
        queues: Queues,
        threads: Vec<JoinHandle<()>>,
        counters: Arc<Counters>,
        is_shared: bool,
        outage: Arc<Outage>,
    ) -> Self {
        Self {
            reads: ReadPool::Point,
            inner: Arc::new(Inner {
                queues: Mutex::new(Some(queues)),
                threads: Mutex::new(threads),
                counters,
                is_shared,
                hints: Arc::default(),
                lists: UserPermits::new(LISTS_PER_USER_MAX, LISTS_MAX),
                listener: Mutex::default(),
                outage,
                heartbeat: Mutex::default(),
            }),
        }
    }

    /// A handle of the same store that reads on the threads for the delivery of events.
    pub fn for_delivery(&self) -> Self {
        self.reading_in(ReadPool::Delivery)
    }

    fn reading_in(&self, reads: ReadPool) -> Self {
        Self {
            inner: self.inner.clone(),
            reads,
        }
    }

    /// Whether other servers may work with the same database.
    pub fn is_shared(&self) -> bool {
        self.inner.is_shared
    }

    /// Waits until a notification reports a commit of another server. Only one task may wait.
    /// Notifications may get lost.
    pub async fn wait_for_hint(&self) {
        self.inner.hints.notified().await;
    }

    /// Runs a closure as one transaction. Returns `Ok` once the transaction is durably committed.
    /// If the closure returns `Err`, everything is rolled back. A caller that stops waiting does
    /// not stop the transaction.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.try_write(work).await
    }

    /// [`write`](Self::write) for closures with an error type of their own.
    pub async fn try_write<T, E>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.run(|queues| queues.writes.clone(), work).await
    }

    /// Like [`try_write`](Self::try_write), for a command that runs together with the waiting
    /// commands of its type.
    pub async fn write_grouped<G: Grouped>(&self, command: G) -> Result<G::Answer, G::Error> {
        let (answer, answered) = oneshot::channel();
        let command = Box::new(GroupedJob { command, answer });
        self.send(|queues| queues.writes.clone(), command).await?;
        answered
            .await
            .unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Runs a closure on one snapshot, for reads whose cost does not depend on how many records are
    /// stored: records by their id or name, one page of an index, a bounded window. Statements that
    /// write are rejected. A statement that exceeds [`StoreOptions::point_steps`] is interrupted and
    /// logged: it would delay the logins and requests of all users. On PostgreSQL, the time of a
    /// statement is limited instead.
    ///
    /// Other reads belong to [`read_list`](Self::read_list) if a user requested them, and otherwise
    /// to [`read_table`](Self::read_table). A handle for deliveries has threads of its own. Its
    /// statements have no budget, but each must read a bounded number of records too.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let pool = self.reads as usize;
        self.run(|queues| queues.reads[pool].clone(), work).await
    }

    /// [`read`](Self::read) for a user's request whose cost depends on how much is stored: events,
    /// deliveries, calls, audit entries, counts. Uses a separate thread, and limits the number of
    /// concurrent reads of the user. A long history is read in several calls, each a bounded window,
    /// so that other users' reads run in between.
    pub async fn read_list<T: Send + 'static>(
        &self,
        user: UserId,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _permit = self.inner.lists.enter(user).await?;
        self.reading_in(ReadPool::History).read(work).await
    }

    /// [`read`](Self::read) for whole tables: for copies in memory, metrics and background tasks.
    /// Uses a separate thread. Never for a request that a user can repeat at will.
    pub async fn read_table<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.reading_in(ReadPool::Tables).read(work).await
    }

    async fn run<T, E>(
        &self,
        queue: impl FnOnce(&Queues) -> Queue,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        self.send(queue, Box::new(Job { work, answer })).await?;
        answered
            .await
            .unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    async fn send(
        &self,
        queue: impl FnOnce(&Queues) -> Queue,
        command: Box<dyn Command>,
    ) -> Result<(), StoreError> {
        let queue = self.inner.queues.lock().as_ref().map(queue);
        let queue = queue.ok_or(StoreError::Closed)?;
        queue.send(command).await.map_err(|_| StoreError::Closed)
    }

    pub(super) fn outage(&self) -> &Outage {
        &self.inner.outage
    }

    pub fn stats(&self) -> StoreStats {
        let queues = self.inner.queues.lock();
        let waiting = queues.as_ref().map_or(0, |queues| {
            queues.writes.max_capacity() - queues.writes.capacity()
        });
        StoreStats {
            waiting,
            commits: self.inner.counters.commits.load(Ordering::Relaxed),
            commands: self.inner.counters.commands.load(Ordering::Relaxed),
        }
    }

    /// Rejects new commands, finishes those in the queues, ends the threads and unlocks the data
    /// folder. Closing again does nothing.
    pub async fn close(&self) {
        self.inner.queues.lock().take();
        self.inner.listener.lock().take();
        let threads = std::mem::take(&mut *self.inner.threads.lock());
        let joined = tokio::task::spawn_blocking(move || {
            threads.into_iter().all(|thread| thread.join().is_ok())
        });
        if !joined.await.unwrap_or(false) {
            tracing::error!(target: crate::LOG_TARGET, "a thread of the store panicked");
        }
        // The heartbeat ends last, because the threads need it to notice an outage.
        self.inner.heartbeat.lock().take();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("stats", &self.stats())
            .finish()
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|error: io::Error| OpenError::Thread(error))
}
