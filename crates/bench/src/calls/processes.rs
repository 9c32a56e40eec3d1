//! The cost of processes: CPU time from `/proc`, system calls from `perf` or `strace`.

use std::{path::PathBuf, process::Stdio, time::Duration};

use anyhow::Context;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// The CPU time of each process so far: the sum over the threads that it has now.
pub fn cpu_times(processes: &[u32]) -> anyhow::Result<Vec<Duration>> {
    processes.iter().map(|&id| cpu_time(id)).collect()
}

fn cpu_time(id: u32) -> anyhow::Result<Duration> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"))
        .with_context(|| format!("CPU times are read from /proc; process {id} is not there"))?;
    let mut nanos = 0;
    for task in tasks {
        let file = task?.path().join("schedstat");
        // The thread may have ended since the listing.
        let text = std::fs::read_to_string(file).unwrap_or_default();
        nanos += text
            .split_whitespace()
            .next()
            .and_then(|first| first.parse::<u64>().ok())
            .unwrap_or_default();
    }
    Ok(Duration::from_nanos(nanos))
}

/// Counts the system calls of processes, from the start to the stop of this counter.
pub struct Counter {
    tool: Child,
    report: PathBuf,
    _folder: tempfile::TempDir,
}

impl Counter {
    /// Uses `perf`, which is exact and cheap, else `strace`. `None` if neither works here.
    pub async fn start(processes: &[u32]) -> anyhow::Result<Option<Self>> {
        for tool in ["perf", "strace"] {
            if let Some(counter) = Self::with(tool, processes).await? {
                return Ok(Some(counter));
            }
        }
        Ok(None)
    }

    async fn with(tool: &str, processes: &[u32]) -> anyhow::Result<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let report = folder.path().join("counted");
        let ids: Vec<String> = processes.iter().map(u32::to_string).collect();
        let mut command = Command::new(tool);
        match tool {
            "perf" => command
                .args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p"])
                .arg(ids.join(",")),
            _ => command
                .args(["-f", "-c", "-U", "calls,name"])
                .args(ids.iter().flat_map(|id| ["-p", id])),
        };
        let spawned = command
            .arg("-o")
            .arg(&report)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let Ok(mut child) = spawned else {
            return Ok(None);
        };
        if !is_counting(tool, &mut child, processes.len()).await {
            return Ok(None);
        }
        Ok(Some(Self {
            tool: child,
            report,
            _folder: folder,
        }))
    }

    pub async fn stop(mut self) -> anyhow::Result<u64> {
        let id = self.tool.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(rustix::process::Pid::from_raw);
        let id = id.context("the counting tool has ended by itself")?;
        rustix::process::kill_process(id, rustix::process::Signal::INT)?;
        self.tool.wait().await?;
        let text = std::fs::read_to_string(&self.report)?;
        // `perf`: "123,,raw_syscalls:sys_enter,…"; `strace`: a last line "123 total".
        let line = text
            .lines()
            .find(|line| line.contains("sys_enter") || line.trim_end().ends_with("total"))
            .with_context(|| format!("no count in `{text}`"))?;
        let digits: String = line
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits
            .parse()
            .with_context(|| format!("no count in `{line}`"))
    }
}

/// Waits until the tool has attached to the processes. Returns `false` if the tool cannot attach.
async fn is_counting(tool: &str, child: &mut Child, processes: usize) -> bool {
    if tool == "perf" {
        // `perf` prints nothing when it starts. It works if it is still running after 300 ms.
        let ended = tokio::time::timeout(Duration::from_millis(300), child.wait()).await;
        return ended.is_err();
    }
    let Some(stderr) = child.stderr.take() else {
        return false;
    };
    let mut lines = BufReader::new(stderr).lines();
    let mut attached = 0;
    while attached < processes {
        match lines.next_line().await {
            Ok(Some(line)) if line.contains("attached") => attached += 1,
            Ok(Some(_)) => {}
            _ => return false,
        }
    }
    // Read the rest of the output, so that the pipe does not fill up.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    true
}
