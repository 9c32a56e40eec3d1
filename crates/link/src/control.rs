//! Control messages: all messages on a link except heartbeats, calls, notifications, and the frames
//! about calls and notifications (answers, cancels, progress, times).
//!
//! An agent has a home link to one server, and may have side links to other servers of its zone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_core::{
    ServerId, SpaceId, SpaceName, Timestamp, UserName,
    registration::Registration,
    space::{Health, HealthCheck},
};

use svc_protocol::{agent_api::MethodServerState, api::LogLine, problem::Problem};

use crate::{
    frame::{Frame, FrameKind},
    refusal::Refusal,
};

/// One control message. `→` agent to server, `←` server to agent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Control {
    /// → The first frame of a link.
    Hello(Hello),
    /// ← The answer to hello: the link is up.
    Welcome(Box<Welcome>),
    /// ← The answer to hello: the link is refused for this reason. The connection closes.
    Refused(Refusal),
    /// → Replace the space's registration. Answered by `Registered` or `RegisterRefused` under the
    /// same frame id.
    Register(Box<Register>),
    /// ← The registration is in effect.
    Registered(AcceptedRegistration),
    /// ← The registration is refused; the previous registration stays in effect.
    RegisterRefused { problem: Problem },
    /// → Remove the space's registration. Answered by `Unregistered` under the same frame id.
    Unregister,
    /// ← The answer to `Unregister`.
    Unregistered,
    /// ← Another space of the owner has taken over these methods (canonical names). This space no
    /// longer provides them.
    Displaced { methods: Vec<String> },
    /// → The space has no registration: the methods file was refused at the agent's start, or the
    /// server refused to restore the registration after a lost link.
    RegistrationLost { error: String },
    /// → The method server went up or down.
    MethodServer {
        state: MethodServerState,
        restarts: u64,
    },
    /// → A health check of the agent changed the space's health.
    Health {
        current: Health,
        consecutive_failures: u32,
        checked_at: Timestamp,
    },
    /// ← The announced servers of the zone have changed. Sent only on the home link.
    Servers(AnnouncedServers),
    /// ← Make `server` the home, if the agent has a side link to it. Each server of the zone should
    /// have about the same number of home links. Sent only on the home link.
    MoveHome { server: ServerId },
    /// ← The space's health check changed.
    HealthCheckChanged { health_check: HealthCheck },
    /// → Lines for the space's log. `dropped` is the number of lines that the agent has dropped,
    /// because there were too many.
    Log { lines: Vec<LogLine>, dropped: u64 },
    /// → Report when the lines that were sent before this message are in the space's log. Answered
    /// by `LogFlushed` under the same frame id.
    FlushLog,
    /// ← The answer to `FlushLog`.
    LogFlushed,
    /// Both directions: the sender ends the link for this reason.
    Goodbye { reason: Goodbye },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Versions of the control messages that the agent supports, preferred first.
    pub versions: Vec<u32>,
    /// The agent's `svc` version, for logs.
    pub svc_version: String,
    /// Random, new at each start of an agent: distinguishes a reconnect from a second agent.
    pub instance: String,
    /// Optional features of the agent, for later versions. A server ignores those that it does not
    /// know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Present if this is a side link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<SideLink>,
}

