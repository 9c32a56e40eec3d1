//! The setting of a script: its modules, its abilities and its limits.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Setting {
    pub flavour: Flavour,
    pub abilities: Abilities,
    pub limits: Limits,
    /// `sys.argv`, the script's name first.
    pub args: Vec<String>,
}

/// Determines which modules of `svc` a script finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// In a space: `svc.methods`, `svc.event.emit`, `svc.api`, `svc.jsonrpc`, and `subprocess`.
    Space,
    /// On the server, for a caller: `svc.event.emit` and `svc.api`.
    Tool,
    /// On the server, for an event: `svc.event`, with the accessors and without `emit`, and
    /// `svc.api`.
    Sink,
}

/// Access of a script to the operating system.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Abilities {
    /// Clocks, randomness and sleep only. No files, no environment, no processes.
    None,
    /// Everything that the process's user may do. Relative paths start at the folder.
    Full { folder: PathBuf },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time, sleep included. With full abilities, the time of waits for the host does
    /// not count.
    pub time: Option<Duration>,
    /// Memory in addition to what the process used before the run.
    pub memory_bytes: Option<usize>,
    pub recursion: usize,
    /// Calls to the host in one run.
    pub host_calls: usize,
}

impl Limits {
    /// Scripts on the server: of sinks and of tools.
    pub const SANDBOX: Self = Self {
        time: Some(Duration::from_secs(5)),
        memory_bytes: Some(128 * 1024 * 1024),
        recursion: 1_000,
        host_calls: 1_000,
    };

    /// Scripts that a user runs in their own space: no limit of time or memory.
    pub const OWN: Self = Self {
        time: None,
        memory_bytes: None,
        recursion: 1_000,
        host_calls: usize::MAX,
    };
}
