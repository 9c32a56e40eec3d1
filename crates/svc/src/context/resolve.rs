//! Decides which server or agent a command uses.
//!
//! An explicit choice wins: `--context`, then `SVC_TOKEN`. This token is for the server that
//! `SVC_URL` names or, without `SVC_URL`, for the server of the current context. Without an
//! explicit choice, calls made inside a space use its agent, or else the saved context. Most other
//! commands use the saved context, or else the agent. Events go to the agent, if one is found, so
//! that they belong to its space: for events, only `--context` bypasses the agent. `SVC_URL` may
//! list several servers, because agents accept a list; commands use the first one.

use std::{
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use svc_client::{AgentClient, Client, Target, first_address};
use svc_core::TraceContext;
use svc_private::{UntrustedFile, read_found};
use svc_protocol::{
    agent_api::{DISCOVERY_FILE, Discovery, FOLDER},
    env,
};

use super::file::{Context, Contexts};
use crate::{environment::Environment, exit::Failure};

/// A client, and how it was chosen.
pub struct Connection {
    pub client: Client,
    pub via: Via,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Via {
    /// A saved context, by name.
    Context(String),
    Environment,
    /// The agent at this socket, which acts as the space's owner.
    Agent(PathBuf),
}

/// The explicit or saved connection, or else a connection through the agent. Calls and emits have
/// other rules.
pub fn connect(context: Option<&str>, environment: &Environment) -> Result<Connection, Failure> {
    if let Some(connection) = chosen(context, environment)? {
        return Ok(connection);
    }
    through_agent(environment).ok_or_else(no_server)
}

/// The connection of `svc method`, which requires no login inside a space.
pub fn for_calls(context: Option<&str>, environment: &Environment) -> Result<Connection, Failure> {
    let mut connection = match explicit(context, environment)? {
        Some(connection) => connection,
        None => match through_agent(environment) {
            Some(connection) => connection,
            None => saved(environment)?.ok_or_else(no_server)?,
        },
    };
    connection.client.set_trace(environment.trace());
    Ok(connection)
}

/// The receiver of an emit.
pub enum Emitter {
    /// The event belongs to the agent's space.
    Agent(AgentClient),
    Server(Connection),
}

impl Emitter {
    /// Makes the events a part of a trace.
    #[must_use]
    pub fn with_trace(mut self, trace: Option<TraceContext>) -> Self {
        match &mut self {
            Self::Agent(agent) => agent.set_trace(trace),
            Self::Server(connection) => connection.client.set_trace(trace),
        }
        self
    }
}

/// The receiver of `svc event`: the agent, if one is found, even if the environment names a server.
/// Only `--context` bypasses the agent.
pub fn for_events(context: Option<&str>, environment: &Environment) -> Result<Emitter, Failure> {
    if context.is_none()
        && let Some(socket) = find_agent_socket(environment)
    {
        return Ok(Emitter::Agent(AgentClient::new(socket)));
    }
    to_server(context, environment).map(Emitter::Server)
}

/// A connection to the server itself, never through an agent.
pub fn to_server(context: Option<&str>, environment: &Environment) -> Result<Connection, Failure> {
    chosen(context, environment)?.ok_or_else(no_server)
}

/// The explicit connection, or else the saved one.
fn chosen(context: Option<&str>, environment: &Environment) -> Result<Option<Connection>, Failure> {
    match explicit(context, environment)? {
        Some(connection) => Ok(Some(connection)),
        None => saved(environment),
    }
}

fn no_server() -> Failure {
    Failure::credentials("no server is configured")
        .why("there is no current context, SVC_URL and SVC_TOKEN are not set, and no agent was found")
        .hint("svc up starts a server here, svc login <url> logs in to another, svc context use <name> selects a saved context")
}

fn explicit(
    context: Option<&str>,
    environment: &Environment,
) -> Result<Option<Connection>, Failure> {
    if let Some(name) = context {
        let contexts = Contexts::load(&environment.config_folder()?)?;
        return of_context(contexts.get(name)?).map(Some);
    }
    let Some(token) = environment.get(env::TOKEN) else {
        return Ok(None);
    };
    let target = match server_url(environment) {
        Some(url) => {
            let ca_file = environment.get(env::CA_FILE).map(Path::new);
            Target::parse(url, ca_file)?
        }
        // A token without an address is for the server of the current context.
        None => {
            let contexts = Contexts::load(&environment.config_folder()?)?;
            let current = contexts.find_current().ok_or_else(|| {
                Failure::usage("SVC_TOKEN is set, but no server is named").hint("set SVC_URL too")
            })?;
            current.target()?
        }
    };
    Ok(Some(Connection {
        client: Client::new(target).with_token(token),
        via: Via::Environment,
    }))
}

fn server_url(environment: &Environment) -> Option<&str> {
    environment.get(env::URL).map(first_address)
}

fn of_context(context: &Context) -> Result<Connection, Failure> {
    Ok(Connection {
        client: context.client()?,
        via: Via::Context(context.name.clone()),
    })
}

/// The current context. `SVC_URL` alone selects the saved context with that address: a token is
/// sent only to its own server.
fn saved(environment: &Environment) -> Result<Option<Connection>, Failure> {
    let Ok(folder) = environment.config_folder() else {
        return Ok(None);
    };
    let contexts = Contexts::load(&folder)?;
    let same_server = |url: &str| {
        contexts
            .contexts
            .iter()
            .find(|context| context.url.trim_end_matches('/') == url.trim_end_matches('/'))
    };
    let chosen = match server_url(environment) {
        Some(url) => Some(same_server(url).ok_or_else(|| {
            let what = format!("there is no credential for `{url}`, which SVC_URL names");
            Failure::credentials(what).hint(format!("svc login {url}, or set SVC_TOKEN"))
        })?),
        None => contexts.find_current(),
    };
    chosen.map(of_context).transpose()
}

fn through_agent(environment: &Environment) -> Option<Connection> {
    let socket = find_agent_socket(environment)?;
    Some(Connection {
        client: AgentClient::new(&socket).into_api(),
        via: Via::Agent(socket),
    })
}

/// The agent's socket: from the environment, or from the agent's discovery file in this folder or
/// in one above.
pub fn find_agent_socket(environment: &Environment) -> Option<PathBuf> {
    let (socket, untrusted) = look_for_agent(environment);
    for untrusted in untrusted {
        eprintln!(
            "warning: {untrusted}; set SVC_AGENT_SOCKET to choose an agent without this check"
        );
    }
    socket
}

/// The socket, and the discovery files that are ignored because another user could have written
/// them.
fn look_for_agent(environment: &Environment) -> (Option<PathBuf>, Vec<UntrustedFile>) {
    if let Some(socket) = environment.get(env::AGENT_SOCKET) {
        return (Some(environment.absolute(Path::new(socket))), Vec::new());
    }
    let mut untrusted = Vec::new();
    let socket = environment
        .working_folder
        .ancestors()
        .filter_map(|folder| read_found(&folder.join(FOLDER).join(DISCOVERY_FILE)).ok())
        .filter_map(|read| {
            read.unwrap_or_else(|refusal| {
                untrusted.push(refusal);
                None
            })
        })
        .filter_map(|text| serde_json::from_str::<Discovery>(&text).ok())
        .map(|discovery| PathBuf::from(discovery.agent_socket))
        // A crashed agent leaves its file and its socket.
        .find(|socket| UnixStream::connect(socket).is_ok());
    (socket, untrusted)
}

/// The agent of this folder, for commands that require one.
pub fn find_agent(environment: &Environment) -> Result<AgentClient, Failure> {
    match find_agent_socket(environment) {
        Some(socket) => Ok(AgentClient::new(socket)),
        None => Err(Failure::unreachable(
            "no agent found: SVC_AGENT_SOCKET is not set, and no folder from here up has a `.svc/agent.json`",
        )
        .hint("svc agent start, or go to the folder of a space whose agent runs")),
    }
}

#[cfg(test)]
mod tests;
