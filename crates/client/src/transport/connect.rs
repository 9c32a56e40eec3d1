//! Connections to servers and agents: TCP, TLS, Unix sockets, and tunnels through a proxy.

use std::{io, path::Path, sync::Arc};

use svc_core::Timestamp;
use svc_private::{is_own_or_root, own_uid};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::Stream;
use crate::{
    certificates::{self, TlsFailure},
    proxy::Proxy,
    target::{Address, Target},
};

/// Opens a connection to a target, through its proxy if it has one. The agent's link uses this
/// function too.
pub async fn connect(target: &Target) -> io::Result<Box<dyn Stream>> {
    let proxy = target.proxy.as_deref();
    match &target.address {
        Address::Tcp { host, port } => Ok(Box::new(connect_tcp(proxy, host, *port).await?)),
        Address::Tls { host, port, config } => {
            let stream = connect_tcp(proxy, host, *port).await?;
            Ok(Box::new(begin_tls(host, stream, config.clone()).await?))
        }
        Address::Unix { path } => Ok(Box::new(connect_unix(path).await?)),
    }
}

/// The time at which the certificate of the server expires. `None` without TLS, or if the
/// certificate cannot be read.
pub async fn certificate_end(target: &Target) -> io::Result<Option<Timestamp>> {
    let Address::Tls { host, port, config } = &target.address else {
        return Ok(None);
    };
    let stream = connect_tcp(target.proxy.as_deref(), host, *port).await?;
    let stream = begin_tls(host, stream, config.clone()).await?;
    let (_, session) = stream.get_ref();
    let certificate = session.peer_certificates().and_then(<[_]>::first);
    Ok(certificate.and_then(certificates::end))
}

async fn begin_tls(
    host: &str,
    stream: TcpStream,
    config: Arc<ClientConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(bare_host(host).to_owned())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let connected = TlsConnector::from(config).connect(name, stream).await;
    connected.map_err(|error| TlsFailure::explain(error, bare_host(host)))
}

async fn connect_tcp(proxy: Option<&Proxy>, host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = match proxy {
        Some(proxy) => proxy.connect(&format!("{host}:{port}")).await?,
        None => TcpStream::connect((bare_host(host), port)).await?,
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connects to an agent's socket. Fails before anything is sent if another user listens there:
/// a user who can change the folder of a socket can replace the socket.
async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path).await?;
    let listener = stream.peer_cred()?.uid();
    if is_own_or_root(listener) {
        return Ok(stream);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "user id {listener} listens on this socket, and you are {}; nothing was sent, because \
             only an agent of yours or of root is used. Remove the socket and start your agent, or \
             run this command as the agent's user",
            own_uid()
        ),
    ))
}

/// The host without the brackets that a URL has around an IPv6 address.
pub fn bare_host(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}
