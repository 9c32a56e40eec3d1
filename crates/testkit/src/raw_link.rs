//! One link, frame by frame, for simulated agents and for agents that misbehave.

use std::{net::SocketAddr, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use svc_core::{ServerId, registration::Registration};
use svc_link::{
    Control, Frame, FrameKind, FrameReader, Hello, Register, SideLink, control_frame, put_frame,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

const STEP_LIMIT: Duration = Duration::from_secs(60);
/// The value of `instance` in the hello of simulated agents.
pub(crate) const SIMULATED: &str = "simulated";

pub struct RawLink {
    socket: WebSocketStream<TcpStream>,
    /// Frames of the last message that [`next`](Self::next) has not returned yet.
    frames: std::vec::IntoIter<Frame>,
}

impl RawLink {
    /// Connects and sends no frames.
    pub async fn connect(address: SocketAddr, agent_token: &str) -> Self {
        let connected = Self::try_connect(address, agent_token).await;
        connected.unwrap_or_else(|why| panic!("the server does not accept the link: {why}"))
    }

    /// [`connect`](Self::connect) to a server that may not be up.
    pub async fn try_connect(address: SocketAddr, agent_token: &str) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let stream = TcpStream::connect(address).await.map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        let url = format!("http://{address}{}", svc_link::PATH);
        let connecting = svc_link::connect(stream, &url, agent_token);
        let socket = timeout(STEP_LIMIT, connecting).await;
        let socket = socket.map_err(|_| "the handshake does not end".to_owned())?;
        Ok(Self {
            socket: socket.map_err(|error| error.to_string())?,
            frames: Vec::new().into_iter(),
        })
    }

    /// Connects, sends hello and registers methods named `{{space}}.m0`, `{{space}}.m1`…
    pub async fn publish(address: SocketAddr, agent_token: &str, methods: usize) -> Self {
        let mut link = Self::connect(address, agent_token).await;
        let welcome = link.hello(&[svc_link::VERSION]).await;
        assert!(matches!(welcome, Control::Welcome(_)), "{welcome:?}");
        let registered = link.register(simulated_registration(methods)).await;
        assert!(
            matches!(registered, Control::Registered(_)),
            "{registered:?}"
        );
        link
    }

    /// Sends hello of a home link; returns the response.
    pub async fn hello(&mut self, versions: &[u32]) -> Control {
        self.hello_as(SIMULATED, versions, None).await
    }

    /// Sends hello of a side link; returns the response.
    pub async fn hello_side(&mut self, instance: &str, home: ServerId) -> Control {
        let side = Some(SideLink { home });
        self.hello_as(instance, &[svc_link::VERSION], side).await
    }

    async fn hello_as(
        &mut self,
        instance: &str,
        versions: &[u32],
        side: Option<SideLink>,
    ) -> Control {
        let hello = Control::Hello(Hello {
            versions: versions.to_vec(),
            svc_version: "simulated".to_owned(),
            instance: instance.to_owned(),
            features: Vec::new(),
            side,
        });
        self.ask(0, &hello).await
    }

    /// Registers; returns the response.
    pub async fn register(&mut self, registration: Registration) -> Control {
        let register = Control::Register(Box::new(Register {
            registration,
            generation: 1,
            replace_conflicting: false,
            place: None,
            ticket: None,
        }));
        self.ask(1, &register).await
    }

    /// Sends a control message and waits for the response with the same id.
    pub async fn ask(&mut self, id: u64, control: &Control) -> Control {
        self.tell(id, control)
            .await
            .expect("the link takes a message");
        let answer = async {
            loop {
                let frame = self.next().await.expect("the link stays");
                if frame.kind == FrameKind::Control && frame.id == id {
                    return serde_json::from_slice(&frame.payload).expect("a control message");
                }
            }
        };
        timeout(STEP_LIMIT, answer)
            .await
            .expect("the server answers in time")
    }

    pub async fn send(&mut self, frames: &[Frame]) -> Result<(), String> {
        let mut message = BytesMut::new();
        frames
            .iter()
            .for_each(|frame| put_frame(&mut message, frame));
        self.send_bytes(message.freeze()).await
    }

    /// Sends any bytes as one binary message.
    pub async fn send_bytes(&mut self, bytes: impl Into<Bytes>) -> Result<(), String> {
        self.send_message(Message::Binary(bytes.into())).await
    }

    pub async fn send_text(&mut self, text: &str) -> Result<(), String> {
        self.send_message(Message::text(text)).await
    }

    /// Sends a ping of the WebSocket itself, not of the link.
    pub async fn send_websocket_ping(&mut self, payload: impl Into<Bytes>) -> Result<(), String> {
        self.send_message(Message::Ping(payload.into())).await
    }

    async fn send_message(&mut self, message: Message) -> Result<(), String> {
        self.socket
            .send(message)
            .await
            .map_err(|error| error.to_string())
    }

    /// The next frame, or the reason why the link ended.
    pub async fn next(&mut self) -> Result<Frame, String> {
        loop {
            if let Some(frame) = self.frames.next() {
                return Ok(frame);
            }
            match self.socket.next().await {
                Some(Ok(Message::Binary(bytes))) => {
                    let frames: Result<Vec<_>, _> = FrameReader::new(bytes).collect();
                    self.frames = frames.expect("the server sends whole frames").into_iter();
                }
                Some(Ok(Message::Close(why))) => return Err(format!("closed: {why:?}")),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("end of stream".to_owned()),
            }
        }
    }

    /// Sends a control message and does not wait. Read a response with [`next`](Self::next).
    pub async fn tell(&mut self, id: u64, control: &Control) -> Result<(), String> {
        self.send(&[control_frame(id, control)]).await
    }

    /// Waits until the server has ended the link. Returns the reason.
    pub async fn wait_until_ended(&mut self, limit: Duration) -> String {
        let ended = async {
            loop {
                if let Err(why) = self.next().await {
                    return why;
                }
            }
        };
        timeout(limit, ended)
            .await
            .unwrap_or_else(|_| panic!("the server keeps the link for {limit:?}"))
    }
}

/// A registration as a file would contain it. Its command is never started.
pub fn simulated_registration(methods: usize) -> Registration {
    let methods: Vec<Value> = (0..methods)
        .map(|n| {
            json!({
                "name": format!("{{{{space}}}}.m{n}"),
                "local_name": format!("m{n}"),
                "description": "Echoes its params",
            })
        })
        .collect();
    let server = json!({"command": "simulated", "timeout": 10});
    serde_json::from_value(json!({"server": server, "methods": methods}))
        .expect("a registration as the file would hold it")
}
