//! Connections to addresses that somebody else chose: every address a name stands for is judged,
//! and the connection goes to a judged address only. A name that answers differently the next
//! time gains nothing, since it is not asked again.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::{Stream, bare_host};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum GuardedError {
    #[error("the name `{host}` does not resolve: {why}")]
    Resolve { host: String, why: String },
    /// Every address of the name was refused.
    #[error("`{host}` is at `{address}`, which is not allowed")]
    Blocked { host: String, address: IpAddr },
    #[error("cannot connect to `{address}`: {why}")]
    Connect { address: SocketAddr, why: String },
    #[error("TLS with `{host}` fails: {why}")]
    Tls { host: String, why: String },
}

/// Opens a connection to the first of the addresses of `host` that is permitted and answers.
/// `addresses` is what a look-up of the name said. With `tls`, the certificate must be for `host`.
pub async fn connect_guarded(
    host: &str,
    addresses: Result<Vec<SocketAddr>, String>,
    tls: Option<Arc<ClientConfig>>,
    permits: impl Fn(IpAddr) -> bool,
) -> Result<Box<dyn Stream>, GuardedError> {
    let host = bare_host(host);
    let stream = connect_permitted(host, addresses, permits).await?;
    let Some(config) = tls else {
        return Ok(Box::new(stream));
    };
    let tls_error = |why: String| GuardedError::Tls {
        host: host.to_owned(),
        why,
    };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| tls_error(error.to_string()))?;
    let stream = TlsConnector::from(config)
        .connect(name, stream)
        .await
        .map_err(|error| tls_error(error.to_string()))?;
    Ok(Box::new(stream))
}

async fn connect_permitted(
    host: &str,
    addresses: Result<Vec<SocketAddr>, String>,
    permits: impl Fn(IpAddr) -> bool,
) -> Result<TcpStream, GuardedError> {
    let resolve_error = |why: String| GuardedError::Resolve {
        host: host.to_owned(),
        why,
    };
    let addresses = addresses.map_err(resolve_error)?;
    let mut failure = resolve_error("it has no address".to_owned());
    for address in addresses {
        if !permits(address.ip()) {
            // A connection that failed says more than an address that was not tried.
            if !matches!(failure, GuardedError::Connect { .. }) {
                failure = GuardedError::Blocked {
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
            Ok(stream) => return Ok(stream),
            Err(error) => {
                failure = GuardedError::Connect {
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
    async fn only_a_judged_address_is_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let blocked = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), address.port()));
        let permits = |ip: IpAddr| ip != blocked.ip();
        connect_guarded("example.org", Ok(vec![blocked, address]), None, permits)
            .await
            .map(drop)
            .expect("connected");
        let refused = connect_guarded("example.org", Ok(vec![blocked]), None, permits)
            .await
            .map(drop)
            .expect_err("blocked");
        assert!(
            matches!(refused, GuardedError::Blocked { .. }),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn numbers_for_hosts_are_judged_by_what_they_mean() {
        for host in ["127.0.0.1", "[::1]", "2130706433", "0x7f.1", "017700000001"] {
            let found = lookup_host((bare_host(host), 1)).await;
            let found = found
                .map(Iterator::collect)
                .map_err(|error| error.to_string());
            let error = connect_guarded(host, found, None, |ip| !ip.is_loopback())
                .await
                .map(drop)
                .expect_err(host);
            // A resolver that does not know such forms has not connected either.
            assert!(
                matches!(
                    error,
                    GuardedError::Blocked { .. } | GuardedError::Resolve { .. }
                ),
                "{host}: {error:?}"
            );
        }
    }
}
