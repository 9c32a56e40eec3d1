//! The server's end of the link, one frame at a time.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bytes::{BufMut, BytesMut};
use futures_util::{SinkExt, StreamExt};
use svc_agent::{Backoff, Error, Exit, Options, Policy};
use svc_core::{ServerId, SpaceId, SpaceName, UserName, space::HealthCheck};
use svc_protocol::link::{
    Accepted, Control, Frame, FrameKind, FrameReader, Hello, Register, SUBPROTOCOL, SpaceIdentity,
    Welcome, put_frame,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
    },
};
use tokio_util::sync::CancellationToken;

const LIMIT: Duration = Duration::from_secs(10);

pub struct FakeServer {
    listener: TcpListener,
}

impl FakeServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        Self { listener }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listener.local_addr().expect("bound"))
    }

    pub async fn accept_tcp(&self) -> TcpStream {
        let accepted = timeout(LIMIT, self.listener.accept()).await;
        accepted.expect("an agent in time").expect("accepts").0
    }

    /// Takes one agent's connection as far as its hello.
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
        };
        let frame = link.frame().await;
        match (frame.id, control(&frame)) {
            (0, Control::Hello(hello)) => (link, hello),
            other => panic!("not a hello: {other:?}"),
        }
    }

    /// Takes an agent and welcomes it.
    pub async fn link(&self) -> FakeLink {
        let (mut link, _) = self.accept().await;
        link.welcome(HealthCheck::default()).await;
        link
    }
}

pub struct FakeLink {
    socket: WebSocketStream<TcpStream>,
    waiting: Vec<Frame>,
}

pub fn control(frame: &Frame) -> Control {
    assert_eq!(frame.kind, FrameKind::Control, "{frame:?}");
    serde_json::from_slice(&frame.payload).expect("a control message")
}

impl FakeLink {
    pub async fn welcome(&mut self, health_check: HealthCheck) {
        let welcome = Control::Welcome(Box::new(Welcome {
            version: 1,
            server_id: ServerId::NIL,
            svc_version: "0".into(),
            space: SpaceIdentity {
                id: SpaceId::NIL,
                name: SpaceName::parse("lab").expect("valid"),
                owner: UserName::parse("ann").expect("valid"),
                urls: Default::default(),
            },
            health_check,
            heartbeat_seconds: 1,
        }));
        self.control(0, &welcome).await;
    }

    pub async fn control(&mut self, id: u64, control: &Control) {
        let json = serde_json::to_vec(control).expect("JSON");
        self.send(&[Frame::new(id, FrameKind::Control, json)]).await;
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
        payload.put_slice(format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":"#).as_bytes());
        self.send(&[Frame::new(id, FrameKind::Call, payload.freeze())])
            .await;
    }

    /// The next frame that is no heartbeat and no log.
    pub async fn frame(&mut self) -> Frame {
        self.find_frame().await.expect("the link is up")
    }

    pub async fn find_frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.waiting.pop() {
                let is_log = frame.kind == FrameKind::Control
                    && matches!(control(&frame), Control::Log { .. });
                match frame.kind {
                    FrameKind::Ping => self.send(&[Frame::empty(0, FrameKind::Pong)]).await,
                    FrameKind::Pong => {}
                    _ if is_log => {}
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

    /// The next call's answer; state reports are passed over.
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

    /// Accepts the next registration at a place.
    pub async fn accept_registration(&mut self, place: u64) -> Register {
        let (id, register) = self.register().await;
        self.accept(id, place, &register).await;
        register
    }

    pub async fn accept(&mut self, id: u64, place: u64, register: &Register) {
        let accepted = Accepted {
            place,
            methods: register.registration.methods.len(),
            warnings: vec![],
        };
        self.control(id, &Control::Registered(accepted)).await;
    }
}

pub struct TestAgent {
    pub folder: tempfile::TempDir,
    pub shutdown: CancellationToken,
    running: JoinHandle<Result<Exit, Error>>,
}

pub fn short_policy() -> Policy {
    Policy {
        reconnect: Backoff::from_millis(10, 50),
        space_stopped_retry: Duration::from_millis(50),
        reregister: Backoff::from_millis(20, 50),
        start_check: Duration::from_millis(100),
        tick: Duration::from_millis(10),
        drain_linger: Duration::from_millis(50),
        stop_stdin: Duration::from_millis(500),
        ..Policy::default()
    }
}

impl TestAgent {
    pub fn start(server_url: &str, methods: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(text) = methods {
            std::fs::write(folder.path().join("methods.toml"), text).expect("written");
        }
        let options = Options {
            server_url: server_url.to_owned(),
            agent_token: "svc_agt_test".into(),
            ca_file: None,
            listen: Some("127.0.0.1:0".parse().expect("valid")),
            socket: None,
            methods_file: methods.map(|_| "methods.toml".into()),
            working_folder: folder.path().to_owned(),
            exit_on_stdin_eof: false,
            policy: short_policy(),
        };
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(svc_agent::run(options, shutdown.clone()));
        Self {
            folder,
            shutdown,
            running,
        }
    }

    pub async fn exit(self) -> Exit {
        let ended = timeout(LIMIT, self.running).await.expect("ends in time");
        let exit = ended.expect("does not panic").expect("ends well");
        let left = std::fs::read_dir(self.folder.path().join(".svc")).expect("there");
        assert_eq!(left.count(), 0, "the agent leaves no file behind");
        exit
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn client(&self) -> svc_client::AgentClient {
        svc_client::AgentClient::new(self.path().join(".svc/agent.sock"))
    }
}

pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so().await {
        assert!(Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
