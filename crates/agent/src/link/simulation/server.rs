//! A server with the server's end of `svc_link`. Its decisions are simulated.

use std::{collections::BTreeSet, io, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use svc_core::{ServerId, space::HealthCheck};
use svc_link::{
    Closing, Control, Frame, FrameKind, FrameSource, Goodbye, Outbox, OutboxLimits, OutboxReader,
    Refusal, RefusalCode, Register, SharedBuffer, VERSION, Welcome, WriteEnd, control_frame,
};
use svc_protocol::problem::Problem;
use svc_simulation::{Random, Trace};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    sync::{mpsc, oneshot},
    time::{Instant, sleep},
};

use super::wire::Wire;
use crate::{
    method_server::simulated::{CallEnd, Ledger},
    registration::simulation::{
        bench::{call_payload, space, user_of},
        server::{accepted, registration_number},
    },
};

const HEARTBEAT: Duration = Duration::from_secs(10);

/// A registration that the server has accepted.
#[derive(Clone, Copy)]
struct Accepted {
    generation: u32,
    number: u64,
}

/// The server's end of a link.
pub struct ServerLink {
    outbox: Outbox,
    closing: Closing,
    wire: Arc<Wire>,
    registered: Mutex<Option<Accepted>>,
    /// Calls without an answer.
    calls: Mutex<BTreeSet<u64>>,
}

pub struct SimulatedServer {
    trace: Arc<Trace>,
    ledger: Arc<Ledger>,
    random: Mutex<Random>,
    state: Mutex<State>,
    /// A fault: calls of a lost link are sent again on the next link.
    sends_again: bool,
}

#[derive(Default)]
struct State {
    /// The link that was accepted last, while it is up.
    home: Option<Arc<ServerLink>>,
    links: usize,
    is_calm: bool,
    /// The goodbye of the agent.
    goodbye: Option<Goodbye>,
    lost_calls: Vec<u64>,
}

impl SimulatedServer {
    pub fn new(ledger: &Arc<Ledger>, random: Random, sends_again: bool) -> Arc<Self> {
        Arc::new(Self {
            trace: Arc::clone(&ledger.trace),
            ledger: Arc::clone(ledger),
            random: Mutex::new(random),
            state: Mutex::default(),
            sends_again,
        })
    }

    pub fn calm_down(&self) {
        self.state.lock().is_calm = true;
    }

    fn is_bad(&self, percent: u64) -> bool {
        self.random.lock().is_chance(percent) && !self.state.lock().is_calm
    }

    pub fn goodbye(&self) -> Option<Goodbye> {
        self.state.lock().goodbye
    }

    /// The number of links that are up, as the server sees them.
    pub fn links(&self) -> usize {
        self.state.lock().links
    }

    pub fn home(&self) -> Option<Arc<ServerLink>> {
        self.state.lock().home.clone()
    }

    /// The number of the registration in force.
    pub fn registered(&self) -> Option<u64> {
        let registered = *self.home()?.registered.lock();
        registered.map(|accepted| accepted.number)
    }

    /// Sends a call, if a registration is in force.
    pub fn call(
        &self,
        call: u64,
        random: &mut Random,
    ) -> Option<(Arc<ServerLink>, oneshot::Receiver<CallEnd>)> {
        let link = self.home()?;
        let accepted = (*link.registered.lock())?;
        if link.closing.is_ended() {
            return None;
        }
        let end = self.ledger.sends(call, accepted.number);
        link.calls.lock().insert(call);
        link.wire.sent.lock().insert(call);
        link.send_call(call, call_payload(accepted.generation, call, random));
        Some((link, end))
    }

