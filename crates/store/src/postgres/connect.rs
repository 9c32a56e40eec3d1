//! Opens a connection to the first host that answers and accepts writes.

use std::{
    fmt,
    net::IpAddr,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::{Stream, StreamExt, stream};
use tokio::{net::lookup_host, time::timeout};
use tokio_postgres::{
    AsyncMessage, Client, Config, NoTls,
    config::Host,
    tls::{MakeTlsConnect, TlsConnect},
};

use super::{
    CONNECT_MAX,
    address::{DatabaseUrl, display_host},
    error,
    timeline::{Timeline, Timelines},
};

/// The maximum number of addresses of one host name that are tried.
const ADDRESSES_MAX: usize = 8;

/// The messages that the database sends by itself. Reading them drives the connection.
pub(super) type Messages =
    Pin<Box<dyn Stream<Item = Result<AsyncMessage, tokio_postgres::Error>> + Send>>;

/// Why no host could be used.
pub(super) struct ConnectError {
    why: String,
    /// Whether a database answered but refused the connection, for example because it has too many
    /// connections. Such a database does not count as unreachable.
    pub(super) has_answered: bool,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Connects to one of the hosts of a URL.
pub(super) struct Connector {
    pub(super) url: DatabaseUrl,
    /// The host that was used last. It is tried first, so that connections after a failover do not
    /// wait for a host that does not answer.
    preferred: AtomicUsize,
    timelines: Timelines,
}

impl Connector {
    pub(super) fn new(url: DatabaseUrl) -> Self {
        Self {
            url,
            preferred: AtomicUsize::new(0),
            timelines: Timelines::default(),
        }
    }

    /// Tries the addresses of each host until a connection opens. Each attempt takes at most
    /// [`CONNECT_MAX`].
    pub(super) async fn connect(&self) -> Result<(Client, Messages), ConnectError> {
        let hosts = &self.url.hosts;
        let first = self.preferred.load(Ordering::Relaxed);
        let mut failures = Vec::new();
        let mut has_answered = false;
        for index in (first..hosts.len()).chain(0..first) {
            let host = &hosts[index];
            match self.connect_to(host).await {
                Ok(opened) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(opened);
                }
                Err(failure) => {
                    has_answered |= failure.has_answered;
                    failures.push(match hosts.len() {
                        1 => failure.why,
                        _ => format!("{}: {}", display_host(host, 0), failure.why),
                    });
                }
            }
        }
        Err(ConnectError {
            why: failures.join("; "),
            has_answered,
        })
    }

    async fn connect_to(&self, host: &Config) -> Result<(Client, Messages), ConnectError> {
        let mut last = no_answer();
        for address in addresses(host).await? {
            let mut config = host.clone();
            if let Some(address) = address {
                config.hostaddr(address);
            }
            match timeout(CONNECT_MAX, self.open_current(&config)).await {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(error)) => last = error,
                Err(_) => last = no_answer(),
            }
        }
        Err(last)
    }

    /// Opens a connection to one address. With several hosts, a former primary counts as
    /// unreachable. With only one host there is no choice, so its timeline is not checked.
    async fn open_current(&self, config: &Config) -> Result<(Client, Messages), ConnectError> {
        let opening = match &self.url.tls {
            Some(tls) => open(config, tls.clone()).await,
            None => open(config, NoTls).await,
        };
        let (client, mut messages) = opening.map_err(|error| ConnectError {
            why: error::text(&error),
            has_answered: error::is_refusal(&error),
        })?;
        if self.url.hosts.len() > 1
            && let Some(found) = Timeline::find(&client, &mut messages).await
        {
            self.timelines.check(found).map_err(|error| ConnectError {
                why: error.to_string(),
                has_answered: false,
            })?;
        }
        Ok((client, messages))
    }
}

async fn open<T>(config: &Config, tls: T) -> Result<(Client, Messages), tokio_postgres::Error>
where
    T: MakeTlsConnect<tokio_postgres::Socket>,
    T::Stream: Send + 'static,
    T::TlsConnect: Send,
    <T::TlsConnect as TlsConnect<tokio_postgres::Socket>>::Future: Send,
{
    let (client, mut connection) = config.connect(tls).await?;
    let messages = stream::poll_fn(move |context| connection.poll_message(context));
    Ok((client, messages.boxed()))
}

/// The addresses of a host. `None` means that no name has to be resolved: the options contain an
/// address or a Unix socket.
async fn addresses(host: &Config) -> Result<Vec<Option<IpAddr>>, ConnectError> {
    let name = match &host.get_hosts()[0] {
        Host::Tcp(name) if host.get_hostaddrs().is_empty() => name.as_str(),
        _ => return Ok(vec![None]),
    };
    let failed = |why: String| ConnectError {
        why,
        has_answered: false,
    };
    // The port is not used: the options have it.
    let found = timeout(CONNECT_MAX, lookup_host((name, 0)))
        .await
        .map_err(|_| {
            failed(format!(
                "the lookup of the host name `{name}` took too long"
            ))
        })?
        .map_err(|error| failed(error.to_string()))?;
    let found: Vec<_> = found
        .map(|one| Some(one.ip()))
        .take(ADDRESSES_MAX)
        .collect();
    match found.is_empty() {
        true => Err(failed(format!("the name `{name}` has no address"))),
        false => Ok(found),
    }
}

fn no_answer() -> ConnectError {
    ConnectError {
        why: "no answer in time".to_owned(),
        has_answered: false,
    }
}

/// Drives a connection until it ends. Ignores notifications.
pub(super) async fn drive(mut messages: Messages) {
    while let Some(Ok(_)) = messages.next().await {}
}
