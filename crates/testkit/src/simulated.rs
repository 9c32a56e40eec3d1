//! Many agents in one process: they speak the link and echo what they are asked, with no method
//! server behind them.

use std::{net::SocketAddr, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use svc_core::registration::Registration;
use svc_protocol::link::{
    self, CALL_HEADER_BYTES, Control, Frame, FrameKind, FrameReader, Hello, Register, put_frame,
};
use tokio::{net::TcpStream, task::JoinSet, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

const STEP_LIMIT: Duration = Duration::from_secs(60);

/// Links that stay up, and answer, until this is dropped.
pub struct SimulatedAgents {
    links: JoinSet<String>,
}

type Socket = WebSocketStream<TcpStream>;

impl SimulatedAgents {
    /// Links one agent per token, `at_once` at a time. Each registers `methods` methods named
    /// `{{space}}.m0`, `{{space}}.m1`…
    pub async fn link(
        address: SocketAddr,
        agent_tokens: Vec<String>,
        methods: usize,
        at_once: usize,
    ) -> Self {
        let registration = registration(methods);
        let mut links = JoinSet::new();
        let mut tokens = agent_tokens.into_iter();
        loop {
            let group: Vec<_> = tokens.by_ref().take(at_once).collect();
            if group.is_empty() {
                return Self { links };
            }
            let mut joining = JoinSet::new();
            for token in group {
                let registration = registration.clone();
                joining.spawn(async move { join(address, &token, registration).await });
            }
            for socket in joining.join_all().await {
                links.spawn(serve(socket));
            }
        }
    }

    pub fn len(&self) -> usize {
        self.links.len()
    }

    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Why links have ended; none has, if all is well.
    pub fn ended(&mut self) -> Vec<String> {
        let mut reasons = Vec::new();
        while let Some(ended) = self.links.try_join_next() {
            reasons.push(ended.unwrap_or_else(|error| error.to_string()));
        }
        reasons
    }
}

fn registration(methods: usize) -> Registration {
    let methods: Vec<_> = (0..methods)
        .map(|n| {
            json!({
                "name": format!("{{{{space}}}}.m{n}"),
                "local_name": format!("m{n}"),
                "description": "Echoes its params",
            })
        })
        .collect();
    let document = json!({"server": {"command": "simulated"}, "methods": methods});
    serde_json::from_value(document).expect("a registration as the file would hold it")
}

/// Connects, says hello and registers.
async fn join(address: SocketAddr, agent_token: &str, registration: Registration) -> Socket {
    let stream = TcpStream::connect(address)
        .await
        .expect("the server accepts");
    stream
        .set_nodelay(true)
        .expect("a socket takes TCP_NODELAY");
    let mut request = format!("ws://{address}{}", link::PATH)
        .into_client_request()
        .expect("a well-formed address");
    let headers = request.headers_mut();
    let bearer = format!("Bearer {agent_token}")
        .parse()
        .expect("a token is a header value");
    headers.insert("authorization", bearer);
    let subprotocol = link::SUBPROTOCOL.parse().expect("a header value");
    headers.insert("sec-websocket-protocol", subprotocol);
    let (mut socket, _) = timeout(STEP_LIMIT, client_async(request, stream))
        .await
        .expect("the handshake ends")
        .expect("the link is taken");
    let hello = Control::Hello(Hello {
        versions: vec![link::VERSION],
        svc_version: "simulated".to_owned(),
        instance: agent_token.chars().rev().take(16).collect(),
    });
    ask(&mut socket, 0, &hello, |control| {
        matches!(control, Control::Welcome(_))
    })
    .await;
    let register = Control::Register(Box::new(Register {
        registration,
        generation: 1,
        replace_conflicting: false,
        place: None,
    }));
    ask(&mut socket, 1, &register, |control| {
        matches!(control, Control::Registered(_))
    })
    .await;
    socket
}

/// Sends a control message and waits for the answer that is wanted.
async fn ask(socket: &mut Socket, id: u64, control: &Control, wanted: impl Fn(&Control) -> bool) {
    let payload = serde_json::to_vec(control).expect("a control message is JSON");
    send(socket, &[Frame::new(id, FrameKind::Control, payload)])
        .await
        .expect("the link takes a message");
    let answered = timeout(STEP_LIMIT, async {
        loop {
            let message = socket
                .next()
                .await
                .expect("the link stays")
                .expect("a message");
            let Message::Binary(bytes) = message else {
                continue;
            };
            for frame in FrameReader::new(bytes) {
                let frame = frame.expect("a whole frame");
                if frame.kind != FrameKind::Control {
                    continue;
                }
                let control: Control =
                    serde_json::from_slice(&frame.payload).expect("a control message");
                assert!(
                    !matches!(
                        control,
                        Control::Refused(_) | Control::RegisterRefused { .. }
                    ),
                    "{control:?}"
                );
                if wanted(&control) {
                    return;
                }
            }
        }
    });
    answered.await.expect("the server answers in time");
}

/// Answers calls and pings until the link ends; says why it did.
async fn serve(mut socket: Socket) -> String {
    while let Some(message) = socket.next().await {
        let bytes = match message {
            Ok(Message::Binary(bytes)) => bytes,
            Ok(Message::Close(why)) => return format!("closed: {why:?}"),
            Ok(_) => continue,
            Err(error) => return error.to_string(),
        };
        let answers: Vec<_> = FrameReader::new(bytes)
            .filter_map(|frame| answer(&frame.expect("a whole frame")))
            .collect();
        if answers.is_empty() {
            continue;
        }
        if let Err(error) = send(&mut socket, &answers).await {
            return error.to_string();
        }
    }
    "end of stream".to_owned()
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

fn answer(frame: &Frame) -> Option<Frame> {
    match frame.kind {
        FrameKind::Ping => Some(Frame::empty(frame.id, FrameKind::Pong)),
        FrameKind::Cancel => Some(Frame::empty(frame.id, FrameKind::CancelledSent)),
        FrameKind::Call => {
            let mut request = frame.payload[CALL_HEADER_BYTES..].to_vec();
            request.extend_from_slice(b"0}");
            let call: Call<'_> = serde_json::from_slice(&request).expect("a call is a request");
            let params = call.params.map_or("null", RawValue::get).to_owned();
            Some(Frame::new(frame.id, FrameKind::Result, Bytes::from(params)))
        }
        _ => None,
    }
}

async fn send(
    socket: &mut Socket,
    frames: &[Frame],
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    let mut message = BytesMut::new();
    frames
        .iter()
        .for_each(|frame| put_frame(&mut message, frame));
    socket.send(Message::Binary(message.freeze())).await
}
