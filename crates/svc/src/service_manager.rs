//! Messages to the service manager that started this server (systemd's `sd_notify`): the server is
//! ready, makes progress, or stops.

use std::{
    io,
    os::unix::net::{SocketAddr, UnixDatagram},
    time::Duration,
};

use svc_protocol::env;
use svc_server::Pulse;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::environment::Environment;

/// A service manager that does not read its socket must not delay the server for longer than this.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

pub struct ServiceManager {
    socket: SocketAddr,
    /// Time between two messages: half of the time within which the service manager expects one.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The service manager, if this process was started by one that expects messages.
    pub fn find(environment: &Environment) -> Option<Self> {
        let name = environment.get(env::NOTIFY_SOCKET)?;
        match address(name) {
            Ok(socket) => Some(Self {
                socket,
                watchdog: watchdog(environment),
            }),
            Err(error) => {
                let variable = env::NOTIFY_SOCKET;
                warn!("{variable} is `{name}`, which cannot be used: {error}");
                None
            }
        }
    }

    /// Reports that the server is ready, then its progress, until it stops.
    pub async fn report(self, url: String, pulse: Pulse, shutdown: CancellationToken) {
        self.send(&format!("READY=1\nSTATUS=listening on {url}"))
            .await;
        tokio::select! {
            () = self.feed_watchdog(&pulse) => {}
            () = shutdown.cancelled() => {}
        }
        self.send("STOPPING=1\nSTATUS=stopping").await;
    }

    /// Never returns. Without progress the service manager gets no `WATCHDOG=1`, and restarts the
    /// server.
    async fn feed_watchdog(&self, pulse: &Pulse) {
        let Some(interval) = self.watchdog else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(interval);
        loop {
            ticks.tick().await;
            let reason = match tokio::time::timeout(interval, pulse.beat()).await {
                Ok(Ok(())) => {
                    self.send("WATCHDOG=1").await;
                    continue;
                }
                // Report progress although the database is down: a restart would not repair the
                // database, and would interrupt calls, which work without it.
                Ok(Err(error)) if error.is_outage() => {
                    let status = format!("STATUS=the database takes no writes: {error}");
                    self.send(&format!("WATCHDOG=1\n{status}")).await;
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {:.1} s", interval.as_secs_f64()),
            };
            warn!("the database takes no writes, so the watchdog gets no message: {reason}");
            self.send(&format!("STATUS=the database takes no writes: {reason}"))
                .await;
        }
    }

    async fn send(&self, message: &str) {
        let sent = tokio::time::timeout(SEND_TIMEOUT, self.try_send(message)).await;
        if let Err(error) = sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            warn!("cannot send `{message}` to the service manager: {error}");
        }
    }

    async fn try_send(&self, message: &str) -> io::Result<()> {
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&self.socket)?;
        socket.set_nonblocking(true)?;
        let socket = tokio::net::UnixDatagram::from_std(socket)?;
        socket.send(message.as_bytes()).await.map(drop)
    }
}

/// A path, or `@` and the name of an abstract socket.
fn address(name: &str) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix('@') {
        use std::os::linux::net::SocketAddrExt;
        return SocketAddr::from_abstract_name(name);
    }
    if name.starts_with('/') {
        return SocketAddr::from_pathname(name);
    }
    Err(io::Error::other("it must begin with `/` or `@`"))
}

fn watchdog(environment: &Environment) -> Option<Duration> {
    let own = std::process::id().to_string();
    if environment
        .get(env::WATCHDOG_PID)
        .is_some_and(|id| id != own)
    {
        return None;
    }
    let time: u64 = environment.get(env::WATCHDOG_USEC)?.parse().ok()?;
    (time > 1).then(|| Duration::from_micros(time / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_interval_is_half_of_its_time_and_only_for_the_watched_process() {
        let own = std::process::id().to_string();
        let check = |variables: &[(&str, &str)], expected: Option<u64>| {
            let environment = Environment::of(std::path::Path::new("/"), variables);
            let expected = expected.map(Duration::from_micros);
            assert_eq!(watchdog(&environment), expected, "{variables:?}");
        };
        check(&[], None);
        check(&[(env::WATCHDOG_USEC, "30000000")], Some(15_000_000));
        check(&[(env::WATCHDOG_USEC, "soon")], None);
        check(&[(env::WATCHDOG_USEC, "0")], None);
        let usec = (env::WATCHDOG_USEC, "10");
        check(&[usec, (env::WATCHDOG_PID, &own)], Some(5));
        check(&[usec, (env::WATCHDOG_PID, "1")], None);
    }

    #[test]
    fn only_paths_and_abstract_names_are_sockets() {
        let path = address("/run/notify").expect("a path");
        assert!(!path.is_unnamed());
        let name = address("@notify").expect("an abstract name");
        assert!(name.as_pathname().is_none() && !name.is_unnamed());
        for wrong in ["vsock:2:1", "notify", &format!("/{}", "x".repeat(200))] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
