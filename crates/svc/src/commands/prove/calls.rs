//! Calls of a run: callers, an agent, and a method server that records each call. Each call has its
//! own number, so the record shows whether a call reached the method server twice.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;
use serde_json::json;
use svc_client::Client;
use svc_protocol::env;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    dice::Dice,
    emitters::client,
    ledger::FindingKind,
    servers::{ServerSettings, bare_command},
    shared::{Shared, lock},
};
use crate::exit::{Failure, OrFail};

const CALLERS: usize = 2;
const PACE: Duration = Duration::from_millis(10);
/// How long a caller waits for an answer.
const PATIENCE: Duration = Duration::from_millis(800);
/// How long the agent may take to end.
const END_MAX: Duration = Duration::from_secs(3);
const METHOD: &str = "prove.push";
/// The method server appends the number of each call to this file.
const RECORD: &str = "calls.txt";

/// Counts of the calls that were made and that succeeded. The callers share them.
#[derive(Default)]
pub struct CallCounts {
    /// Also the number of the next call.
    made: AtomicU64,
    /// The numbers of the calls that succeeded since the last check.
    succeeded: std::sync::Mutex<Vec<u64>>,
    all_succeeded: AtomicU64,
}

impl CallCounts {
    fn note_success(&self, number: u64) {
        self.all_succeeded.fetch_add(1, Ordering::Relaxed);
        lock(&self.succeeded).push(number);
    }
}

/// Counts for the report.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct CallTotals {
    pub made: u64,
    pub succeeded: u64,
    /// Calls that reached the method server.
    pub executed: usize,
}

/// The agent and the record of its method server.
pub struct Calls {
    agent: Child,
    record: PathBuf,
    /// Bytes of the record that were read.
    read: u64,
    executed: HashSet<u64>,
}

impl Calls {
    /// Starts the agent, which starts the method server.
    pub fn start(
        settings: &ServerSettings,
        shared: &Shared,
        agent_token: &str,
    ) -> Result<Self, Failure> {
        let failed = "cannot start the agent of the run";
        let folder = settings.folder.join("agent");
        fs::create_dir(&folder).or_fail(failed)?;
        let methods = folder.join("methods.toml");
        let record = settings.folder.join(RECORD);
        fs::write(&methods, registration(&settings.program, &record)).or_fail(failed)?;
        let log = File::create(settings.folder.join("agent.log")).or_fail(failed)?;
        let urls = shared.addresses().into_iter();
        let urls: Vec<String> = urls.map(|address| format!("http://{address}")).collect();
        let mut command = bare_command(&settings.program);
        command
            .args(["agent", "start", "--exit-on-stdin-eof"])
            .args(["--listen", "127.0.0.1:0", "--socket"])
            .arg(settings.agent_socket())
            .arg("--methods-file")
            .arg(methods)
            .env(env::CONFIG, settings.config_file())
            .env(env::URL, urls.join(","))
            .env(env::AGENT_TOKEN, agent_token)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0);
        Ok(Self {
            agent: command.spawn().or_fail(failed)?,
            record,
            read: 0,
            executed: HashSet::new(),
        })
    }

    /// Compares the calls that succeeded with the record. Returns what is wrong.
    pub fn check(&mut self, counts: &CallCounts) -> Result<Vec<(FindingKind, String)>, Failure> {
        // Taken before the record is read. The method server records a call before it answers, so
        // the record contains all calls that have succeeded until now.
        let succeeded = std::mem::take(&mut *lock(&counts.succeeded));
        let mut found = Vec::new();
        for number in self.read_record()? {
            if !self.executed.insert(number) {
                let what = format!("call {number} reached the method server twice");
                found.push((FindingKind::Twice, what));
            }
        }
        for number in succeeded {
            if !self.executed.contains(&number) {
                let what = format!("call {number} succeeded and never reached the method server");
                found.push((FindingKind::Invented, what));
            }
        }
        Ok(found)
    }

    /// The numbers that were recorded since the last look. A line that is still being written is
    /// read the next time.
    fn read_record(&mut self) -> Result<Vec<u64>, Failure> {
        let mut text = String::new();
        let read = File::open(&self.record).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_string(&mut text)
        });
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.or_fail_at("cannot read", &self.record)?,
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        let lines = text[..whole].lines();
        Ok(lines.filter_map(|line| line.parse().ok()).collect())
    }

    pub fn totals(&self, counts: &CallCounts) -> CallTotals {
        CallTotals {
            made: counts.made.load(Ordering::Relaxed),
            succeeded: counts.all_succeeded.load(Ordering::Relaxed),
            executed: self.executed.len(),
        }
    }
}

