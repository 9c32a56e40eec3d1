//! The parts of an agent with simulated programs, for the simulations of supervision and of links.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::json;
use svc_core::{SpaceId, SpaceName, UserName};
use svc_link::SpaceIdentity;
use svc_protocol::agent_api::RegisterFile;
use svc_simulation::{Random, Trace};
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

use crate::{
    backoff::{Backoff, seeded},
    guard::Guard,
    link_status::LinkStatus,
    local_api::tests::{packages, servers},
    log::SpaceLog,
    method_server::{
        Services,
        simulated::{CallEnd, Ledger, Programs},
    },
    outbox::Outbox,
    policy::Policy,
    registration::{AgentAddresses, Registrar},
};

/// The timeout of every call.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// The answer to a cancel must arrive within this time.
pub const CANCEL_ANSWER_MAX: Duration = Duration::from_millis(100);
/// All method servers of a stopping agent must end within this time.
pub const STOP_MAX: Duration = Duration::from_secs(10);

/// A rule that is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A new registration gets calls while the replaced method server still works.
    NotHeld,
    NoRestartDelays,
    /// Unanswered calls never count as lost.
    HangsForEver,
}

pub struct Bench {
    pub trace: Arc<Trace>,
    pub ledger: Arc<Ledger>,
    pub programs: Arc<Programs>,
    pub services: Services,
    pub registrar: Arc<Registrar>,
    pub status: watch::Sender<LinkStatus>,
}

impl Bench {
    pub fn new(random: &mut Random, mut policy: Policy, fault: Option<Fault>) -> Self {
        seeded::begin(Random::new(random.number()));
        let trace = Arc::new(Trace::begin());
        let ledger = Arc::new(Ledger::new(Arc::clone(&trace), policy.restart));
        match fault {
            Some(Fault::NoRestartDelays) => policy.restart = Backoff::from_millis(1, 1),
            Some(Fault::HangsForEver) => policy.overdue_min = Duration::from_secs(24 * 60 * 60),
            Some(Fault::NotHeld) | None => {}
        }
        let programs = Arc::new(Programs::new(
            Arc::clone(&ledger),
            Random::new(random.number()),
            fault == Some(Fault::NotHeld),
        ));
        let (status, link) = watch::channel(LinkStatus::default());
        // Without a link, the agent does not ask a server for libraries. No file can be written to
        // a folder whose name contains a colon.
        let (_, unlinked) = watch::channel(LinkStatus::default());
        let folder = Path::new("/nonexistent:");
        let services = Services {
            packages: packages(folder, &servers("http://127.0.0.1:1"), unlinked),
            outbox: Arc::new(Outbox::new(policy.link_queue_bytes_max)),
            log: Arc::new(SpaceLog::new(100)),
            ids: Arc::default(),
            guard: Guard::absent(),
            policy: Arc::new(policy),
            simulated: Some(Arc::clone(&programs)),
        };
        let addresses = AgentAddresses {
            url: Some("http://127.0.0.1:1".to_owned()),
            socket: "/nonexistent/agent.sock".into(),
        };
        let registrar = Registrar::new(services.clone(), link, addresses, folder.to_owned());
        Self {
            trace,
            ledger,
            programs,
            services,
            registrar: Arc::new(registrar),
            status,
        }
    }

    /// Waits for the end of a call. A caller who gives up cancels the call, and the cancel must be
    /// answered within `answer_max`.
    pub async fn wait_for_end(
        &self,
        call: u64,
        mut end: oneshot::Receiver<CallEnd>,
        patience: Duration,
        cancel: impl FnOnce(),
        answer_max: Duration,
    ) -> CallEnd {
        if let Ok(end) = timeout(patience, &mut end).await {
            return end.expect("the ledger keeps the call");
        }
        self.ledger.cancels(call);
        cancel();
        match timeout(answer_max, end).await {
            Ok(end) => end.expect("the ledger keeps the call"),
            Err(_) => {
                let text = format!("in time: the cancel of call {call} was not answered");
                self.trace.break_promise(text);
                CallEnd::LinkLost
            }
        }
    }

    /// Stops all method servers, and checks all calls.
    pub async fn finish(&self) {
        if timeout(STOP_MAX, self.registrar.stop()).await.is_err() {
            let text = format!("in time: the method servers did not stop within {STOP_MAX:?}");
            self.trace.break_promise(text);
        }
        self.ledger.check_end();
    }
}

pub fn space() -> SpaceIdentity {
    SpaceIdentity {
        id: SpaceId::NIL,
        name: SpaceName::parse("lab").expect("valid"),
        owner: UserName::parse("ann").expect("valid"),
        urls: Default::default(),
    }
}

/// The time after which a caller gives up. Most callers wait until the timeout of the call.
pub fn draw_patience(random: &mut Random) -> Duration {
    match random.is_chance(10) {
        true => random.time_below(TIMEOUT),
        false => TIMEOUT,
    }
}

/// How many calls a method server gets at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallLimit {
    One,
    Two,
    None,
}

impl CallLimit {
    pub fn draw(random: &mut Random) -> Self {
        [Self::One, Self::Two, Self::None][random.index(3)]
    }
}

/// The registration with this number.
pub fn register_file(number: u64, limit: CallLimit) -> RegisterFile {
    let mut server = json!({
        "command": "sh", "args": [number.to_string()], "timeout": TIMEOUT.as_secs(),
    });
    match limit {
        CallLimit::One => server["mode"] = "serial".into(),
        CallLimit::Two => server["max_in_flight"] = 2.into(),
        CallLimit::None => {}
    }
    let document = json!({
        "server": server,
        "methods": [{"name": "a.b", "local_name": "x", "description": "x", "scope": "private"}],
    });
    RegisterFile {
        path: "/nonexistent/methods.toml".to_owned(),
        text: None,
        registration: Some(serde_json::from_value(document).expect("a registration")),
        replace_conflicting: false,
    }
}

/// The number of the user of a call.
pub fn user_of(call: u64) -> u32 {
    u32::try_from(call % 3).expect("a small number")
}

/// The payload of a call frame. A few calls are large.
pub fn call_payload(generation: u32, call: u64, random: &mut Random) -> Bytes {
    let padding = match random.below(20) {
        0 => 20_000,
        1..4 => 1_500,
        _ => 0,
    };
    let padding = "x".repeat(padding);
    let mut payload = BytesMut::new();
    payload.put_u32_le(generation);
    payload.put_u32_le(user_of(call));
    let text = format!(r#"{{"jsonrpc":"2.0","method":"x","params":[{call},"{padding}"],"id":"#);
    payload.put_slice(text.as_bytes());
    payload.freeze()
}
