//! A private PostgreSQL for tests, from the programs installed on this machine. It runs in a
//! temporary folder on its own port, and is removed when its value is dropped or the test process
//! ends.

mod install;
mod keeper;
mod standby;
#[cfg(test)]
mod tests;

use std::{
    path::Path,
    process::Output,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use self::{install::Installation, keeper::Keeper};
use crate::{
    ports::free_port,
    process::{resume_all, suspend_all},
    server::fixture_file,
    skip::found_or_skipped,
};

const USER: &str = "svc";
/// A database that every cluster has, for commands that may run in any database.
const ANY_DATABASE: &str = "postgres";
/// Over TCP, with or without TLS, only [`GUARDED_USER`] needs a password. Over the Unix socket, no
/// user needs one.
const ADMISSION: &str = "local all all trust\n\
     host replication all 127.0.0.1/32 trust\n\
     host all guarded 127.0.0.1/32 scram-sha-256\n\
     host all all 127.0.0.1/32 trust\n";
/// A role that a test may create. It needs its password over TCP.
pub const GUARDED_USER: &str = "guarded";
/// The certificate for TLS connections; `ca.pem` is its authority.
const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";
/// Another process may take a port between our check and the start of the server.
const START_ATTEMPTS: usize = 5;

static SHARED: OnceLock<Option<TestPostgres>> = OnceLock::new();
static DATABASES: AtomicU32 = AtomicU32::new(1);

pub struct TestPostgres {
    installation: Installation,
    keeper: Keeper,
    port: u16,
    /// The server's process; `None` while it is stopped.
    server: Option<u32>,
    durable: bool,
    /// The port of the primary, if this server began as a standby.
    primary: Option<u16>,
}

/// An empty database, removed with its PostgreSQL.
#[derive(Clone, Debug)]
pub struct TestDatabase {
    pub name: String,
    /// The URL over TCP.
    pub url: String,
    /// The URL over the Unix socket.
    pub socket_url: String,
}

impl TestPostgres {
    /// The cluster that all tests of this process share. If PostgreSQL is not installed, prints a
    /// message and returns `None`. With `SVC_REQUIRE_POSTGRES=1`, fails the test instead.
    pub fn find() -> Option<&'static Self> {
        SHARED.get_or_init(Self::own).as_ref()
    }

    /// A cluster for this test alone, which may be stopped. It does not sync to disk.
    pub fn own() -> Option<Self> {
        Self::launch(false)
    }

    /// A cluster for this caller alone that syncs commits to disk, as in production: for
    /// measurements.
    pub fn own_durable() -> Option<Self> {
        Self::launch(true)
    }

    fn launch(durable: bool) -> Option<Self> {
        let installation = found_or_skipped(
            Installation::find(),
            "SVC_REQUIRE_POSTGRES",
            "PostgreSQL is missing",
        )?;
        let mut keeper = Keeper::start(&installation);
        keeper.init();
        Some(Self::launch_in(keeper, installation, durable, None, None))
    }

    /// Starts a server with existing data, on `port`, or on a free port if `port` is `None`.
    fn launch_in(
        keeper: Keeper,
        installation: Installation,
        durable: bool,
        primary: Option<u16>,
        port: Option<u16>,
    ) -> Self {
        keeper.write("hba.conf", ADMISSION.as_bytes());
        for name in [CERTIFICATE, KEY] {
            let text = std::fs::read(fixture_file(name)).expect("a fixture can be read");
            installation.entrust(&keeper.write(name, &text));
        }
        let mut postgres = Self {
            installation,
            keeper,
            port: 0,
            server: None,
            durable,
            primary,
        };
        for _ in 0..START_ATTEMPTS {
            postgres.port = port.unwrap_or_else(free_port);
            let settings = postgres.settings();
            postgres
                .keeper
                .write("postgresql.conf", settings.as_bytes());
            match postgres.keeper.start_server() {
                Ok(id) => {
                    postgres.server = Some(id);
                    return postgres;
                }
                Err(log) if log.contains("could not create any TCP/IP sockets") => {
                    postgres.keeper.stop_server();
                }
                Err(log) => panic!("PostgreSQL does not start:\n{log}"),
            }
        }
        panic!("PostgreSQL found no free port:\n{}", postgres.keeper.log());
    }

    /// All settings. The server reads no other configuration file of this machine. Dynamic shared
    /// memory is in files of the folder, so that a killed server leaves none of it behind.
    fn settings(&self) -> String {
        let folder = self.folder().display().to_string().replace('\'', "''");
        let sync = if self.durable { "on" } else { "off" };
        format!(
            "listen_addresses = '127.0.0.1'\n\
             port = {}\n\
             unix_socket_directories = '{folder}'\n\
             max_connections = 200\n\
             wal_keep_size = 128MB\n\
             fsync = {sync}\n\
             full_page_writes = {sync}\n\
             dynamic_shared_memory_type = mmap\n\
             hba_file = '{folder}/hba.conf'\n\
             ssl = on\n\
             ssl_cert_file = '{folder}/{CERTIFICATE}'\n\
             ssl_key_file = '{folder}/{KEY}'\n\
             {}",
            self.port,
            self.standby_settings()
        )
    }

    /// A fresh, empty database.
    pub fn database(&self) -> TestDatabase {
        // All clusters of this process share one counter, so that a name is unique.
        let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        self.sql(
            ANY_DATABASE,
            &format!("CREATE DATABASE {name} TEMPLATE template0"),
        );
        TestDatabase {
            url: format!("postgres://{USER}@127.0.0.1:{}/{name}", self.port),
            socket_url: format!(
                "postgres://{USER}@/{name}?host={}&port={}",
                self.folder().display(),
                self.port
            ),
            name,
        }
    }

    /// Runs SQL in a database and returns its rows, one per line, columns separated by `|`.
    #[track_caller]
    pub fn sql(&self, database: &str, text: &str) -> String {
        self.try_sql(database, text)
            .unwrap_or_else(|said| panic!("{text}: {said}\n{}", self.keeper.log()))
    }

    /// Like [`sql`](Self::sql), but returns the message as `Err` if the SQL is refused.
    pub fn try_sql(&self, database: &str, text: &str) -> Result<String, String> {
        let said = self.psql(database, text);
        match said.status.success() {
            true => Ok(text_of(&said.stdout)),
            false => Err(text_of(&said.stderr)),
        }
    }

    /// `target`: a database, or a URL.
    fn psql(&self, target: &str, text: &str) -> Output {
        self.installation
            .command("psql")
            .args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"])
            .args(["--set=ON_ERROR_STOP=1", "--no-password", "--username", USER])
            .arg("--host")
            .arg(self.folder())
            .args(["--port", &self.port.to_string()])
            .args(["--dbname", target, "--command", text])
            .output()
            .unwrap_or_else(|error| panic!("`psql` does not start: {error}"))
    }

    /// Closes all connections to a database, and returns their number.
    pub fn kill_connections(&self, database: &str) -> usize {
        // 10000 is the number of milliseconds to wait for the end of each connection.
        let cut_off = format!(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
             WHERE datname = '{database}'"
        );
        let ended = self.sql(ANY_DATABASE, &cut_off);
        ended.lines().filter(|&ended| ended == "t").count()
    }

    /// Ends the server: connections are closed, and new ones are refused until
    /// [`start`](Self::start).
    pub fn stop(&mut self) {
        self.keeper.stop_server();
        self.server = None;
    }

    /// Ends the server in immediate mode, so that its next start recovers from a crash.
    pub fn crash(&mut self) {
        self.keeper.crash_server();
        self.server = None;
    }

    /// Starts the server again, at the same addresses and with the same databases.
    pub fn start(&mut self) {
        assert!(self.server.is_none(), "the server is running");
        let id = self.keeper.start_server();
        self.server = Some(id.unwrap_or_else(|log| panic!("PostgreSQL does not start:\n{log}")));
    }

    /// Sends SIGSTOP to all processes of the server. Connections stay open without responses, as if
    /// the network dropped all packets.
    pub fn freeze(&self) {
        if let Some(id) = self.server {
            suspend_all(id);
        }
    }

    /// SIGCONT: resumes a frozen cluster.
    pub fn thaw(&self) {
        if let Some(id) = self.server {
            resume_all(id);
        }
    }

    /// The TCP port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server's process id; `None` while it is stopped.
    pub fn id(&self) -> Option<u32> {
        self.server
    }

    /// The folder of the server's data, socket and log.
    pub fn folder(&self) -> &Path {
        self.keeper.folder()
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        // A frozen server would not get the signal to end.
        self.thaw();
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
