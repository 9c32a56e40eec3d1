//! Opens connections to receivers: directly, or through the proxy. If this server resolves the name
//! of a receiver, the guard checks every address before it is used.

use std::{
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};

use svc_client::transport::{Stream, bare_host};
use svc_core::UserId;
use tokio::net::TcpStream;
use tracing::info;

use super::{
    LOG_TARGET, Outbound, Progress,
    connection::Connection,
    error::OutboundError,
    guarded::{connect_permitted, start_tls},
    proxy::Proxy,
    request::{Request, RequestForm},
    settings::ConnectionSettings,
};

impl Outbound {
    pub(super) async fn connect(
        &self,
        request: &Request<'_>,
        settings: ConnectionSettings,
        progress: &mut Progress,
    ) -> Result<Connection, OutboundError> {
        let location = &request.location;
        let config = match location.tls {
            true => Some(self.tls.get(request.tls)?),
            false => None,
        };
        let (stream, address) = self.reach(request, progress).await?;
        progress.address = address;
        let mut form = match &self.proxy {
            Some(proxy) if proxy.resolves && !location.tls => RequestForm::Absolute {
                authorization: proxy.at.authorization.clone(),
            },
            _ => RequestForm::Origin,
        };
        let stream: Box<dyn Stream> = match config {
            Some(config) => {
                let mut began = Instant::now();
                let stream = start_tls(&location.host, stream, config).await?;
                progress.tls = Some(lap(&mut began));
                if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                    form = RequestForm::Http2;
                }
                Box::new(stream)
            }
            None => Box::new(stream),
        };
        Connection::start(stream, form, settings, address).await
    }

    /// A stream to the receiver, and the receiver's address if this server resolved it.
    async fn reach(
        &self,
        request: &Request<'_>,
        progress: &mut Progress,
    ) -> Result<(TcpStream, Option<SocketAddr>), OutboundError> {
        let (user, location) = (request.user, &request.location);
        let (host, port) = (bare_host(&location.host), location.port);
        let mut began = Instant::now();
        if let Some(proxy) = &self.proxy
            && proxy.resolves
        {
            // A literal address needs no look-up, so the guard can check it.
            if let Ok(address) = host.parse::<IpAddr>() {
                self.check(request, address)?;
            }
            let stream = self.connect_proxy(user, proxy).await?;
            let stream = match location.tls {
                true => {
                    let target = format!("{}:{port}", location.host);
                    let tunnel = proxy.at.tunnel(stream, &target).await;
                    tunnel.map_err(OutboundError::Tunnel)?
                }
                false => stream,
            };
            progress.connect = Some(lap(&mut began));
            return Ok((stream, None));
        }
        let addresses = self.lookups.resolve(user, host, port).await;
        progress.dns = Some(lap(&mut began));
        let reached = match &self.proxy {
            Some(proxy) => self.tunnel(request, proxy, addresses).await?,
            None => {
                let permits = |address| self.guard.permits(&location.host, address);
                let connected = connect_permitted(host, port, addresses, permits).await;
                connected.inspect_err(|error| log_failure(user, error))?
            }
        };
        progress.connect = Some(lap(&mut began));
        Ok((reached.0, Some(reached.1)))
    }

    /// A tunnel to the first address that is permitted and that the proxy reaches.
    async fn tunnel(
        &self,
        request: &Request<'_>,
        proxy: &Proxy,
        addresses: Result<Vec<SocketAddr>, String>,
    ) -> Result<(TcpStream, SocketAddr), OutboundError> {
        let resolve_error = |why: String| OutboundError::Resolve {
            host: bare_host(&request.location.host).to_owned(),
            why,
        };
        let addresses = addresses.map_err(resolve_error)?;
        let mut failure = resolve_error("it has no address".to_owned());
        for address in addresses {
            if let Err(blocked) = self.check(request, address.ip()) {
                failure = blocked;
                continue;
            }
            let stream = self.connect_proxy(request.user, proxy).await?;
            match proxy.at.tunnel(stream, &address.to_string()).await {
                Ok(stream) => return Ok((stream, address)),
                Err(why) => failure = OutboundError::Tunnel(why),
            }
        }
        Err(failure)
    }

    async fn connect_proxy(&self, user: UserId, proxy: &Proxy) -> Result<TcpStream, OutboundError> {
        let (host, port) = (&proxy.at.host, proxy.at.port);
        let addresses = self.lookups.resolve(user, host, port).await;
        let connected = connect_permitted(host, port, addresses, |_| true).await;
        connected.map(|(stream, _)| stream).map_err(|error| {
            log_failure(user, &error);
            OutboundError::Proxy
        })
    }

    fn check(&self, request: &Request<'_>, address: IpAddr) -> Result<(), OutboundError> {
        let host = &request.location.host;
        if self.guard.permits(host, address) {
            return Ok(());
        }
        let host = bare_host(host).to_owned();
        let blocked = OutboundError::Blocked { host, address };
        log_failure(request.user, &blocked);
        Err(blocked)
    }
}

/// Logs a failed connection with its address, for administrators.
fn log_failure(owner: UserId, error: &OutboundError) {
    let why = match error {
        OutboundError::Blocked { host, address } => {
            format!("`{host}` is at `{address}`, which is not allowed")
        }
        OutboundError::Connect { address, why, .. } => {
            format!("cannot connect to `{address}`: {why}")
        }
        _ => return,
    };
    info!(target: LOG_TARGET, { owner.id = %owner }, "a webhook could not connect: {why}");
}

/// Returns the time since `began`, and sets `began` to now.
fn lap(began: &mut Instant) -> Duration {
    let now = Instant::now();
    now.duration_since(std::mem::replace(began, now))
}
