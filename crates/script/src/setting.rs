//! What a script is run as: which modules it finds, what it may do, and how much.

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

/// Which modules of `svc` a script finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// In a space: `svc.methods`, `svc.event.emit`, `svc.api`, `svc.jsonrpc`, and `subprocess`.
    Space,
    /// On the server, for a caller: `svc.event.emit` and `svc.api`.
    Tool,
    /// On the server, for an event: `svc.event` with the accessors and without `emit`, `svc.api`.
    Sink,
}

/// What of the operating system a script reaches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Abilities {
    /// No files, no environment, no processes; clocks, randomness and sleep only.
    None,
    /// All that its user may; relative paths start at the folder.
    Full { folder: PathBuf },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// On the clock, sleeping included; with full abilities, waiting for the host is not.
    pub time: Option<Duration>,
    /// Memory above what the process had before.
    pub memory_bytes: Option<usize>,
    pub recursion: usize,
    /// Questions to the host in one run.
    pub host_calls: usize,
}

impl Limits {
    /// Of scripts on the server: an event's script, a caller's tool.
    pub const SANDBOX: Self = Self {
        time: Some(Duration::from_secs(5)),
        memory_bytes: Some(128 * 1024 * 1024),
        recursion: 1_000,
        host_calls: 1_000,
    };

    /// Of scripts a user runs in their own space: they may take their time.
    pub const OWN: Self = Self {
        time: None,
        memory_bytes: None,
        recursion: 1_000,
        host_calls: usize::MAX,
    };
}
