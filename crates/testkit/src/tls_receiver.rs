//! A receiver of webhooks over HTTPS, with HTTP/1.1 and HTTP/2, that can ask for a client
//! certificate.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Body, Frame, Incoming},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use svc_crypto::tls;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        pki_types::{CertificateDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

use crate::{
    certificates::{TestAuthority, TestCertificate},
    wait::get_eventually,
};

/// One request as received.
#[derive(Clone, Debug)]
pub struct TlsReceived {
    pub path: String,
    pub version: Version,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The authority of the request's target, which HTTP/2 always has.
    pub authority: Option<String>,
    /// The name in the TLS handshake (SNI).
    pub server_name: Option<String>,
    /// Whether the client showed a certificate of the expected authority.
    pub has_client_certificate: bool,
    /// The number of the connection, counted from 1.
    pub connection: usize,
}

#[derive(Default)]
struct Record {
    received: Vec<TlsReceived>,
    connections: usize,
    /// Status and body by path; other paths get 200 and `ok`.
    replies: HashMap<String, (u16, String)>,
    /// Paths whose reply never ends.
    endless: HashSet<String>,
}

pub struct TlsReceiver {
    address: SocketAddr,
    record: Arc<Mutex<Record>>,
    accepting: JoinHandle<()>,
}

impl Drop for TlsReceiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TlsReceiver {
    /// Offers HTTP/2 and HTTP/1.1, and asks for no client certificate.
    pub async fn start(certificate: &TestCertificate) -> Self {
        Self::start_with(certificate, None, &["h2", "http/1.1"]).await
    }

    /// If `clients` is set, clients must show a certificate of this authority.
    pub async fn start_with(
        certificate: &TestCertificate,
        clients: Option<&TestAuthority>,
        protocols: &[&str],
    ) -> Self {
        let provider = tls::provider();
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = match clients {
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                let pem = authority.pem();
                let root = CertificateDer::from_pem_slice(pem.as_bytes());
                roots.add(root.expect("a certificate")).expect("usable");
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().expect("usable"))
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(certificate.chain(), certificate.key())
            .expect("usable");
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let record = Arc::new(Mutex::new(Record::default()));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let accepting = tokio::spawn(accept(listener, acceptor, Arc::clone(&record)));
        Self {
            address,
            record,
            accepting,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}{path}", self.address.port())
    }

    /// Sets the reply of a path.
    pub fn reply(&self, path: &str, status: u16, body: impl ToString) {
        let reply = (status, body.to_string());
        lock(&self.record).replies.insert(path.to_owned(), reply);
    }

    /// Lets a path reply with 200 and a body that never ends, one byte at a time.
    pub fn reply_endlessly(&self, path: &str) {
        lock(&self.record).endless.insert(path.to_owned());
    }

    pub fn received(&self) -> Vec<TlsReceived> {
        lock(&self.record).received.clone()
    }

    /// The number of all accepted connections, including those without a completed handshake.
    pub fn connections(&self) -> usize {
        lock(&self.record).connections
    }

    /// Waits until at least `count` requests arrived.
    pub async fn wait_for(&self, count: usize, limit: Duration) -> Vec<TlsReceived> {
        let what = format!("{count} requests arrive over TLS");
        get_eventually(&what, limit, || async {
            Some(self.received()).filter(|received| received.len() >= count)
        })
        .await
    }
}

fn lock(record: &Mutex<Record>) -> std::sync::MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, record: Arc<Mutex<Record>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = {
            let mut record = lock(&record);
            record.connections += 1;
            record.connections
        };
        connections.spawn(serve(stream, acceptor.clone(), Arc::clone(&record), number));
        while connections.try_join_next().is_some() {}
    }
}

/// A body of one byte every 100 ms.
struct Endless(tokio::time::Interval);

impl Endless {
    fn new() -> Self {
        Self(tokio::time::interval(Duration::from_millis(100)))
    }
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_tick(context)
            .map(|_| Some(Ok(Frame::data(Bytes::from_static(b" ")))))
    }
}

async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    record: Arc<Mutex<Record>>,
    connection: usize,
) {
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let session = stream.get_ref().1;
    let server_name = session.server_name().map(str::to_owned);
    let has_client_certificate = session.peer_certificates().is_some();
    let service = service_fn(move |request: Request<Incoming>| {
        let (record, server_name) = (Arc::clone(&record), server_name.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes());
            let mut record = lock(&record);
            let reply = record.replies.get(head.uri.path()).cloned();
            let is_endless = record.endless.contains(head.uri.path());
            record.received.push(TlsReceived {
                path: head.uri.path().to_owned(),
                version: head.version,
                headers: head.headers,
                body: body.unwrap_or_default(),
                authority: head.uri.authority().map(ToString::to_string),
                server_name,
                has_client_certificate,
                connection,
            });
            let (status, body) = reply.unwrap_or_else(|| (200, "ok".to_owned()));
            let body = match is_endless {
                true => Endless::new().boxed(),
                false => Full::new(Bytes::from(body)).boxed(),
            };
            let mut response = Response::new(body);
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            if status == 302 {
                let elsewhere = http::HeaderValue::from_static("/elsewhere");
                response.headers_mut().insert("location", elsewhere);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
