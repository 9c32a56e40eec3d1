//! Both listeners over real sockets.

mod loopback;
mod proxy;
mod refusals;
mod socket;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UnixStream,
    sync::watch,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{socket::default_socket_path, *};
use crate::{
    link_status::LinkStatus,
    log::SpaceLog,
    method_server::Services,
    outbox::Outbox,
    packages::Packages,
    policy::EmitRetry,
    registration::{AgentAddresses, Registrar},
    server_api::ServerApi,
    servers::Servers,
};

/// Sends a request unchanged and reads the response to its end.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.expect("writes");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("reads");
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    let code = answer.split(' ').nth(1).unwrap_or_default();
    code.parse().unwrap_or_default()
}

fn events(servers: &Arc<Servers>, link: watch::Receiver<LinkStatus>) -> Arc<Events> {
    let policy = svc_client::Policy::default();
    let retry = EmitRetry::default();
    Arc::new(Events::new(
        Arc::clone(servers),
        "svc_agt_x",
        policy,
        link,
        retry,
    ))
}

pub fn servers(urls: &str) -> Arc<Servers> {
    Arc::new(Servers::parse(urls, None).expect("valid"))
}

/// Packages of an agent that has not read its libraries yet.
pub fn packages(
    folder: &Path,
    servers: &Arc<Servers>,
    link: watch::Receiver<LinkStatus>,
) -> Arc<Packages> {
    let server = ServerApi::new(Arc::clone(servers), "svc_agt_x", Duration::from_secs(5));
    Arc::new(Packages::new(
        folder.join("packages"),
        Arc::new(server),
        link,
    ))
}

/// The Unix socket of an agent that is not linked.
struct Unlinked {
    path: PathBuf,
    shutdown: CancellationToken,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    _file: SocketFile,
    _status: watch::Sender<LinkStatus>,
}

async fn unlinked(folder: &Path, server_urls: &str) -> Unlinked {
    let path = default_socket_path(folder).expect("a path");
    let (listener, file) = SocketFile::bind(&path).await.expect("binds");
    let (status, link) = watch::channel(LinkStatus::default());
    let addresses = AgentAddresses {
        url: Some("http://127.0.0.1:1".into()),
        socket: path.clone(),
    };
    let servers = servers(server_urls);
    let services = Services {
        packages: packages(folder, &servers, link.clone()),
        outbox: Arc::new(Outbox::new(1_000)),
        log: Arc::new(SpaceLog::new(100)),
        ids: Arc::default(),
        guard: crate::guard::Guard::absent(),
        policy: Arc::default(),
        simulated: None,
    };
    let route = PackageRoute {
        packages: Arc::clone(&services.packages),
        within: Duration::from_secs(1),
    };
    let (log, outbox) = (Arc::clone(&services.log), Arc::clone(&services.outbox));
    let policy = Arc::clone(&services.policy);
    let registrar = Registrar::new(services, link.clone(), addresses.clone(), folder.to_owned());
    let shutdown = CancellationToken::new();
    let api = Arc::new(SpaceApi {
        registrar: Arc::new(registrar),
        events: events(&servers, link.clone()),
        packages: Arc::new(route),
        link,
        addresses,
        proxy: Proxy::new(Arc::clone(&servers), "svc_agt_x", Duration::from_secs(5))
            .expect("a token"),
        log,
        outbox,
        policy,
        servers,
        shutdown: shutdown.clone(),
    });
    let stop = CancellationToken::new();
    let serving = tokio::spawn(serve_socket(listener, api, stop.clone(), Duration::ZERO));
    Unlinked {
        path,
        shutdown,
        stop,
        serving,
        _file: file,
        _status: status,
    }
}

impl Unlinked {
    async fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let stream = UnixStream::connect(&self.path).await.expect("connects");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(stream, &request).await
    }
}
