//! Assigns cores to processes while calls are measured, with `taskset` and `chrt` of util-linux.
//!
//! Without this assignment, the scheduler often puts two processes that could run in parallel on
//! one core, and the result of a case with several processes depends on chance. Therefore, in every
//! case the process that serves HTTP has its own core, and all other processes share another core:
//! the agent, the method servers, and the load generator with its simulated agents.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

use super::cases::Case;

/// The assignment of cores, and notes about it for the report.
pub struct Cores {
    pinned: Option<PinnedCores>,
    keeps_awake: bool,
    /// Sentences that say how the cores were assigned and what was not possible.
    pub notes: Vec<String>,
}

impl Cores {
    /// Pins the processes of the cases and this process, if `pin` is set and pinning is possible.
    pub fn arrange(cases: &[Case], pin: bool) -> Self {
        let (pinned, placing) = match pin.then(|| PinnedCores::pin(cases)) {
            Some(Ok(pinned)) => {
                let PinnedCores {
                    facing_http,
                    others,
                    ..
                } = &pinned;
                let note = format!(
                    "Pinned: the server, B and C run on core {facing_http}; agent, method servers \
                     and load generator share core {others}."
                );
                (Some(pinned), note)
            }
            Some(Err(error)) => (
                None,
                format!("Not pinned, the scheduler placed every process: {error:#}."),
            ),
            None => (
                None,
                "Not pinned, by option: the scheduler placed every process.".to_owned(),
            ),
        };
        let mut notes = vec![placing];
        let can_spin = run("chrt", &["--idle", "0", "true"]);
        if let Err(error) = &can_spin {
            notes.push(format!(
                "In the cases with one connection, the cores were not kept awake, so these times \
                 include waking the cores: {error:#}."
            ));
        }
        Self {
            pinned,
            keeps_awake: can_spin.is_ok(),
            notes,
        }
    }

    /// Starts processes of the lowest priority that keep the cores from halting. Waking a halted
    /// core of a virtual machine is so slow that the results would mainly show how often a case
    /// sleeps.
    pub fn keep_awake(&self) -> anyhow::Result<AwakeCores> {
        let mut awake = AwakeCores(Vec::new());
        if !self.keeps_awake {
            return Ok(awake);
        }
        let program = std::env::current_exe()?;
        for prefix in self.spinners() {
            let prefix = prefix.iter().map(String::as_str);
            let mut words = prefix.chain(["chrt", "--idle", "0"]);
            let first = words.next().context("a command has a first word")?;
            let spinner = Command::new(first)
                .args(words)
                .arg(&program)
                .arg("spin")
                .stdin(Stdio::piped())
                .spawn()
                .context("cannot start a process that keeps a core awake")?;
            awake.0.push(spinner);
        }
        Ok(awake)
    }

    /// The command prefix of each process that keeps a core awake. The prefix pins the process to
    /// this core; otherwise it would inherit the core of the benchmark. If the cores are not
    /// assigned, there is one empty prefix for each core.
    fn spinners(&self) -> Vec<Vec<String>> {
        match &self.pinned {
            Some(PinnedCores {
                facing_http,
                others,
                ..
            }) => [facing_http, others]
                .map(|core| vec!["taskset".to_owned(), "-c".to_owned(), core.to_string()])
                .to_vec(),
            None => {
                let cores = std::thread::available_parallelism();
                vec![Vec::new(); cores.map_or(1, std::num::NonZero::get)]
            }
        }
    }

    /// Lets this process use all its cores again, for the measurements that follow the cases.
    pub fn release(&self) -> anyhow::Result<()> {
        match &self.pinned {
            Some(pinned) => place(std::process::id(), &pinned.all),
            None => Ok(()),
        }
    }
}

/// The processes that keep the cores awake. Dropping this value kills them.
pub struct AwakeCores(Vec<Child>);

impl Drop for AwakeCores {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The two cores in use, and all cores that this process may use.
struct PinnedCores {
    facing_http: usize,
    others: usize,
    /// In the kernel's notation, such as `0-3,6`.
    all: String,
}

impl PinnedCores {
    fn pin(cases: &[Case]) -> anyhow::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").context("there is no /proc")?;
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let all = list
            .context("the kernel does not say which cores may be used")?
            .trim()
            .to_owned();
        let cores =
            parse_core_list(&all).with_context(|| format!("`{all}` is not a list of cores"))?;
        ensure!(
            cores.len() >= 2,
            "two cores are required, and this process may use only core {all}"
        );
        let pinned = Self {
            facing_http: cores[0],
            others: cores[1],
            all,
        };
        for case in cases {
            for (index, &process) in case.target.processes.iter().enumerate() {
                let core = if index == 0 {
                    pinned.facing_http
                } else {
                    pinned.others
                };
                place(process, &core.to_string())?;
            }
        }
        place(std::process::id(), &pinned.others.to_string())?;
        Ok(pinned)
    }
}

/// Pins a process with all its threads to these cores.
fn place(process: u32, cores: &str) -> anyhow::Result<()> {
    run("taskset", &["-acp", cores, &process.to_string()])
}

fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(args).output();
    let output = output.with_context(|| format!("cannot run `{program}`"))?;
    ensure!(
        output.status.success(),
        "`{program}` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// Parses a list of cores in the kernel's notation, such as `0-3,6`.
fn parse_core_list(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        cores.extend(first..=last);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::parse_core_list;

    #[test]
    fn a_core_list_is_parsed_in_the_notation_of_the_kernel() {
        assert_eq!(parse_core_list("0"), Some(vec![0]));
        assert_eq!(parse_core_list("0-1"), Some(vec![0, 1]));
        assert_eq!(parse_core_list("1,3-5,8"), Some(vec![1, 3, 4, 5, 8]));
        assert_eq!(parse_core_list(""), None);
        assert_eq!(parse_core_list("all"), None);
    }
}
