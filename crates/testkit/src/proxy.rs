//! An HTTP proxy for tests. It tunnels with CONNECT, and forwards requests in absolute form.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, lookup_host},
    task::{JoinHandle, JoinSet},
};

/// The head of one request: its first line, and its headers with names in lower case.
#[derive(Clone, Debug)]
pub struct ProxyRequest {
    pub line: String,
    pub headers: Vec<(String, String)>,
}

impl ProxyRequest {
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(one, _)| one == name);
        found.map_or("", |(_, value)| value)
    }
}

pub struct TestProxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ProxyRequest>>>,
    accepting: JoinHandle<()>,
}

impl Drop for TestProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TestProxy {
    /// Starts a proxy that resolves names itself and permits every target. With `refuses`, it
    /// answers every request with 403.
    pub async fn start(refuses: bool) -> Self {
        Self::start_with(refuses, None).await
    }

    /// Starts a proxy that resolves `name` to `address`. Only this proxy can resolve the name.
    pub async fn start_for(name: &'static str, address: SocketAddr) -> Self {
        Self::start_with(false, Some((name, address))).await
    }

    async fn start_with(refuses: bool, known: Option<(&'static str, SocketAddr)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&received), refuses, known));
            }
        });
        Self {
            address,
            requests,
            accepting,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn requests(&self) -> Vec<ProxyRequest> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    requests: Arc<Mutex<Vec<ProxyRequest>>>,
    refuses: bool,
    known: Option<(&str, SocketAddr)>,
) -> Option<()> {
    let mut read = Vec::new();
    let end = loop {
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&read[..end]).into_owned();
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next()?.to_owned();
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    let headers = headers.collect();
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    requests
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(ProxyRequest { line, headers });
    if refuses {
        let answer = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
        return stream.write_all(answer).await.ok();
    }
    if method == "CONNECT" {
        let mut receiver = connect(&target, known).await?;
        let answer = b"HTTP/1.1 200 Connection established\r\n\r\n";
        stream.write_all(answer).await.ok()?;
        copy_bidirectional(&mut stream, &mut receiver).await.ok()?;
        return Some(());
    }
    // Forwards the first request with its path only. All later bytes are passed on unchanged.
    let rest = target.strip_prefix("http://")?;
    let (host, path) = rest.split_once('/')?;
    let mut receiver = connect(host, known).await?;
    let forwarded = head.replacen(&target, &format!("/{path}"), 1);
    receiver.write_all(forwarded.as_bytes()).await.ok()?;
    receiver.write_all(&read[end..]).await.ok()?;
    copy_bidirectional(&mut stream, &mut receiver).await.ok()?;
    Some(())
}

async fn connect(target: &str, known: Option<(&str, SocketAddr)>) -> Option<TcpStream> {
    let (host, _) = target.rsplit_once(':')?;
    let address = match known {
        Some((name, address)) if name == host => address,
        _ => lookup_host(target).await.ok()?.find(SocketAddr::is_ipv4)?,
    };
    TcpStream::connect(address).await.ok()
}
