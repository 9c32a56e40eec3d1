//! A standby that follows a primary by streaming replication.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{ANY_DATABASE, Keeper, TestDatabase, TestPostgres, USER};
use crate::process::kill_all;

/// The name by which the primary knows its standby.
const NAME: &str = "standby";
/// Long, because a standby starts slowly on a machine that is busy with other tests.
const FOLLOW_LIMIT: Duration = Duration::from_secs(60);

impl TestPostgres {
    /// A standby of this server. The primary acknowledges a commit only after the standby has it.
    pub fn synchronous_standby(&self) -> Self {
        self.synchronous_standby_on(None)
    }

    /// Replaces a primary that was killed: promotes this standby, and starts a new standby on the
    /// port of the old primary. Returns the new standby.
    pub fn take_over(&self, old: Self) -> Self {
        let port = old.port;
        drop(old);
        self.promote();
        self.synchronous_standby_on(Some(port))
    }

    fn synchronous_standby_on(&self, port: Option<u16>) -> Self {
        let mut keeper = Keeper::start(&self.installation);
        keeper.copy(self.port);
        let installation = self.installation.clone();
        let standby = Self::launch_in(keeper, installation, self.durable, Some(self.port), port);
        self.sql(
            ANY_DATABASE,
            &format!("ALTER SYSTEM SET synchronous_standby_names = '{NAME}'"),
        );
        self.sql(ANY_DATABASE, "SELECT pg_reload_conf()");
        let state = "SELECT sync_state FROM pg_stat_replication";
        let begun = Instant::now();
        while self.sql(ANY_DATABASE, state) != "sync" {
            assert!(
                begun.elapsed() < FOLLOW_LIMIT,
                "the standby does not follow"
            );
            thread::sleep(Duration::from_millis(20));
        }
        standby
    }

    pub(super) fn standby_settings(&self) -> String {
        self.primary.map_or_else(String::new, |port| {
            format!(
                "primary_conninfo = 'host=127.0.0.1 port={port} user={USER} \
                 application_name={NAME}'\n\
                 wal_retrieve_retry_interval = 200ms\n"
            )
        })
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        self.sql(ANY_DATABASE, "SELECT pg_promote()");
    }

    /// SIGKILL for all processes of the server, like a power cut.
    pub fn kill9(&mut self) {
        let Some(id) = self.server else { return };
        let note = std::fs::read_to_string(self.folder().join("data/postmaster.pid"));
        kill_all(id);
        self.stop();
        // A killed server leaves its main segment of shared memory behind.
        let note = note.unwrap_or_default();
        let memory = note.lines().nth(6).unwrap_or_default();
        if let Some(memory) = memory.split_whitespace().nth(1) {
            let _ = Command::new("ipcrm").args(["-m", memory]).status();
        }
    }
}

impl TestDatabase {
    /// The same database with two hosts in its URL: first the server `other`, then its own server.
    pub fn at_both(mut self, other: &TestPostgres) -> Self {
        let first = format!("@127.0.0.1:{},", other.port);
        self.url = self.url.replacen('@', &first, 1);
        self
    }
}
