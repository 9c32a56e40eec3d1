//! Starts a server, runs its background tasks, and stops it in order.

mod assemble;
mod bind;
mod file_limit;
mod housekeeping;
mod open;
mod pulse;
mod secret_key;

use std::{io, net::SocketAddr, time::Duration};

use svc_client::TargetError;
use svc_clock::Clock;
use svc_core::space::{Runtime, State, StopReason};
use svc_outbound::{GuardError, ProxyError};
use svc_store::{OpenError, StoreError};
use thiserror::Error;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub use self::pulse::Pulse;
use self::{
    assemble::{Assembly, assemble},
    bind::{bind, bind_loopback, reachable},
    housekeeping::housekeeping,
};
use crate::{
    app::App,
    http::{
        self,
        connections::{ConnectionLimits, Connections},
        listen::Listener,
    },
    identity::Identity,
    options::Options,
    records::RecordError,
    secrets::SecretError,
    tls::{self, TlsError},
    zone::{ServerIdError, Zone},
};

/// How long a stopping server keeps its links open, because its last requests may still make calls.
const LAST_CALLS: Duration = Duration::from_secs(1);

pub struct Server {
    app: App,
    url: String,
    address: SocketAddr,
    setup_link: Option<String>,
    listening: Vec<JoinHandle<()>>,
    housekeeping: Vec<JoinHandle<()>>,
    drain: Duration,
}

#[derive(Debug, Error)]
pub enum StartError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    ServerId(#[from] ServerIdError),
    #[error(transparent)]
    Identity(#[from] RecordError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Secrets(#[from] SecretError),
    #[error(
        "the secrets in this database were encrypted with another key; restore the `secret.key` of its data folder, or set SVC_SECRET_KEY to the key that was used. If the key is lost, start once with SVC_ACCEPT_NEW_KEY=1, then set the headers of each sink again and create a new secret for each sink and source: svc sink rotate-secret <sink> --overlap-hours 0, svc source rotate <source> --overlap-hours 0. Set the client secrets of sign-in providers again: svc oidc update. Users with an authenticator app then sign in with a recovery code and set the app up again, or an administrator resets their second factor: svc user reset-second-factor <user>"
    )]
    WrongSecretKey,
    #[error(
        "a database that several servers share needs SVC_SECRET_KEY, the same on each server; create a key with: openssl rand -base64 32"
    )]
    NoSecretKey,
    #[error(
        "SVC_SECRET_KEY is not the key of this zone; every server needs the same key. If the key is lost, start once with SVC_ACCEPT_NEW_KEY=1, then set the headers of each sink again and create a new secret for each sink and source: svc sink rotate-secret <sink> --overlap-hours 0, svc source rotate <source> --overlap-hours 0. Set the client secrets of sign-in providers again: svc oidc update. Users with an authenticator app then sign in with a recovery code and set the app up again, or an administrator resets their second factor: svc user reset-second-factor <user>"
    )]
    OtherSecretKey,
    #[error(transparent)]
    WebhookAllow(#[from] GuardError),
    #[error("`otlp_url` of traces cannot be used")]
    Traces(#[from] TargetError),
    #[error(transparent)]
    WebhookProxy(#[from] ProxyError),
    #[error(
        "cannot listen on {address}; choose another address with --listen, or port 0 for a free port"
    )]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
}

impl Server {
    /// Binds the listener, opens the database and serves in the background until `shutdown`, and
    /// for the shutdown delay after it.
    pub async fn start(options: Options, shutdown: CancellationToken) -> Result<Self, StartError> {
        Self::start_with_clock(options, Clock::system(), shutdown).await
    }

    /// [`Self::start`] with another clock for credentials, sources and schedules. For tests.
    pub async fn start_with_clock(
        options: Options,
        clock: Clock,
        shutdown: CancellationToken,
    ) -> Result<Self, StartError> {
        let (tls, reloader) = options.tls.as_ref().map(tls::acceptor).transpose()?.unzip();
        let (tcp, address) = bind(options.listen)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let own_url = format!("{scheme}://{}", reachable(address));
        let url = options
            .public_url
            .clone()
            .unwrap_or_else(|| own_url.clone());
        let opened = open::open(&options).await?;
        let (store, policy) = (opened.store.clone(), options.policy.identity);
        let identity = Identity::load(store, policy, options.quotas, clock.clone()).await?;
        let advertise_url = options.advertise_url.as_deref();
        let zone = Zone::next(&opened.store, opened.server_id, &url, advertise_url).await?;
        let Assembly {
            app,
            engine,
            internal_api,
        } = assemble(&options, opened, identity, zone, clock, shutdown)?;
        secret_key::check(&app, options.events.accept_new_key).await?;

        let local = match &tls {
            Some(_) if options.allow_local_spaces => Some(bind_loopback()?),
            _ => None,
        };
        let local_url = local.as_ref().map_or(own_url, |(_, url)| url.clone());
        app.local.server_url.get_or_init(|| local_url);
        let setup_link = first_start(&app, &options, &url).await?;
        app.links.expect_deployed().await?;
        start_local_spaces(&app, options.allow_local_spaces).await?;

        let router = http::router(&app);
        internal_api.open(router.clone());
        let mut listeners = vec![(tcp, tls)];
        listeners.extend(local.map(|(tcp, _)| (tcp, None)));
        let connections = connections(&options, &app);
        let mut housekeeping = housekeeping(&app);
        housekeeping.push(tokio::spawn(sweep(&app, connections.clone())));
        housekeeping.push(tokio::spawn(engine.run()));
        housekeeping.extend(reloader.map(|reloader| {
            let (metrics, shutdown) = (app.metrics.clone(), app.shutdown.clone());
            tokio::spawn(reloader.run(metrics, shutdown))
        }));
        let delay = options.policy.shutdown_delay;
        housekeeping.push(tokio::spawn(stop_after(app.clone(), delay)));
        info!(server.id = %app.server_id, "listening on {scheme}://{address}");
        Ok(Self {
            listening: listen(&app, &options, &router, &connections, listeners)?,
            app,
            url,
            address,
            setup_link,
            housekeeping,
            drain: options.policy.links.drain,
        })
    }

