//! The server processes of a run: start, kill, freeze, and the limits and the clock of a process.
//! Every process ends when its value is dropped.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    ops::Range,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use svc_protocol::env;
use tokio::{sync::oneshot, time::timeout};

use crate::exit::{Failure, OrFail};

/// How long a server may take to start. The database of a long run is large, and a killed server
/// repairs its database first.
const START_MAX: Duration = Duration::from_secs(60);
/// The text before the address in a log line of a server.
const LISTENING: &str = "listening on http://";

/// How the servers of a run are started.
pub struct ServerSettings {
    pub program: PathBuf,
    /// The folder of the run.
    pub folder: PathBuf,
    pub admin_password: String,
    /// The URL of the shared database, which names the schema, and the key for the secrets in the
    /// database.
    pub zone: Option<(String, String)>,
}

/// One server process.
pub struct Server {
    process: Process,
    orders: ChildStdin,
    pub address: SocketAddr,
}

impl Server {
    /// Starts a server and waits until it listens. A server that is started again needs its former
    /// address.
    pub async fn start(
        settings: &ServerSettings,
        number: usize,
        address: SocketAddr,
    ) -> Result<Self, Failure> {
        let mut starting = Self::spawn(settings, number, address)?;
        match timeout(START_MAX, &mut starting.address).await {
            Ok(Ok(address)) => Ok(Self {
                process: starting.process,
                orders: starting.orders,
                address,
            }),
            Ok(Err(_)) => Err(settings.start_failure(number, "it ended")),
            Err(_) => Err(settings.start_failure(number, "it does not listen in time")),
        }
    }

    /// Starts the process without waiting for it.
    pub fn spawn(
        settings: &ServerSettings,
        number: usize,
        address: SocketAddr,
    ) -> Result<StartingServer, Failure> {
        let failed = format!("cannot start server {number}");
        let log = settings.log_file(number);
        let file = OpenOptions::new().append(true).create(true).open(&log);
        let file = file.or_fail_at("cannot write to", &log)?;
        let child = settings.command(number, address).spawn();
        let mut process = Process(child.or_fail(&failed)?);
        let (found, address) = oneshot::channel();
        if let Some(stderr) = process.0.stderr.take() {
            thread::spawn(move || copy_log(BufReader::new(stderr), file, found));
        }
        let orders = process.0.stdin.take().ok_or("no standard input");
        Ok(StartingServer {
            orders: orders.or_fail(failed)?,
            process,
            address,
        })
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.process.0.try_wait(), Ok(None))
    }

    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // The process may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.process.0.id()).ok()?)
    }

    /// Moves the clock of the process by this many milliseconds away from the system clock.
    pub fn shift_clock(&mut self, millis: i64) {
        // A process that has ended gets no orders.
        let _ = writeln!(self.orders, "clock {millis}");
    }

    /// Makes writes beyond this size of a file fail, as if the disk was full. `None` removes the
    /// limit.
    #[cfg(target_os = "linux")]
    pub fn limit_files(&self, bytes: Option<u64>) -> Result<(), Failure> {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        let maximum = getrlimit(Resource::Fsize).maximum;
        let limit = Rlimit {
            current: bytes.or(maximum),
            maximum,
        };
        prlimit(self.pid(), Resource::Fsize, limit)
            .map(drop)
            .or_fail("cannot limit the size of files of a server")
    }

    #[cfg(not(target_os = "linux"))]
    pub fn limit_files(&self, _: Option<u64>) -> Result<(), Failure> {
        Err(Failure::failed("rounds of a full disk need Linux"))
    }
}

/// A process that does not listen yet.
pub struct StartingServer {
    process: Process,
    orders: ChildStdin,
    address: oneshot::Receiver<SocketAddr>,
}

/// Killed when dropped.
struct Process(Child);

impl Process {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl ServerSettings {
    pub fn data_dir(&self, number: usize) -> PathBuf {
        self.folder.join(format!("server-{number}"))
    }

