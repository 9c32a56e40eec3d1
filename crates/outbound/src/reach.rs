//! Opens connections to receivers: directly, or through the proxy. If this server resolves the name
//! of a receiver, the guard checks every address before it is used.

use std::{
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};

use svc_client::{
    TlsSettings,
    transport::{GuardedError, Stream, bare_host, connect_permitted, start_tls},
};
use svc_core::UserId;
use tokio::net::TcpStream;
use tracing::info;

use super::{
    Webhook,
    connection::{Connection, ConnectionSettings},
    exchange::Trace,
    outgoing::RequestForm,
    proxy::Proxy,
    url::Location,
};

impl Webhook {
    pub(super) async fn connect(
        &self,
        user: UserId,
        (location, tls): (&Location, TlsSettings<'_>),
        settings: ConnectionSettings,
        trace: &mut Trace,
    ) -> Result<Connection, String> {
        let config = match location.tls {
            true => Some(self.tls.get(tls).map_err(|error| error.to_string())?),
            false => None,
        };
        let (stream, address) = self.reach(user, location, trace).await?;
        trace.address = address;
        let mut form = match &self.proxy {
            Some(proxy) if proxy.resolves && !location.tls => RequestForm::Absolute,
            _ => RequestForm::Origin,
        };
        let stream: Box<dyn Stream> = match config {
            Some(config) => {
                let mut began = Instant::now();
                let started = start_tls(&location.host, stream, config).await;
                let stream = started.map_err(|error| self.explain(user, error, location))?;
                trace.tls = Some(lap(&mut began));
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
        user: UserId,
        location: &Location,
        trace: &mut Trace,
    ) -> Result<(TcpStream, Option<SocketAddr>), String> {
        let (host, port) = (bare_host(&location.host), location.port);
        let mut began = Instant::now();
        if let Some(proxy) = &self.proxy
            && proxy.resolves
        {
            // A literal address needs no look-up, so the guard can check it.
            if let Ok(address) = host.parse::<IpAddr>() {
                self.check(user, location, address)?;
            }
            let stream = self.connect_proxy(user, proxy).await?;
            let stream = match location.tls {
                true => {
                    let target = format!("{}:{port}", location.host);
                    proxy.at.tunnel(stream, &target).await?
                }
                false => stream,
            };
            trace.connect = Some(lap(&mut began));
            return Ok((stream, None));
        }
        let addresses = self.lookups.resolve(user, host, port).await;
        trace.dns = Some(lap(&mut began));
        let reached = match &self.proxy {
            Some(proxy) => self.tunnel(user, location, proxy, addresses).await?,
            None => {
                let permits = |address| self.guard.permits(&location.host, address);
                let connected = connect_permitted(host, addresses, permits).await;
                connected.map_err(|error| self.explain(user, error, location))?
            }
        };
        trace.connect = Some(lap(&mut began));
        Ok((reached.0, Some(reached.1)))
    }

    /// A tunnel to the first address that is permitted and that the proxy reaches.
    async fn tunnel(
        &self,
        user: UserId,
        location: &Location,
        proxy: &Proxy,
        addresses: Result<Vec<SocketAddr>, String>,
    ) -> Result<(TcpStream, SocketAddr), String> {
        let host = bare_host(&location.host);
        let resolve_error = |why: String| {
            let host = host.to_owned();
            self.explain(user, GuardedError::Resolve { host, why }, location)
        };
        let addresses = addresses.map_err(resolve_error)?;
        let mut failure = resolve_error("it has no address".to_owned());
        for address in addresses {
            if let Err(blocked) = self.check(user, location, address.ip()) {
                failure = blocked;
                continue;
            }
            let stream = self.connect_proxy(user, proxy).await?;
            match proxy.at.tunnel(stream, &address.to_string()).await {
                Ok(stream) => return Ok((stream, address)),
                Err(why) => failure = why,
            }
        }
        Err(failure)
    }

    async fn connect_proxy(&self, user: UserId, proxy: &Proxy) -> Result<TcpStream, String> {
        let addresses = self
            .lookups
            .resolve(user, &proxy.at.host, proxy.at.port)
            .await;
        let connected = connect_permitted(&proxy.at.host, addresses, |_| true).await;
        match connected {
            Ok((stream, _)) => Ok(stream),
            Err(error) => {
                self.log_failure(user, &error);
                // Only the log contains the address of the proxy.
                Err("cannot connect to the proxy of this server; an administrator can see why in the server's log".to_owned())
            }
        }
    }

    fn check(&self, user: UserId, location: &Location, address: IpAddr) -> Result<(), String> {
        if self.guard.permits(&location.host, address) {
            return Ok(());
        }
        let host = bare_host(&location.host).to_owned();
        Err(self.explain(user, GuardedError::Blocked { host, address }, location))
    }

    /// Logs the error if it contains an address. Returns the text of the error for the owner.
    fn explain(&self, user: UserId, error: GuardedError, location: &Location) -> String {
        self.log_failure(user, &error);
        connect_reason(error, bare_host(&location.host), location.port)
    }

    /// Logs a failed connection with its address, for administrators. The error for the owner of a
    /// webhook must not contain the address behind a name: it may belong to the operator's internal
    /// network.
    fn log_failure(&self, owner: UserId, error: &GuardedError) {
        let has_address = matches!(
            error,
            GuardedError::Blocked { .. } | GuardedError::Connect { .. }
        );
        if has_address {
            info!(owner.id = %owner, "a webhook could not connect: {error}");
        }
    }
}

/// The error for the owner of a webhook. It names the host and never the address behind it.
fn connect_reason(error: GuardedError, host: &str, port: u16) -> String {
    match error {
        GuardedError::Blocked { .. } => format!(
            "`{host}` is not an allowed target: its address is not globally routable; an administrator can allow it in `webhooks.allow`"
        ),
        GuardedError::Connect { why, .. } => {
            format!("cannot connect to `{host}`, port {port}: {why}")
        }
        other @ (GuardedError::Resolve { .. } | GuardedError::Tls { .. }) => other.to_string(),
    }
}

/// Returns the time since `began`, and sets `began` to now.
fn lap(began: &mut Instant) -> Duration {
    let now = Instant::now();
    now.duration_since(std::mem::replace(began, now))
}
