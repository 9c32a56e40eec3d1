//! The keeper: a shell that runs a PostgreSQL server. When the test process ends, even by
//! `kill -9`, the keeper ends the server, removes its folder, and then ends itself.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::install::{Installation, bare};
use crate::process::is_running;

/// Long, because a server starts slowly on a machine that is busy with other tests.
const READY_LIMIT: Duration = Duration::from_secs(60);

pub(super) struct Keeper {
    shell: Child,
    /// The keeper's stdin. Closing it ends the keeper.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Keeper {
    pub fn start(installation: &Installation) -> Self {
        let folder = installation.folder();
        let mut shell = bare(Path::new("sh"))
            .args(["-c", include_str!("keep.sh"), "keep"])
            .args([&folder, &installation.programs])
            .args(installation.runner())
            // Ctrl-C must not reach the keeper, which ends after the tests.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("`sh` does not start: {error}"));
        Self {
            orders: shell.stdin.take(),
            answers: BufReader::new(shell.stdout.take().expect("stdout is piped")),
            shell,
            folder,
        }
    }

    /// The folder of data, socket and log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn log(&self) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Writes a file of the server; returns its path.
    pub fn write(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("the folder is writable");
        path
    }

    pub fn init(&mut self) {
        let done = self.order("init");
        assert_eq!(done, "done", "initdb: {}", self.log());
    }

    /// Copies the data of a running server, as its standby.
    pub fn copy(&mut self, port: u16) {
        let done = self.order(&format!("copy {port}"));
        assert_eq!(done, "done", "pg_basebackup: {}", self.log());
    }

    /// Starts the server and waits until it accepts connections. Returns `Err` if the server ends
    /// instead.
    pub fn start_server(&mut self) -> Result<u32, String> {
        let answer = self.order("start");
        let id = answer.parse().expect("the shell answers with a process id");
        let begun = Instant::now();
        while !self.is_ready(id) {
            if !is_running(id) {
                return Err(self.log());
            }
            let waited = begun.elapsed();
            assert!(
                waited < READY_LIMIT,
                "not ready after {waited:?}: {}",
                self.log()
            );
            thread::sleep(Duration::from_millis(5));
        }
        Ok(id)
    }

    pub fn stop_server(&mut self) {
        self.order("stop");
    }

    /// Ends the server at once, without a checkpoint.
    pub fn crash_server(&mut self) {
        self.order("crash");
    }

    /// Kills the keeper with SIGKILL.
    #[cfg(test)]
    pub fn kill9(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }

    /// Reads the pid file of the server: its first line is the process id, its eighth line the
    /// state.
    fn is_ready(&self, id: u32) -> bool {
        let note = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
        let mut lines = note.lines();
        lines.next() == Some(&id.to_string())
            && lines.nth(6).is_some_and(|state| state.trim() == "ready")
    }

    fn order(&mut self, order: &str) -> String {
        let orders = self
            .orders
            .as_mut()
            .expect("the keeper has a stdin until it ends");
        writeln!(orders, "{order}").expect("the shell reads its orders");
        let mut answer = String::new();
        self.answers
            .read_line(&mut answer)
            .expect("the shell answers in text");
        answer.trim().to_owned()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.shell.wait();
    }
}