    fn log_file(&self, number: usize) -> PathBuf {
        self.folder.join(format!("server-{number}.log"))
    }

    /// The socket of the agent.
    pub fn agent_socket(&self) -> PathBuf {
        agent_socket(&self.folder)
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.join("svc.toml")
    }

    fn command(&self, number: usize, listen: SocketAddr) -> Command {
        let mut command = bare_command(&self.program);
        command
            .args(["prove-server", "--listen", &listen.to_string()])
            .arg("--data-dir")
            .arg(self.data_dir(number))
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for the proving process, which ends its servers.
            .process_group(0);
        command
            .env(env::CONFIG, self.config_file())
            .envs(super::SHORT_TIMES)
            .env(env::ADMIN_PASSWORD, &self.admin_password);
        if let Some((url, key)) = &self.zone {
            // Not as an argument, because other users can read arguments.
            command
                .env("SVC_DATABASE_URL", url)
                // The agent links to each server.
                .env("SVC_ADVERTISE_URL", format!("http://{listen}"))
                .env(env::SECRET_KEY, key);
        }
        command
    }

    fn start_failure(&self, number: usize, why: &str) -> Failure {
        let log = self.log_file(number);
        Failure::failed(format!("server {number} does not start: {why}"))
            .why(last_line(&log))
            .hint(format!("read its log: {}", log.display()))
    }
}

/// The socket of the agent of a run in this folder.
pub fn agent_socket(folder: &Path) -> PathBuf {
    folder.join("agent.sock")
}

/// Ports of servers. The system gives ports from 32768 on to outgoing connections: such a connection
/// could take the port of a server while the server is down.
const PORTS: Range<u32> = 20_000..32_000;
/// The first port that a run tries depends on its process id, in steps of this many ports. So two
/// runs at the same time rarely share ports.
const PORTS_OF_RUN: u32 = 16;

/// An address of this machine with a free port. The port is chosen before the start, because the
/// address is a setting of the server.
pub fn free_address() -> Result<SocketAddr, Failure> {
    let first = std::process::id().wrapping_mul(PORTS_OF_RUN);
    (0..PORTS.len() as u32)
        .map(|step| PORTS.start + first.wrapping_add(step) % PORTS.len() as u32)
        .filter_map(|port| u16::try_from(port).ok())
        .map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
        .find(|address| TcpListener::bind(address).is_ok())
        .ok_or_else(|| Failure::failed(format!("no port from {PORTS:?} is free")))
}

/// A command without the `SVC_…` variables of this process and without the variables of the service
/// manager.
pub fn bare_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let ours = name.to_str().is_some_and(|name| name.starts_with("SVC_"));
        if ours || env::SERVICE_MANAGER.iter().any(|other| name == *other) {
            command.env_remove(name);
        }
    }
    command
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let last = text.trim_end().lines().last();
    last.unwrap_or_default().to_owned()
}

/// Copies the log of a server to a file, and reports the address that the server listens on.
fn copy_log(log: impl BufRead, mut file: File, found: oneshot::Sender<SocketAddr>) {
    let mut found = Some(found);
    for line in log.split(b'\n').map_while(Result::ok) {
        if let Some(address) = read_address(&String::from_utf8_lossy(&line))
            && let Some(found) = found.take()
        {
            let _ = found.send(address);
        }
        let _ = file.write_all(&line).and_then(|()| file.write_all(b"\n"));
    }
}

fn read_address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(LISTENING)?;
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || "[]:.".contains(c)))
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_the_log() {
        let check = |line: &str, expected: Option<&str>| {
            let expected = expected.map(|address| address.parse().expect("an address"));
            assert_eq!(read_address(line), expected, "{line}");
        };
        check(
            "INFO svc_server: listening on http://127.0.0.1:4711 pid=1",
            Some("127.0.0.1:4711"),
        );
        check("listening on http://[::1]:80", Some("[::1]:80"));
        check("listening on http://example.org", None);
        check("ready", None);
    }
}
