//! The emitters of a run. Each emits its events one after the other and repeats an emit with the
//! same key until a server acknowledges it.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::value::to_raw_value;
use svc_client::{Client, Error, Policy, Target};
use svc_core::EventId;
use svc_protocol::api::Emit;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{dice::Dice, shared::Shared};

/// Emitters of a run.
pub const EMITTERS: usize = 4;
/// Maximum events of one emitter that have not arrived. All emitters together stay below 100, the
/// capacity of the queue of the sink that gets the events of all.
const UNDER_WAY_MAX: usize = 20;
/// How long an emitter waits for an answer. Without an answer, the emit counts as failed.
const PATIENCE: Duration = Duration::from_millis(800);
/// The pause before the next event is emitted.
const PACE: Duration = Duration::from_millis(3);
/// The pause before a failed emit is sent again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(15);
/// The type of the events of an emitter, without its number.
pub const EVENT_TYPE: &str = "prove.e";

/// Starts the emitters. They wait for the gate.
pub fn start(shared: &Arc<Shared>, token: &str) -> JoinSet<()> {
    let mut emitters = JoinSet::new();
    for number in 0..EMITTERS {
        shared.busy.fetch_add(1, Ordering::SeqCst);
        let emitter = Emitter {
            number,
            token: token.to_owned(),
            dice: Dice::new(shared.seed, &[2_000, number]),
            clients: Vec::new(),
            shared: Arc::clone(shared),
        };
        emitters.spawn(emitter.run());
    }
    emitters
}

/// A client of one server of the run.
pub fn client(address: SocketAddr, token: &str) -> Result<Client, String> {
    let target = Target::of_own_server(address, false).map_err(|error| error.to_string())?;
    let policy = Policy {
        connect_timeout: Duration::from_secs(2),
        answer_timeout: Duration::from_secs(5),
        ..Policy::default()
    };
    Ok(Client::with_policy(target, policy).with_token(token))
}

struct Emitter {
    number: usize,
    token: String,
    dice: Dice,
    /// One for each server.
    clients: Vec<Client>,
    shared: Arc<Shared>,
}

impl Emitter {
    async fn run(mut self) {
        let mut gate = self.shared.gate.subscribe();
        while self.shared.pass(&mut gate).await {
            sleep(PACE).await;
            let under_way = self.shared.ledger().under_way(self.number);
            if under_way >= UNDER_WAY_MAX {
                continue;
            }
            let n = self.shared.ledger().next(self.number);
            match self.emit(n).await {
                Ok(id) => self.shared.ledger().acknowledge(self.number, id),
                Err(why) => {
                    self.shared.reject(why);
                    self.shared.busy.fetch_sub(1, Ordering::SeqCst);
                    return;
                }
            }
        }
    }

    /// Emits until a server acknowledges. Returns an error if a server refuses the emit for good.
    async fn emit(&mut self, n: usize) -> Result<EventId, String> {
        let number = self.number;
        let payload = serde_json::json!({"emitter": number, "n": n});
        let emit = Emit {
            r#type: format!("{EVENT_TYPE}{number}"),
            payload: to_raw_value(&payload).map_err(|error| error.to_string())?,
        };
        let key = format!("emitter-{number}-event-{n}");
        loop {
            for address in self.shared.addresses().into_iter().skip(self.clients.len()) {
                self.clients.push(client(address, &self.token)?);
            }
            let client = &self.clients[self.dice.index(self.clients.len())];
            match timeout(PATIENCE, client.emit(&emit, Some(&key))).await {
                Ok(Ok(emitted)) => return Ok(emitted.event_id),
                Ok(Err(error)) if is_final(&error) => {
                    return Err(format!("event {n} of emitter {number}: {error}"));
                }
                // No answer, or an error of the server: the event may be stored nevertheless. The
                // key prevents a second event.
                Ok(Err(_)) | Err(_) => self.shared.note_failed_emit(),
            }
            sleep(PAUSE_AFTER_FAILURE).await;
        }
    }
}

/// Whether an emit was refused for good. Answers of a server that is stopping, overloaded or
/// without a database are not final.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Problem { status, .. } => {
            status.is_client_error() && ![408, 409, 425, 429].contains(&status.as_u16())
        }
        _ => false,
    }
}
