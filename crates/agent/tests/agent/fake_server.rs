//! A fake server: tests read and send the frames of its links one by one. Its API has prepared
//! answers.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::{BufMut, BytesMut};
use futures_util::{SinkExt, StreamExt};
use svc_core::{ServerId, SpaceId, SpaceName, UserName, space::HealthCheck};
use svc_link::{
    AcceptedRegistration, Control, Frame, FrameKind, FrameReader, Hello, Refusal, Register,
    SUBPROTOCOL, SpaceIdentity, VERSION, Welcome, control_frame, put_frame,
};
use svc_protocol::api::LogSource;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Mutex, mpsc},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
    },
};
use tokio_util::task::AbortOnDropHandle;

use crate::api::Api;

const LIMIT: Duration = Duration::from_secs(60);

pub struct FakeServer {
    address: SocketAddr,
    links: Mutex<mpsc::UnboundedReceiver<TcpStream>>,
    /// Answers requests that are not links.
    pub api: Arc<Api>,
    _accepting: AbortOnDropHandle<()>,
}

impl FakeServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let (sender, links) = mpsc::unbounded_channel();
        let api = Arc::<Api>::default();
        Self {
            address: listener.local_addr().expect("bound"),
            links: Mutex::new(links),
            _accepting: AbortOnDropHandle::new(tokio::spawn(accept_all(
                listener,
                sender,
                Arc::clone(&api),
            ))),
            api,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next connection for a link. None of its bytes have been read.
    pub async fn accept_tcp(&self) -> TcpStream {
        let mut links = self.links.lock().await;
        let accepted = timeout(LIMIT, links.recv()).await;
        accepted.expect("an agent in time").expect("accepts")
    }

    /// Accepts an agent's connection and reads its hello.
    pub async fn accept(&self) -> (FakeLink, Hello) {
        #[expect(clippy::result_large_err, reason = "the library's callback type")]
        let check = |request: &Request, mut response: Response| {
            assert_eq!(request.uri().path(), "/agent/link");
            assert_eq!(request.headers()["authorization"], "Bearer svc_agt_test");
            let protocol = &request.headers()["sec-websocket-protocol"];
            assert_eq!(protocol, SUBPROTOCOL);
            let headers = response.headers_mut();
            headers.insert("sec-websocket-protocol", protocol.clone());
            Ok::<_, ErrorResponse>(response)
        };
        let socket = accept_hdr_async(self.accept_tcp().await, check)
            .await
            .expect("a WebSocket");
        let mut link = FakeLink {
            socket,
            waiting: Vec::new(),
            log: Vec::new(),
            refusals: Vec::new(),
            heartbeat_seconds: 20,
        };
        let frame = link.frame().await;
        match (frame.id, control(&frame)) {
            (0, Control::Hello(hello)) => (link, hello),
            other => panic!("not a hello: {other:?}"),
        }
    }

    /// Accepts an agent and welcomes it.
    pub async fn link(&self) -> FakeLink {
        let (mut link, _) = self.accept().await;
        link.welcome(HealthCheck::default()).await;
        link
    }
}

/// Distinguishes links from requests by their first bytes.
async fn accept_all(listener: TcpListener, links: mpsc::UnboundedSender<TcpStream>, api: Arc<Api>) {
    const LINK: &[u8] = b"GET /agent/link ";
    let mut serving = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (links, api) = (links.clone(), Arc::clone(&api));
        serving.spawn(async move {
            let mut start = [0; LINK.len()];
            let mut read = 0;
            // Each `peek` returns all bytes that have arrived, from the first.
            while read < start.len() {
                match stream.peek(&mut start).await {
                    Ok(0) | Err(_) => return,
                    Ok(more) => read = more,
                }
            }
            if start == LINK {
                let _ = links.send(stream);
            } else {
                api.serve(stream).await;
            }
        });
    }
}

pub struct FakeLink {
    socket: WebSocketStream<TcpStream>,
    waiting: Vec<Frame>,
    /// Source and text of the log lines received.
    pub log: Vec<(LogSource, String)>,
    /// The errors of the `RegistrationLost` messages that `log_line` has read.
    pub refusals: Vec<String>,
    /// The interval of heartbeats for the welcome. Long, because a busy test may not read the link
    /// for seconds.
    pub heartbeat_seconds: u32,
}

/// An answer to a hello: the server refuses the link.
pub fn refused(code: &str, retry: bool) -> Control {
    Control::Refused(Refusal {
        code: serde_json::from_value(code.into()).expect("a code"),
        detail: format!("because of {code}"),
        retry,
        retry_after_millis: None,
    })
}

pub fn control(frame: &Frame) -> Control {
    assert_eq!(frame.kind, FrameKind::Control, "{frame:?}");
    serde_json::from_slice(&frame.payload).expect("a control message")
}

impl FakeLink {
    pub async fn welcome(&mut self, health_check: HealthCheck) {
        self.send_welcome(ServerId::NIL, health_check).await;
    }

    /// Welcomes an agent as the server with this id.
    pub async fn welcome_as(&mut self, server_id: ServerId) {
        self.send_welcome(server_id, HealthCheck::default()).await;
    }

