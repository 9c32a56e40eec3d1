//! Ends the agent's child processes when the agent is killed.
//!
//! A killed agent cannot stop its children, and a method server that ignores the end of its stdin
//! would run for ever. The guard is a small process of the same program. It reads a list of process
//! groups from a pipe that only the agent can write to. The kernel closes the pipe when the agent
//! ends, however it ends; the guard then ends every group that is still on the list.
//!
//! The guard starts with the first child. An agent that never had a child has no guard.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, Write},
    num::NonZeroI32,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The hidden command of `svc` that runs [`watch_agent`].
const COMMAND: &str = "agent-guard";

/// Time from the end of the agent to SIGTERM. The end of the agent closes the stdin of its method
/// server, so most method servers end by themselves in this time.
const STDIN_GRACE: Duration = Duration::from_secs(1);
/// Time from SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The agent's handle on its guard.
pub struct Guard {
    /// The `svc` program.
    program: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    process: Option<Child>,
    /// Groups that the guard ends if the agent is killed.
    groups: BTreeSet<NonZeroI32>,
}

impl Guard {
    pub fn new(program: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            program,
            state: Mutex::default(),
        })
    }

    /// A guard that never starts, for tests of other parts.
    #[cfg(test)]
    pub fn absent() -> Arc<Self> {
        Self::new("/nonexistent/svc".into())
    }

    /// Adds the process group of a new child to the list.
    pub fn watch(&self, group: Pid) {
        let group = group.as_raw_nonzero();
        let mut state = self.state.lock();
        state.groups.insert(group);
        self.send(&mut state, &format!("+{group}\n"));
    }

    /// Removes a group from the list.
    pub fn unwatch(&self, group: Pid) {
        let group = group.as_raw_nonzero();
        let mut state = self.state.lock();
        if state.groups.remove(&group) {
            self.send(&mut state, &format!("-{group}\n"));
        }
    }

    /// Sends one line. If that fails, ends the guard and starts it again with the whole list.
    fn send(&self, state: &mut State, line: &str) {
        if state
            .process
            .as_mut()
            .is_some_and(|process| write(process, line).is_ok())
        {
            return;
        }
        state.end_process();
        if state.groups.is_empty() {
            return;
        }
        match self.start(&state.groups) {
            Ok(process) => state.process = Some(process),
            Err(error) => tracing::warn!(
                %error,
                "cannot start the agent's guard: if the agent is killed, its method server may keep running"
            ),
        }
    }

    fn start(&self, groups: &BTreeSet<NonZeroI32>) -> io::Result<Child> {
        use std::os::unix::process::CommandExt;

        let mut process = Command::new(&self.program)
            .arg(COMMAND)
            // The guard needs no environment variable, and must not get a credential.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C on the agent's terminal must not reach the guard.
            .process_group(0)
            .spawn()?;
        match send_list(&mut process, groups) {
            Ok(()) => Ok(process),
            Err(error) => {
                end(process);
                Err(error)
            }
        }
    }
}

fn send_list(process: &mut Child, groups: &BTreeSet<NonZeroI32>) -> io::Result<()> {
    if let Some(stdin) = &process.stdin {
        // Writes must not wait: a suspended guard must not block the agent.
        rustix::io::ioctl_fionbio(stdin, true)?;
    }
    let list: String = groups.iter().map(|group| format!("+{group}\n")).collect();
    write(process, &list)
}

fn write(process: &mut Child, text: &str) -> io::Result<()> {
    match &mut process.stdin {
        Some(stdin) => stdin.write_all(text.as_bytes()),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Ends a guard and collects its exit status, so that the guard does not stay as a zombie.
fn end(mut process: Child) {
    let _ = process.kill();
    let _ = process.wait();
}

impl State {
    fn end_process(&mut self) {
        if let Some(process) = self.process.take() {
            end(process);
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.end_process();
    }
}

/// The guard process: reads the list until the agent ends, then ends the groups on the list.
pub fn watch_agent(input: impl BufRead) {
    let groups = read_groups(input);
    wait_for_end(&groups, STDIN_GRACE);
    signal(&groups, Signal::TERM);
    wait_for_end(&groups, TERM_GRACE);
    signal(&groups, Signal::KILL);
}

fn read_groups(input: impl BufRead) -> Vec<Pid> {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        let group = line.get(1..).and_then(|digits| digits.parse::<i32>().ok());
        // A signal to group 1 would reach every process.
        let group = group.filter(|group| *group > 1);
        match (line.as_bytes().first(), group.and_then(Pid::from_raw)) {
            (Some(b'+'), Some(group)) => groups.insert(group.as_raw_nonzero()),
            (Some(b'-'), Some(group)) => groups.remove(&group.as_raw_nonzero()),
            _ => false,
        };
    }
    groups
        .into_iter()
        .filter_map(|group| Pid::from_raw(group.get()))
        .collect()
}

fn wait_for_end(groups: &[Pid], limit: Duration) {
    let deadline = Instant::now() + limit;
    let is_running = |group: &Pid| test_kill_process_group(*group).is_ok();
    while groups.iter().any(is_running) && Instant::now() < deadline {
        sleep(LOOK_EVERY);
    }
}

fn signal(groups: &[Pid], signal: Signal) {
    for group in groups {
        // An error usually means that the group has ended.
        let _ = kill_process_group(*group, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_holds_the_groups_that_were_added_and_not_removed() {
        let check = |input: &str, expected: &[i32]| {
            let groups = read_groups(input.as_bytes());
            let groups: Vec<_> = groups
                .iter()
                .map(|pid| pid.as_raw_nonzero().get())
                .collect();
            assert_eq!(groups, expected, "{input:?}");
        };
        check("", &[]);
        check("+7\n+8\n-7\n", &[8]);
        check("+7\n-9\n+7\n", &[7]);
        // 0, 1 and -1 are not groups of the agent. The other lines are malformed.
        check("+0\n+1\n+-1\n+\n\nx7\n+1x\n+é\n", &[]);
    }

    /// The number of child processes of this test that run `program`. Zombies count too.
    #[cfg(target_os = "linux")]
    fn children(program: &str) -> usize {
        let own = format!(" {} ", std::process::id());
        let is_child = |stat: &String| {
            // `PID (PROGRAM) STATE PARENT …`
            let (head, tail) = stat.split_once(") ").unwrap_or_default();
            head.ends_with(&format!("({program}")) && tail.get(1..).unwrap_or("").starts_with(&own)
        };
        let processes = std::fs::read_dir("/proc").expect("Linux");
        let stats = processes
            .filter_map(|process| std::fs::read_to_string(process.ok()?.path().join("stat")).ok());
        stats.filter(is_child).count()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_guard_that_does_not_read_the_list_is_ended() {
        // `yes` never reads its stdin, and the list is larger than a pipe.
        let guard = Guard::new("yes".into());
        let groups = (1..100_000).filter_map(NonZeroI32::new).collect();
        let error = guard.start(&groups).expect_err("the pipe is full");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(children("yes"), 0);
    }
}
