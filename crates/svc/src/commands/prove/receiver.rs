//! The receiver of the webhooks of a run: an HTTP server in the proving process. It reports every
//! request to the ledger. The seed decides which requests it answers slowly, with an error, or not
//! at all.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use clap::ValueEnum;
use serde::Deserialize;
use svc_core::EventId;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
    task::JoinSet,
};
use uuid::Uuid;

use super::{dice::Dice, ledger::Event, shared::Shared};
use crate::exit::{Failure, OrFail};

/// The maximum size of a request. The events of a run are small.
const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// The maximum number of open connections. Other programs of this machine may connect, too.
const CONNECTIONS_MAX: usize = 256;
const ACCEPTED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const REFUSED: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
/// The sink, the emitter and the event that a planted fault concerns.
const FAULT_AT: (usize, usize, usize) = (0, 0, 5);

/// A fault of the receiver, planted to show that a run notices it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Fault {
    /// One event is accepted and not recorded.
    DropArrival,
    /// One event is recorded after the next event.
    Swap,
    /// An event is recorded that does not exist.
    Invent,
}

/// What the receiver does with a request.
#[derive(Clone, Copy, Debug)]
enum Reply {
    Accept(Duration),
    Refuse,
    /// Closes the connection without an answer.
    Close,
}

pub struct Receiver {
    pub address: SocketAddr,
    _connections: JoinSet<()>,
}

impl Receiver {
    pub async fn start(shared: Arc<Shared>) -> Result<Self, Failure> {
        let failed = "cannot start the receiver";
        let listener = TcpListener::bind("127.0.0.1:0").await.or_fail(failed)?;
        let address = listener.local_addr().or_fail(failed)?;
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, shared));
        Ok(Self {
            address,
            _connections: connections,
        })
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&shared)))),
            // For example no free file descriptor: wait for one.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Answers requests until the connection ends.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let (mut reader, mut writer) = stream.into_split();
    let mut rest = Vec::new();
    while let Some((path, body)) = read_request(&mut reader, &mut rest).await {
        let mut answer = Some(ACCEPTED);
        if let Some((sink, event, failed)) = record(&shared, &path, &body) {
            answer = match reply(&shared, sink, event, failed) {
                Reply::Accept(delay) => tokio::select! {
                    () = tokio::time::sleep(delay) => Some(ACCEPTED),
                    () = gone(&mut reader) => None,
                },
                Reply::Refuse => Some(REFUSED),
                Reply::Close => None,
            };
            // Recorded before the answer is sent, because the sender may end the delivery at once.
            let is_accepted = answer == Some(ACCEPTED);
            shared.ledger().answer(sink, event, is_accepted);
        }
        let Some(answer) = answer else { return };
        if writer.write_all(answer).await.is_err() {
            return;
        }
    }
}

/// Resolves when the sender disconnects. The sender sends nothing while it waits for the answer.
async fn gone(reader: &mut OwnedReadHalf) {
    let _ = reader.read(&mut [0; 1]).await;
}

/// Records a request in the ledger. Returns the sink, the event, and the number of earlier requests
/// for the event that were not accepted. `None` if the receiver must accept the request at once and
/// must not record the answer.
fn record(shared: &Shared, path: &str, body: &[u8]) -> Option<(usize, Event, u32)> {
    let mut ledger = shared.ledger();
    let Some((sink, event)) = read_event(&ledger.sinks(), path, body) else {
        ledger.note_stranger(format!("a request to `{path}` names no event of this run"));
        return None;
    };
    let known = event.emitter < shared.emitters && event.n <= ledger.next(event.emitter);
    if !known {
        let Event { emitter, n, id } = event;
        let what = format!("event {n} of emitter {emitter} ({id}) was not emitted");
        ledger.note_stranger(what);
        return None;
    }
    let at = (sink, event.emitter, event.n);
    match shared.fault {
        Some(Fault::DropArrival | Fault::Swap) if at == FAULT_AT => return None,
        Some(Fault::Swap) if at == (FAULT_AT.0, FAULT_AT.1, FAULT_AT.2 + 1) => {
            let swapped = Event {
                n: FAULT_AT.2,
                id: ledger.id(FAULT_AT.1, FAULT_AT.2)?,
                ..event
            };
            ledger.arrive(sink, event);
            ledger.arrive(sink, swapped);
            ledger.answer(sink, swapped, true);
        }
        Some(Fault::Invent) if at == FAULT_AT => {
            let id = EventId(Uuid::nil());
            ledger.arrive(sink, event);
            ledger.arrive(sink, Event { id, ..event });
        }
        _ => {}
    }
    let failed = ledger.arrive(sink, event);
    Some((sink, event, failed))
}

#[derive(Deserialize)]
struct Body {
    event_id: EventId,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    emitter: usize,
    n: usize,
}

/// The index of the sink, and the event.
fn read_event(sinks: &[String], path: &str, body: &[u8]) -> Option<(usize, Event)> {
    let name = path.strip_prefix('/')?;
    let sink = sinks.iter().position(|sink| sink == name)?;
    let Body { event_id: id, data } = serde_json::from_slice(body).ok()?;
    let Data { emitter, n } = data;
    Some((sink, Event { emitter, n, id }))
}

/// Most requests are accepted at once. The first request of a few events fails. A few events are
/// accepted slowly. Very few events are never accepted and become `dead`.
fn reply(shared: &Shared, sink: usize, event: Event, failed: u32) -> Reply {
    if shared.fault.is_some() {
        return Reply::Accept(Duration::ZERO);
    }
    let mut dice = Dice::new(shared.seed, &[1_000, sink, event.emitter, event.n]);
    match dice.roll(1_000) {
        0..3 => Reply::Refuse,
        3..15 if failed == 0 => Reply::Refuse,
        15..25 if failed == 0 => Reply::Close,
        25..55 => Reply::Accept(dice.millis(10..60)),
        _ => Reply::Accept(Duration::ZERO),
    }
}

/// Path and body of the next request. `rest` holds bytes that were read beyond a request.
async fn read_request(reader: &mut OwnedReadHalf, rest: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let head_end = loop {
        if let Some(at) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if rest.len() > REQUEST_BYTES_MAX || reader.read_buf(rest).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&rest[..head_end]).to_ascii_lowercase();
    let path = head.split(' ').nth(1)?.to_owned();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|length| length.trim().parse::<usize>().ok())
        .filter(|&length| length <= REQUEST_BYTES_MAX)?;
    while rest.len() < head_end + length {
        if reader.read_buf(rest).await.ok()? == 0 {
            return None;
        }
    }
    let after = rest.split_off(head_end + length);
    let body = rest.split_off(head_end);
    *rest = after;
    Some((path, body))
}