impl Drop for Calls {
    /// Asks the agent to end, so that it ends the method server first.
    fn drop(&mut self) {
        drop(self.agent.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < END_MAX {
            if !matches!(self.agent.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

fn registration(program: &Path, record: &Path) -> String {
    let text = |path: &Path| json!(path.to_string_lossy());
    format!(
        "version = 1\n[server]\ncommand = {}\nargs = [\"prove-methods\", {}]\ntimeout = 5\n\
         [[methods]]\nname = \"{METHOD}\"\nlocal_name = \"push\"\ndescription = \"Records a call\"\n",
        text(program),
        text(record)
    )
}

/// Waits until the method can be called at each server.
pub async fn wait_for_method(shared: &Shared, token: &str, limit: Duration) -> Result<(), Failure> {
    let begun = Instant::now();
    for address in shared.addresses() {
        let client = client(address, token).map_err(Failure::failed)?;
        while !call(&client, &shared.calls).await {
            if begun.elapsed() > limit {
                return Err(Failure::failed(format!(
                    "the server at {address} does not offer the method of the run"
                ))
                .hint("the log of the agent, agent.log in the folder, says why"));
            }
            sleep(PACE).await;
        }
    }
    Ok(())
}

/// Starts the callers. They wait for the gate, as the emitters do.
pub fn start_callers(shared: &Arc<Shared>, token: &str, tasks: &mut JoinSet<()>) {
    for number in 0..CALLERS {
        shared.busy.fetch_add(1, Ordering::SeqCst);
        let dice = Dice::new(shared.seed, &[5_000, number]);
        tasks.spawn(run_caller(Arc::clone(shared), token.to_owned(), dice));
    }
}

async fn run_caller(shared: Arc<Shared>, token: String, mut dice: Dice) {
    let addresses = shared.addresses().into_iter();
    let clients: Vec<Client> = addresses
        .filter_map(|address| client(address, &token).ok())
        .collect();
    let mut gate = shared.gate.subscribe();
    while shared.pass(&mut gate).await {
        sleep(PACE).await;
        call(&clients[dice.index(clients.len())], &shared.calls).await;
    }
}

/// Makes one call with a number of its own. A call is never repeated. Returns whether it succeeded.
async fn call(client: &Client, counts: &CallCounts) -> bool {
    let number = counts.made.fetch_add(1, Ordering::Relaxed);
    let params = json!({ "n": number });
    let answer = timeout(PATIENCE, client.call(METHOD, &params)).await;
    let succeeded = matches!(&answer, Ok(Ok(answer)) if answer.result.is_some());
    if succeeded {
        counts.note_success(number);
    }
    succeeded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(record: &Path) -> Calls {
        let sleeper = std::process::Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Calls {
            agent: sleeper.expect("`cat` starts"),
            record: record.to_owned(),
            read: 0,
            executed: HashSet::new(),
        }
    }

    #[test]
    fn a_call_that_was_made_twice_or_not_at_all_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = folder.path().join(RECORD);
        let (mut calls, counts) = (calls(&record), CallCounts::default());
        let mut check = |text: &str, succeeded: &[u64], expected: &[FindingKind]| {
            fs::write(&record, text).expect("writable");
            for &number in succeeded {
                counts.note_success(number);
            }
            let found = calls.check(&counts).expect("readable");
            let kinds: Vec<_> = found.iter().map(|(kind, _)| *kind).collect();
            assert_eq!(kinds, expected, "{found:?}");
        };
        check("1\n2\n", &[1, 2], &[]);
        // The last line is not complete.
        check("1\n2\n3\n4", &[3], &[]);
        check("1\n2\n3\n4\n", &[4], &[]);
        check("1\n2\n3\n4\n2\n", &[], &[FindingKind::Twice]);
        check("1\n2\n3\n4\n2\n", &[9], &[FindingKind::Invented]);
    }
}
