//! The receiver of webhooks in tests: a real HTTP server. It records every request, and sends the
//! good or bad reply that the test sets for each path.

mod reply;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
    sync::watch,
    task::JoinHandle,
};

use crate::wait::get_eventually;
use reply::answer;

/// The reply to requests at a path.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An empty response.
    Status(u16),
    /// A response with this body.
    Body(u16, String),
    /// An empty response after a delay.
    After(Duration, u16),
    /// No response until the reply is changed; then the new reply.
    Hang,
    /// A head with a content length, then one byte of the body at each interval.
    Drip(Duration),
    /// Closes the connection without a response.
    Close,
    /// Closes the connection in the middle of the body of a 200.
    CloseInBody,
    /// A 200 with a body of this many bytes.
    Huge(usize),
    /// A 301 to this address.
    Redirect(String),
}

/// One request as received.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// When its head and body had been read.
    pub began: Instant,
    /// When the response was sent or the sender disconnected; `None` while in progress.
    pub ended: Option<Instant>,
}

impl Received {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            let text = String::from_utf8_lossy(&self.body);
            panic!("the body is not JSON ({error}): {text}")
        })
    }

    /// The value of a header, `""` if the header is missing.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

#[derive(Default)]
struct Record {
    received: Vec<Received>,
    /// For each path: the number of requests that are read and not yet answered, now and at its
    /// peak.
    in_flight: HashMap<String, (usize, usize)>,
    connections: usize,
}

struct Shared {
    record: Mutex<Record>,
    replies: watch::Sender<HashMap<String, Reply>>,
}

pub struct TestReceiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Drop for TestReceiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TestReceiver {
    /// Responds with 200 on every path until changed.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            record: Mutex::default(),
            replies: watch::Sender::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            accepting,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the reply of a path, also for requests that hang.
    pub fn set(&self, path: &str, reply: Reply) {
        self.shared
            .replies
            .send_modify(|replies| drop(replies.insert(path.to_owned(), reply)));
    }

    /// The requests to a path, in the order of arrival.
    pub fn received(&self, path: &str) -> Vec<Received> {
        let record = self.shared.lock();
        let of_path = record.received.iter().filter(|one| one.path == path);
        of_path.cloned().collect()
    }

    pub fn count(&self, path: &str) -> usize {
        let record = self.shared.lock();
        let of_path = record.received.iter().filter(|one| one.path == path);
        of_path.count()
    }

    /// The highest number of simultaneous requests at a path.
    pub fn peak(&self, path: &str) -> usize {
        let record = self.shared.lock();
        record.in_flight.get(path).map_or(0, |(_, peak)| *peak)
    }

    /// Number of all accepted connections.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// Waits until at least `count` requests came to a path.
    pub async fn wait_for(&self, path: &str, count: usize, limit: Duration) -> Vec<Received> {
        let what = format!("{count} requests reach {path}");
        get_eventually(&what, limit, || async {
            (self.count(path) >= count).then(|| self.received(path))
        })
        .await
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, path: &str, headers: HeaderMap, body: Bytes) -> usize {
        let mut record = self.lock();
        let (now, peak) = record.in_flight.entry(path.to_owned()).or_default();
        *now += 1;
        *peak = (*peak).max(*now);
        record.received.push(Received {
            path: path.to_owned(),
            headers,
            body,
            began: Instant::now(),
            ended: None,
        });
        record.received.len() - 1
    }

    /// Marks a request as answered. Call this before the last bytes of the response are sent: after
    /// them, the client may send the next request.
    fn end(&self, index: usize) {
        let mut record = self.lock();
        let one = &mut record.received[index];
        if one.ended.is_none() {
            one.ended = Some(Instant::now());
            let path = one.path.clone();
            if let Some((now, _)) = record.in_flight.get_mut(&path) {
                *now -= 1;
            }
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.lock().connections += 1;
        connections.spawn(serve(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

/// Reads requests and responds until the connection ends.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let (mut reader, mut writer) = stream.into_split();
    while let Some((path, headers, body)) = read_request(&mut reader).await {
        let index = shared.begin(&path, headers, body);
        let goes_on = tokio::select! {
            goes_on = answer(&mut writer, &path, index, &shared) => goes_on,
            () = gone(&mut reader) => false,
        };
        shared.end(index);
        if !goes_on {
            return;
        }
    }
}

/// Resolves when the sender disconnects. The sender sends nothing while it waits for the response.
async fn gone(reader: &mut OwnedReadHalf) {
    let _ = reader.read(&mut [0; 1]).await;
}

/// Path, headers and body of the next request.
async fn read_request(reader: &mut OwnedReadHalf) -> Option<(String, HeaderMap, Bytes)> {
    let mut read = Vec::new();
    let head_end = loop {
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if reader.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&read[..head_end]).into_owned();
    let mut lines = head.trim_end().split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: HeaderMap = lines
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            let value = HeaderValue::from_str(value.trim()).ok()?;
            Some((name.parse::<HeaderName>().ok()?, value))
        })
        .collect();
    let length = headers.get("content-length");
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let mut body = read.split_off(head_end);
    while body.len() < length.unwrap_or_default() {
        if reader.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((path, headers, Bytes::from(body)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Http;

    #[tokio::test]
    async fn requests_at_the_same_time_are_counted() {
        let receiver = TestReceiver::start().await;
        receiver.set("/x", Reply::Hang);
        let http = Http::Tcp(receiver.address());
        let send = || {
            let http = http.clone();
            tokio::spawn(async move { http.request("POST", "/x", &[], "{}").await.status })
        };
        let limit = Duration::from_secs(60);
        let first = send();
        receiver.wait_for("/x", 1, limit).await;
        let second = send();
        receiver.wait_for("/x", 2, limit).await;
        receiver.set("/x", Reply::Status(201));
        for one in [first, second] {
            assert_eq!(one.await.expect("the request is answered"), 201);
        }
        assert_eq!(receiver.peak("/x"), 2);
        http.request("POST", "/y", &[], "{}").await.expect(200);
        http.request("POST", "/y", &[], "{}").await.expect(200);
        assert_eq!((receiver.count("/y"), receiver.peak("/y")), (2, 1));
    }
}