    pub fn app(&self) -> &App {
        &self.app
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL of this server for users.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Shows whether this server makes progress; for watchdogs.
    pub fn pulse(&self) -> Pulse {
        Pulse::new(self.app.store.clone())
    }

    /// The one-time link that creates the first administrator; `None` if the server has users.
    pub fn setup_link(&self) -> Option<String> {
        self.setup_link.clone()
    }

    /// Waits for the shutdown signal, then stops in order: no new connections, requests in flight
    /// finish, links are drained, local agents stop, scripts end, the store closes.
    pub async fn join(self) {
        self.app.shutdown.cancelled().await;
        info!("stopping");
        let listening = async {
            for listening in self.listening {
                if let Err(error) = listening.await {
                    warn!("a listener failed: {error}");
                }
            }
        };
        tokio::pin!(listening);
        // The links stay open for a moment, because the last requests may still make calls. A long
        // request does not extend this time.
        let drained = tokio::time::timeout(LAST_CALLS, &mut listening).await;
        let handing_over = self.app.links.drain();
        if drained.is_ok() {
            handing_over.await;
        } else {
            tokio::join!(listening, handing_over);
        }
        self.app.local.stop_all().await;
        for task in self.housekeeping {
            let _ = tokio::time::timeout(self.drain, task).await;
        }
        self.app.scripts.runner.close().await;
        self.app
            .identity
            .flush_last_used()
            .await
            .unwrap_or_else(|error| {
                warn!("cannot store the last use of credentials: {error}");
            });
        self.app.journal.flush().await;
        self.app.method_stats.flush().await;
        self.app.events.close().await;
        self.app.identity.close().await;
        self.app.store.close().await;
        info!("stopped");
    }
}

/// Serves the same router on each listener.
fn listen(
    app: &App,
    options: &Options,
    router: &axum::Router,
    connections: &Connections,
    listeners: Vec<(TcpListener, Option<TlsAcceptor>)>,
) -> Result<Vec<JoinHandle<()>>, StartError> {
    let serve = |(tcp, tls): (TcpListener, _)| {
        let address = tcp.local_addr().map_err(|source| StartError::Listen {
            address: options.listen,
            source,
        })?;
        let listener = Listener {
            tcp,
            tls,
            door: http::Door::new(app, router.clone(), address),
            connections: connections.clone(),
            head_max: options.limits.head_max,
            shutdown: app.shutdown.clone(),
        };
        Ok(tokio::spawn(listener.run(options.policy.links.drain)))
    };
    listeners.into_iter().map(serve).collect()
}

fn connections(options: &Options, app: &App) -> Connections {
    let total = file_limit::connections_max(options);
    let limits = ConnectionLimits {
        total,
        per_address: total.div_ceil(4),
        head: options.limits.head_max,
        stall: options.limits.answer_stall_max,
        trusted_proxies: options.trusted_proxies.clone(),
    };
    Connections::new(limits, app.answers.clone())
}

/// Closes connections that exceed their time, until the server stops.
fn sweep(app: &App, connections: Connections) -> impl Future<Output = ()> + use<> {
    let shutdown = app.shutdown.clone();
    async move {
        tokio::select! {
            () = connections.sweep() => (),
            () = shutdown.cancelled() => (),
        }
    }
}

/// On a server without users, creates the first administrator with the password of the options, or
/// returns a one-time setup link. There is no default password.
async fn first_start(
    app: &App,
    options: &Options,
    url: &str,
) -> Result<Option<String>, StartError> {
    if let Some(password) = options.admin_password.clone() {
        app.identity.ensure_admin(password).await?;
    }
    let token = app.identity.setup_token().await?;
    Ok(token.map(|token| format!("{url}/setup?token={token}")))
}

async fn start_local_spaces(app: &App, allowed: bool) -> Result<(), StoreError> {
    if !allowed {
        return Ok(());
    }
    for state in [State::Created, State::Deployed, State::Stopped] {
        let rows = app
            .store
            .read_table(move |tx| svc_store::spaces::list_in_state(tx, state))
            .await?;
        rows.iter()
            .filter(|row| row.runtime == Runtime::Local)
            .filter(|row| row.stop_reason != Some(StopReason::Requested))
            .filter(|row| app.spaces.may_run(row.owner_id))
            .for_each(|row| app.local.start(row.id, row.owner_id));
    }
    Ok(())
}

/// Stops the server `delay` after it was asked to stop. Load balancers notice meanwhile that it is
/// not ready, and send no more requests.
async fn stop_after(app: App, delay: Duration) {
    let stop = async {
        app.stop_requested.cancelled().await;
        if !delay.is_zero() {
            info!("not ready any more; stopping in {delay:?}");
            tokio::time::sleep(delay).await;
        }
        app.shutdown.cancel();
    };
    tokio::select! {
        () = stop => (),
        () = app.shutdown.cancelled() => (),
    }
}