/// A link besides the agent's home link. It carries calls, the registration that the home server
/// has accepted, and the state of the method server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SideLink {
    /// The server of the home link, for logs.
    pub home: ServerId,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Welcome {
    pub version: u32,
    pub server_id: ServerId,
    pub svc_version: String,
    pub space: SpaceIdentity,
    pub health_check: HealthCheck,
    /// Seconds between pings. A link without a frame for three intervals is dead.
    pub heartbeat_seconds: u32,
    /// The announced servers of the zone, if the server knows them already. Only on a home link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<AnnouncedServers>,
    /// Optional features of the server, for later versions. An agent ignores those that it does not
    /// know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

/// The servers of the zone that agents may link to, as the home server knows them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AnnouncedServers {
    /// At most [`crate::ANNOUNCED_MAX`].
    pub servers: Vec<AnnouncedServer>,
    /// An agent connects to a new server after a random delay of at most this time, so that the
    /// agents of a large zone do not all connect at once.
    #[serde(default)]
    pub spread_millis: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AnnouncedServer {
    pub id: ServerId,
    /// The `advertise_url` of the server.
    pub url: String,
}

/// The space of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpaceIdentity {
    pub id: SpaceId,
    pub name: SpaceName,
    pub owner: UserName,
    #[serde(default)]
    pub urls: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Register {
    pub registration: Registration,
    /// Number of the registration, counted by the agent. Call frames contain it, so that a call
    /// reaches the right process while a new process replaces the old one.
    pub generation: u32,
    /// Remove conflicting methods of the owner's other spaces instead of refusing the registration.
    #[serde(default)]
    pub replace_conflicting: bool,
    /// `place` of an earlier [`AcceptedRegistration`]. Present if the agent restores its
    /// registration after a lost link, or registers it again without some of its methods.
    #[serde(default)]
    pub place: Option<u64>,
    /// On a side link: the ticket of the home server's [`AcceptedRegistration`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Ticket>,
}

/// The home server's proof that it has accepted a registration. It covers the space, the agent
/// process, the registration, its generation, its place, and `replaces`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ticket {
    /// Whether the registration replaced conflicting methods of the owner's other spaces.
    pub replaces: bool,
    /// HMAC-SHA256 with a key of the zone, in base64.
    pub mac: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AcceptedRegistration {
    /// Position in the order of registrations, which breaks ties between providers (D2).
    pub place: u64,
    pub methods: usize,
    pub warnings: Vec<String>,
    /// For the agent's side links. A server that is not in a zone issues no ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Ticket>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goodbye {
    /// The agent stops. The space becomes stopped.
    AgentStopping,
    /// Another agent has taken over this space. This agent exits with code 6.
    Replaced,
    /// The space was stopped on request. The agent closes the link and retries every few seconds.
    SpaceStopped,
    /// The space was deleted or its token was revoked. The agent exits with code 4.
    Revoked,
    /// The server shuts down. The agent reconnects, to another server if there is one.
    ServerStopping,
    /// The other end broke the protocol or did not read.
    Protocol,
    /// This link is no longer valid. The agent reconnects.
    Reconnect,
}

/// The frame of a control message.
pub fn control_frame(id: u64, control: &Control) -> Frame {
    let json = serde_json::to_vec(control).expect("a control message is always JSON");
    Frame::new(id, FrameKind::Control, json)
}

#[cfg(test)]
mod tests {
    use svc_protocol::jsonrpc::JSON_DEPTH_MAX;

    use super::*;

    #[test]
    fn an_unknown_goodbye_is_not_a_control_message() {
        let reason = serde_json::to_string(&Goodbye::Reconnect).expect("JSON");
        assert_eq!(reason, r#""reconnect""#);
        let newer = r#"{"type":"goodbye","reason":"some_newer_reason"}"#;
        assert!(serde_json::from_str::<Control>(newer).is_err());
    }

    /// A registration whose schema makes the message nest this deeply.
    fn register_of_depth(depth: usize) -> String {
        // The message, the registration, its list of methods, the method, the schema.
        let inside = depth - 5;
        let value = format!("{}{}", "[".repeat(inside), "]".repeat(inside));
        format!(
            r#"{{"generation":1,"registration":{{"server":{{"command":"x"}},"methods":[
                {{"name":"a","description":"a","params_schema":{{"default":{value}}}}}]}},"type":"register"}}"#
        )
    }

    /// An overflow would end the test process. Control messages are read on threads of tokio, which
    /// have a stack of 2 MiB. Unoptimised builds have the largest stack frames.
    #[test]
    fn messages_at_and_beyond_the_bound_of_their_depth_do_not_overflow_the_stack() {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(1024 * 1024);
            let reading = || {
                let read = |depth| serde_json::from_str::<Control>(&register_of_depth(depth));
                let deepest = read(JSON_DEPTH_MAX).expect("a registration");
                assert!(matches!(deepest, Control::Register(_)));
                drop(control_frame(1, &deepest));
                for depth in [JSON_DEPTH_MAX + 1, 2 * JSON_DEPTH_MAX, 100_000] {
                    assert!(read(depth).is_err(), "{depth}");
                }
                for open in ["[", "{\"a\":", "{\"type\":"] {
                    assert!(serde_json::from_str::<Control>(&open.repeat(100_000)).is_err());
                }
            };
            let running = thread.spawn_scoped(scope, reading).expect("a thread");
            running.join().expect("the messages are read");
        });
    }
}
