//! A server at the other end of the agent's outbox, without a network.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_link::{AcceptedRegistration, Control, Frame, FrameKind, OutboxReader, Register};
use svc_protocol::problem::Problem;
use svc_simulation::Random;
use tokio::time::{Instant, sleep};

use super::bench::Bench;
use crate::{method_server::simulated::Ledger, outbox::Outbox};

/// The number of the only link.
pub const LINK: u64 = 1;
/// Some calls of a replaced registration are sent until this time after the replacement, as a
/// server with a side link does.
const OLD_CALLS: Duration = Duration::from_secs(2);

/// A registration that the server has accepted.
#[derive(Clone, Copy)]
pub struct Accepted {
    pub generation: u32,
    pub number: u64,
    since: Instant,
}

pub struct DirectServer {
    outbox: Arc<Outbox>,
    ledger: Arc<Ledger>,
    random: Mutex<Random>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Accepted>,
    previous: Option<Accepted>,
    is_calm: bool,
}

impl DirectServer {
    pub fn start(bench: &Bench, random: Random) -> Arc<Self> {
        let outbox = Arc::clone(&bench.services.outbox);
        let frames = outbox.open_home(LINK);
        let server = Arc::new(Self {
            outbox,
            ledger: Arc::clone(&bench.ledger),
            random: Mutex::new(random),
            state: Mutex::default(),
        });
        tokio::spawn(Arc::clone(&server).serve(frames));
        server
    }

    pub fn calm_down(&self) {
        self.state.lock().is_calm = true;
    }

    pub fn current(&self) -> Option<Accepted> {
        self.state.lock().current
    }

    /// The registration for the next call.
    pub fn choose(&self, random: &mut Random) -> Option<Accepted> {
        let state = self.state.lock();
        let current = state.current?;
        let is_early = current.since.elapsed() < OLD_CALLS && random.is_chance(20);
        state.previous.filter(|_| is_early).or(Some(current))
    }

    async fn serve(self: Arc<Self>, mut frames: OutboxReader) {
        loop {
            let Frame { id, kind, payload } = frames.next().await;
            match kind {
                FrameKind::Control => {
                    let message = serde_json::from_slice(&payload).expect("a control message");
                    tokio::spawn(Arc::clone(&self).handle(id, message));
                }
                FrameKind::Progress | FrameKind::Times => {}
                kind => self.ledger.answers(id, kind, &payload),
            }
        }
    }

    async fn handle(self: Arc<Self>, id: u64, message: Control) {
        let delay = self.random.lock().time_below(Duration::from_secs(1));
        sleep(delay).await;
        let answer = match message {
            Control::Register(register) => self.register(&register),
            Control::Unregister => {
                let mut state = self.state.lock();
                state.previous = state.current.take();
                Control::Unregistered
            }
            _ => return,
        };
        self.outbox.answered(LINK, id, answer);
    }

    fn register(&self, register: &Register) -> Control {
        let number = registration_number(register);
        let mut state = self.state.lock();
        if self.random.lock().is_chance(10) && !state.is_calm {
            self.ledger
                .trace
                .note(&format!("registration {number} is refused"));
            let problem = Problem::new(409, "conflict", "Conflict", "a conflict");
            return Control::RegisterRefused { problem };
        }
        self.ledger
            .trace
            .note(&format!("registration {number} is accepted"));
        state.previous = state.current.replace(Accepted {
            generation: register.generation,
            number,
            since: Instant::now(),
        });
        Control::Registered(accepted(number))
    }
}

/// The first argument of the command.
pub fn registration_number(register: &Register) -> u64 {
    let arg = register.registration.server.args.first();
    arg.and_then(|arg| arg.parse().ok()).expect("a number")
}

pub fn accepted(place: u64) -> AcceptedRegistration {
    AcceptedRegistration {
        place,
        methods: 1,
        warnings: Vec::new(),
        ticket: None,
    }
}
