//! Connections to a host of which each address is checked before it is used. The name is not
//! resolved again, so a name server cannot return another address after the check.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use svc_client::{
    TlsFailure,
    transport::{Stream, bare_host},
};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::error::OutboundError;

/// Starts TLS on an open stream. The certificate must be for `host`.
pub(super) async fn start_tls<S: Stream>(
    host: &str,
    stream: S,
    config: Arc<ClientConfig>,
) -> Result<TlsStream<S>, OutboundError> {
    let host = bare_host(host);
    let tls_error = |why: String| OutboundError::Handshake {
        host: host.to_owned(),
        why,
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        tls_error(
            "no certificate can be for this name: use letters, digits, `-` and `.`".to_owned(),
        )
    })?;
    TlsConnector::from(config)
        .connect(name, stream)
        .await
        .map_err(|error| TlsFailure::explain(error, host))
        // Leave out the remedy of the failure: it is for servers of svc, and `host` may be any
        // server.
        .map_err(|error| match TlsFailure::find(&error) {
            Some(failure) => tls_error(failure.why.clone()),
            None => tls_error(error.to_string()),
        })
}

/// Connects to the first of `addresses` that is permitted and accepts the connection. `addresses`
/// is the result of resolving `host`.
pub(super) async fn connect_permitted(
    host: &str,
    port: u16,
    addresses: Result<Vec<SocketAddr>, String>,
    permits: impl Fn(IpAddr) -> bool,
) -> Result<(TcpStream, SocketAddr), OutboundError> {
    let host = bare_host(host);
    let resolve_error = |why: String| OutboundError::Resolve {
        host: host.to_owned(),
        why,
    };
    let addresses = addresses.map_err(resolve_error)?;
    let mut failure = resolve_error("it has no address".to_owned());
    for address in addresses {
        if !permits(address.ip()) {
            // If a connection failed before, keep its error, which is more useful than this one.
            if !matches!(failure, OutboundError::Connect { .. }) {
                failure = OutboundError::Blocked {
                    host: host.to_owned(),
                    address: address.ip(),
                };
            }
            continue;
        }
        let connected = match TcpStream::connect(address).await {
            Ok(stream) => stream.set_nodelay(true).map(|()| stream),
            Err(error) => Err(error),
        };
        match connected {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => {
                failure = OutboundError::Connect {
                    host: host.to_owned(),
                    port,
                    address,
                    why: error.to_string(),
                };
            }
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::{TcpListener, lookup_host};

    use super::*;

    #[tokio::test]
    async fn only_a_permitted_address_is_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let blocked = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), address.port()));
        let permits = |ip: IpAddr| ip != blocked.ip();
        connect_permitted("example.org", 1, Ok(vec![blocked, address]), permits)
            .await
            .map(drop)
            .expect("connected");
        let refused = connect_permitted("example.org", 1, Ok(vec![blocked]), permits)
            .await
            .map(drop)
            .expect_err("blocked");
        assert!(
            matches!(refused, OutboundError::Blocked { .. }),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn numeric_forms_of_an_address_are_checked_too() {
        for host in ["127.0.0.1", "[::1]", "2130706433", "0x7f.1", "017700000001"] {
            let found = lookup_host((bare_host(host), 1)).await;
            let found = found
                .map(Iterator::collect)
                .map_err(|error| error.to_string());
            let error = connect_permitted(host, 1, found, |ip| !ip.is_loopback())
                .await
                .map(drop)
                .expect_err(host);
            // Some resolvers reject such forms, which is also safe.
            assert!(
                matches!(
                    error,
                    OutboundError::Blocked { .. } | OutboundError::Resolve { .. }
                ),
                "{host}: {error:?}"
            );
        }
    }
}
