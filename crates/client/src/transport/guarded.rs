//! Connections to addresses that somebody else chose: every address a name stands for is judged,
//! and the connection goes to a judged address only. A name that answers differently the next
//! time gains nothing, since it is not asked again.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::{Stream, bare_host};

/// Answers of a resolver, for tests.
pub type Answers = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Who turns names into addresses.
#[derive(Clone, Default)]
pub enum Resolver {
    #[default]
    System,
    Given(Arc<Answers>),
}

impl Resolver {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::System => Ok(lookup_host((host, port)).await?.collect()),
            Self::Given(answers) => answers(host, port),
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Given(_) => "Given(…)",
        })
    }
}

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

/// Opens a connection to the first address of `host` that is permitted and answers.
/// With `tls`, the certificate must be for `host`.
pub async fn connect_guarded(
    host: &str,
    port: u16,
    tls: Option<Arc<ClientConfig>>,
    resolver: &Resolver,
    permits: impl Fn(IpAddr) -> bool,
) -> Result<Box<dyn Stream>, GuardedError> {
    let host = bare_host(host);
    let stream = connect_permitted(host, port, resolver, permits).await?;
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
    port: u16,
    resolver: &Resolver,
    permits: impl Fn(IpAddr) -> bool,
) -> Result<TcpStream, GuardedError> {
    let resolve_error = |why: String| GuardedError::Resolve {
        host: host.to_owned(),
        why,
    };
    let addresses = resolver
        .resolve(host, port)
        .await
        .map_err(|error| resolve_error(error.to_string()))?;
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
    use std::{
        net::Ipv4Addr,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use tokio::net::TcpListener;

    use super::*;

    fn given(answers: impl Fn() -> Vec<SocketAddr> + Send + Sync + 'static) -> Resolver {
        Resolver::Given(Arc::new(move |_, _| Ok(answers())))
    }

    #[tokio::test]
    async fn only_a_judged_address_is_connected_to_and_the_name_is_asked_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let blocked = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), address.port()));
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        // The second question would get another answer: rebinding.
        let resolver = given(move || match count.fetch_add(1, Ordering::SeqCst) {
            0 => vec![blocked, address],
            _ => vec![blocked],
        });
        let permits = |ip: IpAddr| ip != blocked.ip();
        connect_guarded("example.org", address.port(), None, &resolver, permits)
            .await
            .map(drop)
            .expect("connected");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        let refused = connect_guarded("example.org", address.port(), None, &resolver, permits)
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
            let error = connect_guarded(host, 1, None, &Resolver::System, |ip| !ip.is_loopback())
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