    /// Serves one connection until it ends.
    pub async fn serve(self: Arc<Self>, mut stream: DuplexStream, wire: Arc<Wire>) {
        if upgrade(&mut stream).await.is_err() {
            return;
        }
        let (mut sink, mut source) = svc_link::accept(stream).await;
        let refusal = match svc_link::read_hello(&mut source).await {
            Ok(_) if self.is_bad(5) => Refusal::new(RefusalCode::Busy, "busy", true),
            Ok(_) => {
                let (link, outgoing) = self.admit(&wire);
                let writing = tokio::spawn(Arc::clone(&self).write(sink, outgoing, link.clone()));
                self.read(source, &link).await;
                link.closing.end_silently();
                self.part(&link);
                writing.await.expect("the writer does not panic");
                return;
            }
            Err(refusal) => refusal,
        };
        self.trace
            .note(&format!("the server refuses a link: {}", refusal.detail));
        svc_link::refuse(&mut sink, refusal).await;
    }

    fn admit(&self, wire: &Arc<Wire>) -> (Arc<ServerLink>, OutboxReader) {
        let number = wire.number;
        self.trace
            .note(&format!("the server accepts link {number}"));
        let (outbox, outgoing) = svc_link::outbox(OutboxLimits::SERVER);
        let welcome = Control::Welcome(Box::new(Welcome {
            version: VERSION,
            server_id: ServerId::NIL,
            svc_version: "0".to_owned(),
            space: space(),
            health_check: HealthCheck::default(),
            heartbeat_seconds: u32::try_from(HEARTBEAT.as_secs()).expect("short"),
            announced: None,
            features: Vec::new(),
        }));
        let _ = outbox.put(None, control_frame(0, &welcome));
        *wire.welcomed.lock() = Some(Instant::now());
        let link = Arc::new(ServerLink {
            outbox,
            closing: Closing::default(),
            wire: Arc::clone(wire),
            registered: Mutex::default(),
            calls: Mutex::default(),
        });
        let mut state = self.state.lock();
        state.links += 1;
        if let Some(old) = state.home.replace(Arc::clone(&link)) {
            old.closing.end(Goodbye::Reconnect);
        }
        (link, outgoing)
    }

    /// Ends a link: its calls are lost.
    fn part(&self, link: &Arc<ServerLink>) {
        let number = link.wire.number;
        self.trace.note(&format!("the server loses link {number}"));
        let mut state = self.state.lock();
        state.links -= 1;
        if state
            .home
            .as_ref()
            .is_some_and(|home| Arc::ptr_eq(home, link))
        {
            state.home = None;
        }
        for call in std::mem::take(&mut *link.calls.lock()) {
            match self.sends_again {
                true => state.lost_calls.push(call),
                false => self.ledger.loses_link(call),
            }
        }
    }

    async fn write(
        self: Arc<Self>,
        mut sink: svc_link::FrameSink<SharedBuffer<DuplexStream>>,
        mut outgoing: OutboxReader,
        link: Arc<ServerLink>,
    ) {
        let end = svc_link::write(&mut sink, &mut outgoing, &link.closing, HEARTBEAT).await;
        if matches!(end, WriteEnd::Silent) && !link.wire.was_disturbed() {
            let text = "heartbeat: the server lost a link without a stall".to_owned();
            self.trace.break_promise(text);
        }
        link.closing.end_silently();
        svc_link::farewell(sink, outgoing, &link.closing).await;
    }

    /// Handles the frames of the agent until the link ends.
    async fn read(
        self: &Arc<Self>,
        mut source: FrameSource<SharedBuffer<DuplexStream>>,
        link: &Arc<ServerLink>,
    ) {
        let (controls, messages) = mpsc::unbounded_channel();
        tokio::spawn(Arc::clone(self).handle_controls(Arc::clone(link), messages));
        loop {
            let frames = tokio::select! {
                biased;
                () = link.closing.ended() => return,
                frames = source.next() => frames,
            };
            let Ok(Some(frames)) = frames else { return };
            for frame in frames {
                let Frame { id, kind, payload } = frame.expect("agents send whole frames");
                match kind {
                    FrameKind::Ping => link.put(None, Frame::empty(0, FrameKind::Pong)),
                    FrameKind::Control => {
                        let message = serde_json::from_slice(&payload).expect("a message");
                        let _ = controls.send((id, message));
                    }
                    FrameKind::Pong | FrameKind::Progress | FrameKind::Times => {}
                    kind => {
                        link.calls.lock().remove(&id);
                        self.ledger.answers(id, kind, &payload);
                    }
                }
            }
        }
    }

