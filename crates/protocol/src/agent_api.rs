//! The agent's local API, and the file in which the CLI finds the address of this API.
//!
//! On the Unix socket: `POST /registration`, `DELETE /registration[?local_name=]`, `GET /status`,
//! `POST /log/flush`, `POST /stop`, `POST /event`, `GET /packages/...`, and `/api/...`, which the agent forwards to
//! the server as the space's owner.

use serde::{Deserialize, Serialize};
use svc_core::{
    ServerId, SpaceId, Timestamp,
    registration::{Mode, Registration},
};

/// Folder for the agent's files, in its working folder.
pub const FOLDER: &str = ".svc";
/// File in [`FOLDER`] that holds a [`Discovery`].
pub const DISCOVERY_FILE: &str = "agent.json";
/// Default address of the loopback listener. If the port is in use, a free port is chosen.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:12201";

/// `.svc/agent.json`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Discovery {
    pub pid: u32,
    /// `None` if the loopback port is off.
    pub agent_url: Option<String>,
    pub agent_socket: String,
    pub space_id: Option<SpaceId>,
    pub space: Option<String>,
    /// The server that the agent was last linked to. Before its first link, the server that it
    /// tries first.
    pub server_url: String,
}

/// `POST /registration`: the text of a TOML file, or the registration that a script built.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterFile {
    /// Absolute path of the registration file or script. Its folder is the working folder of the
    /// method server. A relative command that contains a `/` is looked up in this folder.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    #[serde(default)]
    pub replace_conflicting: bool,
}

/// The answer to a registration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Registered {
    pub methods: Vec<String>,
    pub warnings: Vec<String>,
}

/// The answer to an unregistration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unregistered {
    /// Methods that were removed, by canonical name.
    pub removed: Vec<String>,
    /// Methods that are still published.
    pub remaining: Vec<String>,
}

/// `GET /status`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    pub pid: u32,
    pub version: String,
    /// The server that the agent is linked to, or tries to link to.
    pub server_url: String,
    /// All configured servers, as they were given.
    pub server_urls: Vec<String>,
    pub linked: bool,
    /// The open links, the home link first.
    pub links: Vec<LinkRecord>,
    /// Why the last attempt to link failed; `None` while linked.
    pub link_error: Option<String>,
    pub space_id: Option<SpaceId>,
    pub space: Option<String>,
    pub owner: Option<String>,
    /// `None` if the loopback port is off.
    pub agent_url: Option<String>,
    pub agent_socket: String,
    pub method_server: Option<MethodServerStatus>,
    /// Canonical names.
    pub methods: Vec<String>,
    /// Why the methods file was refused at the agent's start, or why the registration was refused
    /// after a lost link. `None` if neither was refused.
    pub registration_error: Option<String>,
    /// Whether the agent has finished the registration of its own methods file. Before that, the
    /// agent may replace a registration of another program with this file.
    pub startup_done: bool,
}

/// An open link of the agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinkRecord {
    pub server_id: ServerId,
    pub url: String,
    /// Whether this is the home link, which decides about the state of the space. A side link
    /// carries only calls, the accepted registration and the state of the method server.
    pub is_home: bool,
    pub since: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MethodServerStatus {
    pub command: String,
    pub mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    pub state: MethodServerState,
    pub pid: Option<u32>,
    pub restarts: u64,
    pub in_flight: usize,
    pub queued: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodServerState {
    Running,
    Restarting,
}
