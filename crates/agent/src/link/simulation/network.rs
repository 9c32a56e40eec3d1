//! The network between the agent and its server.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use parking_lot::Mutex;
use svc_simulation::{Random, Trace};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    attempts::{AttemptEnd, Attempts},
    server::SimulatedServer,
    wire::Wire,
};
use crate::{
    link::connect::ServerIo, link_status::LinkStatus, method_server::simulated::Ledger,
    policy::Policy,
};

pub struct Network {
    trace: Arc<Trace>,
    ledger: Arc<Ledger>,
    server: Arc<SimulatedServer>,
    status: watch::Receiver<LinkStatus>,
    random: Mutex<Random>,
    state: Mutex<State>,
}

struct State {
    attempts: Attempts,
    wires: Vec<Arc<Wire>>,
    /// Every connection is refused before this time.
    down_until: Instant,
    is_calm: bool,
}

impl Network {
    pub fn new(
        ledger: &Arc<Ledger>,
        server: &Arc<SimulatedServer>,
        status: watch::Receiver<LinkStatus>,
        policy: Policy,
        random: Random,
    ) -> Self {
        Self {
            trace: Arc::clone(&ledger.trace),
            ledger: Arc::clone(ledger),
            server: Arc::clone(server),
            status,
            random: Mutex::new(random),
            state: Mutex::new(State {
                attempts: Attempts::new(policy),
                wires: Vec::new(),
                down_until: Instant::now(),
                is_calm: false,
            }),
        }
    }

    /// Ends all disturbances except stalls and silent cuts, which end by themselves.
    pub fn calm_down(&self) {
        let mut state = self.state.lock();
        state.is_calm = true;
        state.down_until = Instant::now();
        state.wires.iter().for_each(|wire| wire.forgo_cut());
    }

    /// The newest connection.
    pub fn wire(&self) -> Option<Arc<Wire>> {
        self.state.lock().wires.last().cloned()
    }

    /// Cuts all connections, and refuses new ones for a while.
    pub fn shut(&self, time: Duration) {
        let mut state = self.state.lock();
        state.down_until = Instant::now() + time;
        state.wires.iter().for_each(|wire| wire.cut_now());
    }

    /// Opens a connection for the agent.
    pub async fn connect(self: &Arc<Self>) -> io::Result<ServerIo> {
        self.check_attempt();
        let mut attempt = Attempt {
            network: Arc::clone(self),
            wire: None,
        };
        let (delay, is_refused) = self.draw_fate();
        sleep(delay).await;
        if is_refused || self.state.lock().down_until > Instant::now() {
            self.trace.note("a connection is refused");
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let number = self.state.lock().wires.len() as u64 + 1;
        self.trace.note(&format!("connection {number} opens"));
        let random = Random::new(self.random.lock().number());
        let (wire, agent, server) = Wire::open(number, random);
        attempt.wire = Some(Arc::clone(&wire));
        self.state.lock().wires.push(Arc::clone(&wire));
        let serving = Arc::clone(&self.server).serve(server, wire);
        tokio::spawn(serving);
        Ok(Box::new(AgentIo {
            stream: agent,
            _attempt: attempt,
        }))
    }

    fn draw_fate(&self) -> (Duration, bool) {
        let mut random = self.random.lock();
        let is_calm = self.state.lock().is_calm;
        let limit = match random.is_chance(3) && !is_calm {
            true => Duration::from_secs(20),
            false => Duration::from_millis(50),
        };
        (random.time_below(limit), random.is_chance(10) && !is_calm)
    }

    fn check_attempt(&self) {
        let mut state = self.state.lock();
        if let Err(found) = state.attempts.begin() {
            self.trace.break_promise(format!("reconnects: {found}"));
        }
        let error = self.status.borrow().error.clone().unwrap_or_default();
        let was_disturbed = state.wires.last().is_some_and(|wire| wire.was_disturbed());
        if error.contains("sent nothing") && !was_disturbed {
            let text = format!("heartbeat: the agent lost a link without a stall: {error}");
            self.trace.break_promise(text);
        }
    }
}

/// One attempt to link. Dropped when the agent gives up the connection.
struct Attempt {
    network: Arc<Network>,
    wire: Option<Arc<Wire>>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let network = &self.network;
        let wire = self.wire.as_ref();
        if let Some(wire) = wire {
            let number = wire.number;
            network
                .trace
                .note(&format!("the agent closes connection {number}"));
            for call in wire.sent.lock().iter() {
                network.ledger.abandons(*call);
            }
        }
        network.state.lock().attempts.end(&AttemptEnd {
            welcomed: wire.and_then(|wire| *wire.welcomed.lock()),
            was_disturbed: wire.is_some_and(|wire| wire.was_disturbed()),
        });
    }
}

/// The agent's end of a connection.
struct AgentIo {
    stream: DuplexStream,
    _attempt: Attempt,
}

impl AsyncRead for AgentIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for AgentIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
