//! A child process whose output is kept. The process is killed when its value is dropped.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, Resource, Signal, getrlimit, kill_process, setrlimit, test_kill_process,
};

use crate::wait::eventually;

/// How long a process may take to end after SIGTERM, or to stop after SIGSTOP.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// How long the last output of a process may take to be read.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(10);

pub struct Process {
    name: String,
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

/// The lines that a process has written to one stream so far.
struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    reader: thread::JoinHandle<()>,
}

impl Lines {
    fn collect(from: impl Read + Send + 'static) -> Self {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&lines);
        let reader = thread::spawn(move || {
            for line in BufReader::new(from).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line).into_owned();
                locked(&kept).push(line);
            }
        });
        Self { lines, reader }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        locked(&self.lines)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    /// Starts a command. The caller chooses its stdin in `command`.
    pub fn spawn(name: &str, mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let stdout = Lines::collect(child.stdout.take().expect("stdout is piped"));
        let stderr = Lines::collect(child.stderr.take().expect("stderr is piped"));
        Self {
            name: name.to_owned(),
            child,
            stdout,
            stderr,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn stdout(&self) -> Vec<String> {
        self.stdout.lock().clone()
    }

    pub fn stderr(&self) -> String {
        self.stderr.lock().join("\n")
    }

    /// Waits for a line on stderr that contains `text`, and returns the line.
    pub async fn wait_for_log(&mut self, text: &str, limit: Duration) -> String {
        let begun = Instant::now();
        loop {
            // Looks for the end first: the last words may contain the line.
            let ended = self.exit_status();
            if ended.is_some() {
                self.wait_for_last_words().await;
            }
            let found = self
                .stderr
                .lock()
                .iter()
                .find(|line| line.contains(text))
                .cloned();
            if let Some(line) = found {
                return line;
            }
            assert!(
                ended.is_none() && begun.elapsed() < limit,
                "{} never logged `{text}` (ended: {ended:?}):\n{}",
                self.name,
                self.stderr()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child
            .try_wait()
            .expect("our own child can be waited for")
    }

    /// Waits for the process to end. Sends no signal.
    pub async fn wait_for_exit(&mut self, limit: Duration) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.exit_status() {
                self.wait_for_last_words().await;
                return status;
            }
            assert!(
                begun.elapsed() < limit,
                "{} is still running after {limit:?}:\n{}",
                self.name,
                self.stderr()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the last output of the process has been read. The wait is limited, because a
    /// child of the process may still run and keep the output open.
    async fn wait_for_last_words(&self) {
        let begun = Instant::now();
        while begun.elapsed() < LAST_WORDS_LIMIT
            && !(self.stdout.reader.is_finished() && self.stderr.reader.is_finished())
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub fn signal(&self, signal: Signal) {
        let pid = pid(self.child.id());
        // The process may have just ended by itself.
        let _ = kill_process(pid, signal);
    }

    /// Sends SIGINT, as Ctrl-C does. If this process ignores SIGINT, as in the background of a
    /// shell, its children ignore SIGINT too. In this case, the function sends SIGTERM.
    pub fn interrupt(&self) {
        self.signal(match ignores_interrupt() {
            true => Signal::TERM,
            false => Signal::INT,
        });
    }

    /// Sends SIGKILL, which gives the process no time to clean up, and waits for its end.
    pub fn kill9(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends SIGTERM and waits for the end. Returns the exit status.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait_for_exit(STOP_LIMIT).await
    }

    /// Sends SIGTERM and blocks until the process ends: `Drop` cannot await. A process that does
    /// not end in time is killed, and the result is an error. Returns `None` if the process had
    /// already ended.
    pub(crate) fn terminate_blocking(&mut self) -> Option<Result<ExitStatus, String>> {
        if self.exit_status().is_some() {
            return None;
        }
        self.signal(Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < STOP_LIMIT {
            if let Some(status) = self.exit_status() {
                return Some(Ok(status));
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.kill9();
        Some(Err(format!(
            "{} did not end within {STOP_LIMIT:?} of SIGTERM:\n{}",
            self.name,
            self.stderr()
        )))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit_status().is_none() {
            self.kill9();
        }
        if thread::panicking() {
            eprintln!("---- {} said:\n{}\n----", self.name, self.stderr());
        }
    }
}

/// Suspends a process and all its descendants. Returns their ids, each parent before its children.
/// The children of a process are listed after it has stopped, because until then it may start
/// another one.
pub(crate) fn suspend_all(id: u32) -> Vec<u32> {
    let mut stopped = vec![id];
    let mut next = 0;
    while let Some(&id) = stopped.get(next) {
        signal_if_running(id, Signal::STOP);
        wait_until_stopped(id);
        stopped.extend(children_of(id));
        next += 1;
    }
    stopped
}

/// Resumes a suspended process and all its descendants.
pub(crate) fn resume_all(id: u32) {
    for id in std::iter::once(id).chain(descendants_of(id)) {
        signal_if_running(id, Signal::CONT);
    }
}

/// Kills a process and all its descendants.
pub(crate) fn kill_all(id: u32) {
    for id in suspend_all(id) {
        signal_if_running(id, Signal::KILL);
    }
}

/// Sends a signal to a process that may have just ended by itself.
fn signal_if_running(id: u32, signal: Signal) {
    let _ = kill_process(pid(id), signal);
}

/// Waits until a process that got SIGSTOP has stopped or ended. A process may finish a system call
/// first.
fn wait_until_stopped(id: u32) {
    let begun = Instant::now();
    while stat(id).is_some_and(|(state, _)| !matches!(state, 'T' | 't' | 'Z')) {
        assert!(begun.elapsed() < STOP_LIMIT, "process {id} does not stop");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process with this id exists and is not a zombie.
pub fn is_running(id: u32) -> bool {
    if test_kill_process(pid(id)).is_err() {
        return false;
    }
    // A zombie still takes signals, but runs nothing.
    stat(id).is_none_or(|(state, _)| state != 'Z')
}

impl Process {
    /// Waits until no process with this id runs any more.
    pub async fn wait_until_gone(id: u32, limit: Duration) {
        eventually(&format!("process {id} ends"), limit, || async {
            !is_running(id)
        })
        .await;
    }
}

/// Running processes whose parent is `parent`.
pub fn children_of(parent: u32) -> Vec<u32> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|&id| stat(id).is_some_and(|(state, of)| state != 'Z' && of == parent))
        .collect()
}

/// Running processes below `ancestor`, of every generation.
pub fn descendants_of(ancestor: u32) -> Vec<u32> {
    let mut found = children_of(ancestor);
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        found.extend(children_of(id));
        next += 1;
    }
    found
}

/// State and parent of a process. In `/proc/<id>/stat` these are the fields after the `)` that ends
/// the name of the process.
fn stat(id: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Resident memory of a process, in MiB.
pub fn resident_mib(id: u32) -> u64 {
    resident_bytes(id) >> 20
}

/// Resident memory of a process.
pub fn resident_bytes(id: u32) -> u64 {
    memory_bytes(id, "VmRSS:")
}

/// The peak of the resident memory of a process, in MiB.
pub fn peak_resident_mib(id: u32) -> u64 {
    memory_bytes(id, "VmHWM:") >> 20
}

fn memory_bytes(id: u32, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("the kernel says how much memory a process has") * 1024
}

fn ignores_interrupt() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signal 1 has the lowest bit.
    ignored.is_some_and(|mask| mask >> (Signal::INT.as_raw() - 1) & 1 == 1)
}

/// Raises the limit of open files and sockets, for this process and its later children, to the
/// maximum.
pub fn raise_open_files_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a limit may be raised to its maximum");
}

fn pid(id: u32) -> Pid {
    i32::try_from(id)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process id is a positive number")
}

#[cfg(test)]
mod tests {
    use std::{env, os::unix::process::ExitStatusExt};

    use super::*;

    /// The expected signal, for the runs of this test in separate processes.
    const AWAITED: &str = "SVC_TESTKIT_AWAITED_SIGNAL";

    #[tokio::test]
    async fn an_interrupt_ends_a_process_also_where_sigint_is_ignored() {
        if let Ok(awaited) = env::var(AWAITED) {
            let mut command = Command::new("sleep");
            command.arg("3600");
            let mut sleeper = Process::spawn("sleep", command);
            sleeper.interrupt();
            let status = sleeper.wait_for_exit(STOP_LIMIT).await;
            assert_eq!(status.signal().map(|by| by.to_string()), Some(awaited));
            return;
        }
        let test = "process::tests::an_interrupt_ends_a_process_also_where_sigint_is_ignored";
        for (option, awaited) in [
            ("--default-signal=INT", Signal::INT),
            ("--ignore-signal=INT", Signal::TERM),
        ] {
            let mut again = Command::new("env");
            again
                .arg(option)
                .arg(env::current_exe().expect("a test knows its own path"))
                .args(["--exact", test])
                .env(AWAITED, awaited.as_raw().to_string());
            let said = again.output().expect("`env` starts");
            assert!(said.status.success(), "{option}: {said:?}");
            let text = String::from_utf8_lossy(&said.stdout);
            assert!(text.contains("1 passed"), "{option}: {text}");
        }
    }
}