    async fn send_welcome(&mut self, server_id: ServerId, health_check: HealthCheck) {
        let welcome = Control::Welcome(Box::new(Welcome {
            version: VERSION,
            server_id,
            svc_version: "0".into(),
            space: SpaceIdentity {
                id: SpaceId::NIL,
                name: SpaceName::parse("lab").expect("valid"),
                owner: UserName::parse("ann").expect("valid"),
                urls: Default::default(),
            },
            health_check,
            heartbeat_seconds: self.heartbeat_seconds,
            announced: None,
            features: Vec::new(),
        }));
        self.control(0, &welcome).await;
    }

    pub async fn control(&mut self, id: u64, control: &Control) {
        self.send(&[control_frame(id, control)]).await;
    }

    pub async fn send(&mut self, frames: &[Frame]) {
        let mut message = BytesMut::new();
        frames
            .iter()
            .for_each(|frame| put_frame(&mut message, frame));
        let message = Message::Binary(message.freeze());
        self.socket.send(message).await.expect("sends");
    }

    pub async fn call(&mut self, id: u64, generation: u32, method: &str) {
        let mut payload = BytesMut::new();
        payload.put_u32_le(generation);
        // The number of the user.
        payload.put_u32_le(0);
        payload.put_slice(format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":"#).as_bytes());
        self.send(&[Frame::new(id, FrameKind::Call, payload.freeze())])
            .await;
    }

    /// The next frame that is neither a heartbeat nor a log nor the times of a call.
    pub async fn frame(&mut self) -> Frame {
        self.find_frame().await.expect("the link is up")
    }

    pub async fn find_frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.waiting.pop() {
                match frame.kind {
                    FrameKind::Ping => self.send(&[Frame::empty(0, FrameKind::Pong)]).await,
                    FrameKind::Pong | FrameKind::Times => {}
                    FrameKind::Control => match control(&frame) {
                        Control::Log { lines, .. } => {
                            let lines = lines.into_iter().map(|line| (line.source, line.line));
                            self.log.extend(lines);
                        }
                        _ => return Some(frame),
                    },
                    _ => return Some(frame),
                }
                continue;
            }
            let message = timeout(LIMIT, self.socket.next()).await.expect("in time");
            match message {
                Some(Ok(Message::Binary(message))) => {
                    self.waiting = FrameReader::new(message)
                        .map(|frame| frame.expect("whole"))
                        .collect();
                    self.waiting.reverse();
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Reads until a log line contains `text`. Stores the errors of lost registrations in
    /// `refusals`, and fails on any other frame.
    pub async fn log_line(&mut self, text: &str) -> (LogSource, String) {
        let deadline = tokio::time::Instant::now() + LIMIT;
        loop {
            if let Some(line) = self.log.iter().find(|(_, line)| line.contains(text)) {
                return line.clone();
            }
            // `frame` stores log lines and returns only other frames. The timeout ends it, so that
            // this loop looks at the log again.
            let next = tokio::time::Instant::now() + Duration::from_millis(20);
            let read = tokio::time::timeout_at(next.min(deadline), self.frame()).await;
            if let Ok(frame) = read {
                match control(&frame) {
                    Control::RegistrationLost { error } => self.refusals.push(error),
                    other => panic!("not a line of the log: {other:?}"),
                }
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{text}: {:?}",
                self.log
            );
        }
    }

    /// The error of a `RegistrationLost` message: one that `log_line` has read, or the next one.
    pub async fn refusal(&mut self) -> String {
        if let Some(error) = self.refusals.pop() {
            return error;
        }
        match self.request().await {
            (_, Control::RegistrationLost { error }) => error,
            other => panic!("not a lost registration: {other:?}"),
        }
    }

    /// The id, kind and payload of the next frame that is not a control message.
    pub async fn answer(&mut self) -> (u64, FrameKind, String) {
        loop {
            let frame = self.frame().await;
            if frame.kind != FrameKind::Control {
                let payload = String::from_utf8_lossy(&frame.payload).into_owned();
                return (frame.id, frame.kind, payload);
            }
        }
    }

    /// The next control message that is not a report of the method server's state.
    pub async fn request(&mut self) -> (u64, Control) {
        loop {
            let frame = self.frame().await;
            match control(&frame) {
                Control::MethodServer { .. } => {}
                control => return (frame.id, control),
            }
        }
    }

    pub async fn register(&mut self) -> (u64, Register) {
        match self.request().await {
            (id, Control::Register(register)) => (id, *register),
            other => panic!("not a registration: {other:?}"),
        }
    }

    /// Accepts the next registration and assigns `place` as its position.
    pub async fn accept_registration(&mut self, place: u64) -> Register {
        let (id, register) = self.register().await;
        self.accept(id, place, &register).await;
        register
    }

    pub async fn accept(&mut self, id: u64, place: u64, register: &Register) {
        let accepted = AcceptedRegistration {
            place,
            methods: register.registration.methods.len(),
            warnings: vec![],
            ticket: None,
        };
        self.control(id, &Control::Registered(accepted)).await;
    }
}