    /// Handles the control messages of a link in order.
    async fn handle_controls(
        self: Arc<Self>,
        link: Arc<ServerLink>,
        mut messages: mpsc::UnboundedReceiver<(u64, Control)>,
    ) {
        while let Some((id, message)) = messages.recv().await {
            let limit = match self.is_bad(4) {
                true => Duration::from_secs(40),
                false => Duration::from_millis(300),
            };
            let delay = self.random.lock().time_below(limit);
            match message {
                Control::Register(register) => {
                    sleep(delay).await;
                    self.register(&link, id, &register);
                }
                Control::Unregister => {
                    sleep(delay).await;
                    if self.is_home(&link) {
                        *link.registered.lock() = None;
                        self.trace.note("the server removes the registration");
                        link.control(id, &Control::Unregistered);
                    }
                }
                Control::RegistrationLost { .. } => *link.registered.lock() = None,
                Control::Goodbye { reason } => {
                    self.trace
                        .note(&format!("the agent says goodbye: {reason:?}"));
                    self.state.lock().goodbye = Some(reason);
                    link.closing.end_silently();
                }
                _ => {}
            }
        }
    }

    /// Messages of a link that was replaced are ignored.
    fn is_home(&self, link: &Arc<ServerLink>) -> bool {
        let home = self.home();
        home.is_some_and(|home| Arc::ptr_eq(&home, link)) && !link.closing.is_ended()
    }

    fn register(&self, link: &Arc<ServerLink>, id: u64, register: &Register) {
        if !self.is_home(link) {
            return;
        }
        let (number, wire) = (registration_number(register), link.wire.number);
        if self.is_bad(15) {
            self.trace
                .note(&format!("registration {number} is refused on link {wire}"));
            let status = [409, 503][self.random.lock().index(2)];
            let problem = Problem::new(status, "refused", "Refused", "refused");
            return link.control(id, &Control::RegisterRefused { problem });
        }
        self.trace
            .note(&format!("registration {number} is accepted on link {wire}"));
        link.control(id, &Control::Registered(accepted(number)));
        let generation = register.generation;
        *link.registered.lock() = Some(Accepted { generation, number });
        for call in std::mem::take(&mut self.state.lock().lost_calls) {
            let payload = call_payload(generation, call, &mut self.random.lock());
            link.calls.lock().insert(call);
            link.send_call(call, payload);
        }
    }
}

impl ServerLink {
    fn put(&self, user: Option<u32>, frame: Frame) {
        // The link may be ending.
        let _ = self.outbox.put(user, frame);
    }

    fn control(&self, id: u64, message: &Control) {
        self.put(None, control_frame(id, message));
    }

    fn send_call(&self, call: u64, payload: bytes::Bytes) {
        let frame = Frame::new(call, FrameKind::Call, payload);
        self.put(Some(user_of(call)), frame);
    }

    pub fn cancel(&self, call: u64) {
        self.put(Some(user_of(call)), Frame::empty(call, FrameKind::Cancel));
    }

    pub fn say_goodbye(&self, reason: Goodbye) {
        self.closing.end(reason);
    }
}

/// Answers the HTTP request that opens the WebSocket.
async fn upgrade(stream: &mut DuplexStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).expect("the agent writes ASCII");
    let mut headers = HeaderMap::new();
    for line in head.lines().skip(1) {
        if let Some((name, value)) = line.split_once(": ") {
            let name: HeaderName = name.parse().expect("a header");
            headers.append(name, HeaderValue::from_str(value).expect("a value"));
        }
    }
    let accept = svc_link::check_upgrade(&headers).expect("the agent asks for a link");
    let protocol = svc_link::SUBPROTOCOL;
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {accept}\r\nsec-websocket-protocol: {protocol}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await
}
