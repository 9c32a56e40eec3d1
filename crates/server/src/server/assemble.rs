//! Builds the parts of a server and connects them.

/// A struct with clones of parts of [`Base`], and with other fields.
macro_rules! with_parts {
    ($type:ident of $base:ident { $($part:ident),* $(; $($field:ident $(: $value:expr)?),* $(,)?)? }) => {
        $type {
            $($part: $base.$part.clone(),)*
            $($($field $(: $value)?,)*)?
        }
    };
}

mod delivery;
mod sources;

use std::sync::{Arc, atomic::AtomicBool};

use svc_clock::Clock;
use svc_core::ServerId;
use svc_outbound::{AddressGuard, Outbound, Proxy};
use svc_pool::FairPool;
use svc_store::Store;
use tokio_util::sync::CancellationToken;

use super::{StartError, open::OpenDatabase};
use crate::{
    app::{App, Parts},
    call_history::CallHistory,
    diagnostics::SelfCheck,
    events::{
        deliver::Deliverers,
        emit::{Emitter, StorageLimits},
        history::History,
        hub::Hub,
        lanes::Engine,
    },
    host_names::AllowedHosts,
    identity::{Directory, Identity},
    journal::Journal,
    lifecycle::Lifecycle,
    limits::{ByteBudgets, CHANGES_BURST_SECONDS, RateLimit, TrialLimits},
    links::{Links, ZoneKeys},
    live::SpaceLogs,
    mcp::{CancellableCalls, Mcp, Views},
    methods::{
        calls::{Calls, recorder::CallRecorder},
        discovery::Discovery,
        openrpc,
        publish::{Publisher, RegistrationLimits},
        registry::Registry,
    },
    metrics::Metrics,
    oauth::OAuth,
    oidc::Oidc,
    options::{Limits, Options},
    scripts::{InternalApi, StoredTools},
    second_factors::SecondFactors,
    secrets::SecretKey,
    spaces::{LogsElsewhere, Spaces, local::LocalRuntime, templates::Templates},
    stats::{Overview, methods::MethodStatistics},
    streams::Streams,
    traces::Traces,
    zone::Zone,
};

/// A server that is built but not running.
pub struct Assembly {
    pub app: App,
    pub engine: Engine<Deliverers>,
    /// Opened with the router when the server starts.
    pub internal_api: Arc<InternalApi>,
}

/// Parts that nearly all other parts need.
struct Base {
    store: Store,
    identity: Identity,
    directory: Arc<Directory>,
    registry: Arc<Registry>,
    metrics: Arc<Metrics>,
    journal: Arc<Journal>,
    traces: Arc<Traces>,
    recorder: Arc<CallRecorder>,
    secrets: Arc<SecretKey>,
    compute: FairPool,
    streams: Streams,
    trials: Arc<TrialLimits>,
    budgets: ByteBudgets,
    hub: Hub,
    server_id: ServerId,
    shutdown: CancellationToken,
}

pub fn assemble(
    options: &Options,
    opened: OpenDatabase,
    identity: Identity,
    zone: Zone,
    clock: Clock,
    stop_requested: CancellationToken,
) -> Result<Assembly, StartError> {
    let shutdown = match options.policy.shutdown_delay.is_zero() {
        true => stop_requested.clone(),
        false => CancellationToken::new(),
    };
    let base = Base::new(options, &opened, identity, shutdown)?;
    let internal_api = Arc::new(InternalApi::default());
    let runner = delivery::runner(&base, options, internal_api.clone());
    let outbound = outbound(options, &options.events.webhook_allow)?;
    let deliverers = delivery::deliverers(&base, outbound.clone(), runner.clone());
    let deliverers = Arc::new(deliverers);
    let engine = delivery::engine(&base, options, deliverers.clone());
    let logs = Arc::new(SpaceLogs::default());
    let keys = ZoneKeys::new(&deliverers.secrets);
    let links = links(&base, options, logs.clone(), keys);
    let local = local(&base, options);
    let spaces = Arc::new(spaces(&base, options, links.clone(), logs, local.clone()));
    let discovery = discovery(&base);
    let calls = Arc::new(calls(&base, options, discovery.clone()));
    let scripts = delivery::scripts(&base, options, runner);
    let events = Arc::new(emitter(&base, options));
    let app = App::new(Parts {
        server_id: opened.server_id,
        zone,
        zone_position: opened.zone_position,
        catch_up: Arc::default(),
        stream_catch_up: Arc::default(),
        folder: opened.folder,
        templates: Templates {
            store: base.store.clone(),
            writer: base.identity.writer.clone(),
        },
        mcp: mcp(&base, calls.clone(), scripts.tools.clone()),
        stats: overview(&base, spaces.clone()),
        method_stats: method_stats(&base),
        self_check: SelfCheck {
            store: base.store.clone(),
            data_folder: options.data_dir.clone(),
        },
        calls,
        call_history: call_history(&base),
        discovery,
        spaces,
        links,
        local,
        sources: sources::sources(&base, options, &events, clock.clone()),
        schedules: sources::schedules(&base, options, &events, clock.clone()),
        events,
        history: history(&base),
        oauth: oauth(&base, options, outbound, clock.clone()),
        oidc: oidc(&base, options, deliverers.secrets.clone(), clock.clone())?,
        second_factors: second_factors(&base, options, &deliverers, clock.clone()),
        event_sinks: delivery::event_sinks(&base, options, deliverers),
        scripts,
        hub: base.hub,
        clock,
        limits: options.limits,
        changes: Arc::new(changes_limit(&options.limits)),
        changes_of_sessions: changes_limit(&options.limits),
        quotas: options.quotas,
        web: options.web.clone(),
        trusted_proxies: options.trusted_proxies.clone(),
        allowed_hosts: allowed_hosts(options),
        bodies: base.budgets.bodies,
        answers: base.budgets.answers,
        warned_of_proxy: AtomicBool::new(false),
        public_origin: options.public_url.as_deref().and_then(origin),
        public_authority: options.public_url.as_deref().and_then(authority),
        loopback_only: options.listen.ip().is_loopback(),
        store: base.store,
        identity: base.identity,
        directory: base.directory,
        registry: base.registry,
        metrics: base.metrics,
        journal: base.journal,
        traces: base.traces,
        compute: base.compute,
        stop_requested,
        shutdown: base.shutdown,
    });
    Ok(Assembly {
        app,
        engine,
        internal_api,
    })
}

fn changes_limit(limits: &Limits) -> RateLimit {
    RateLimit::with_burst(limits.changes_per_second, CHANGES_BURST_SECONDS)
}

impl Base {
    fn new(
        options: &Options,
        opened: &OpenDatabase,
        identity: Identity,
        shutdown: CancellationToken,
    ) -> Result<Self, StartError> {
        let (store, metrics) = (opened.store.clone(), Metrics::new(options.metrics));
        let journal = Journal::new(store.clone(), metrics.clone(), options.journal);
        let key = options.events.secret_key.clone();
        let secrets = SecretKey::load_or_create(&options.data_dir, key)?;
        let traces = Traces::new(
            &options.traces,
            &secrets.derive("the choice of recorded traces"),
            opened.server_id,
            metrics.clone(),
        )?;
        let (journal, traces) = (Arc::new(journal), Arc::new(traces));
        let recorder = CallRecorder {
            stats: Arc::default(),
            metrics: metrics.clone(),
            journal: journal.clone(),
            traces: traces.clone(),
        };
        Ok(Self {
            store,
            journal,
            traces,
            recorder: Arc::new(recorder),
            secrets: Arc::new(secrets),
            directory: identity.directory().clone(),
            identity,
            registry: Arc::default(),
            metrics,
            compute: options.limits.compute_pool(),
            streams: Streams::new(options.quotas),
            trials: Arc::default(),
            budgets: ByteBudgets::new(
                options.limits.unfinished_body_bytes_max,
                options.limits.unread_answer_bytes_max,
            ),
            hub: Hub::default(),
            server_id: opened.server_id,
            shutdown,
        })
    }
}

fn local(base: &Base, options: &Options) -> Arc<LocalRuntime> {
    LocalRuntime::new(
        base.identity.clone(),
        options.agent_program.clone(),
        options.data_dir.clone(),
    )
}

fn spaces(
    base: &Base,
    options: &Options,
    links: Arc<Links>,
    logs: Arc<SpaceLogs>,
    local: Arc<LocalRuntime>,
) -> Spaces {
    with_parts!(Spaces of base { store, hub, identity, directory;
        links,
        logs,
        logs_elsewhere: LogsElsewhere::new(base.store.clone()),
        local,
        allow_local: options.allow_local_spaces,
        wildcard_domain: options.wildcard_domain.clone(),
    })
}

fn links(base: &Base, options: &Options, logs: Arc<SpaceLogs>, keys: ZoneKeys) -> Arc<Links> {
    let lifecycle =
        with_parts!(Lifecycle of base { store, hub, directory; server_id: base.server_id });
    Links::new(
        with_parts!(Publisher of base { registry, directory, store, compute;
            quotas: options.quotas,
            limits: RegistrationLimits::new(options.limits.registrations_per_minute),
        }),
        Arc::new(lifecycle),
        logs,
        base.metrics.clone(),
        (options.policy.links, base.budgets.clone()),
        keys,
        base.shutdown.clone(),
    )
}

fn mcp(base: &Base, calls: Arc<Calls>, scripts: Arc<StoredTools>) -> Arc<Mcp> {
    let views = Views::new(
        base.registry.clone(),
        base.directory.clone(),
        scripts.clone(),
        base.compute.clone(),
    );
    Arc::new(with_parts!(
        Mcp of base { registry, directory, metrics, compute, streams, shutdown;
            views: Arc::new(views),
            calls,
            scripts,
            cancellable: CancellableCalls::default(),
        }
    ))
}

fn discovery(base: &Base) -> Arc<Discovery> {
    Arc::new(with_parts!(Discovery of base { registry, directory, compute }))
}

fn calls(base: &Base, options: &Options, discovery: Arc<Discovery>) -> Calls {
    with_parts!(Calls of base { registry, directory, recorder;
        openrpc: openrpc::OpenRpc { discovery },
        rate_limit: Arc::new(RateLimit::new(options.limits.calls_per_second)),
        answers: base.budgets.answers.clone(),
    })
}

fn call_history(base: &Base) -> Arc<CallHistory> {
    Arc::new(with_parts!(CallHistory of base { store, directory, journal, streams, shutdown }))
}

fn method_stats(base: &Base) -> MethodStatistics {
    with_parts!(MethodStatistics of base { store, directory, registry, metrics;
        calls: base.recorder.stats.clone(),
    })
}

fn overview(base: &Base, spaces: Arc<Spaces>) -> Overview {
    with_parts!(Overview of base { store, registry, directory, metrics, compute, streams;
        spaces,
        calls: base.recorder.stats.clone(),
        quotas: base.identity.quotas(),
    })
}

fn emitter(base: &Base, options: &Options) -> Emitter {
    Emitter::new(
        base.store.clone(),
        base.directory.clone(),
        base.hub.clone(),
        Clock::system(),
        Some(options.events.emits_per_second),
        StorageLimits {
            quotas: options.quotas,
            server_bytes: options.events.server_bytes,
        },
        base.traces.clone(),
    )
}

fn history(base: &Base) -> History {
    with_parts!(History of base { store, directory, hub, streams, shutdown })
}

fn oauth(base: &Base, options: &Options, outbound: Arc<Outbound>, clock: Clock) -> Arc<OAuth> {
    Arc::new(OAuth::new(
        base.store.clone(),
        base.identity.clone(),
        outbound,
        clock,
        options.oauth.clone(),
    ))
}

fn oidc(
    base: &Base,
    options: &Options,
    secrets: Arc<SecretKey>,
    clock: Clock,
) -> Result<Arc<Oidc>, StartError> {
    // Providers have their own allow list, separate from the list of webhooks. Users choose the
    // addresses of webhooks. If both had one list, webhooks could reach a provider in the private
    // network.
    let outbound = outbound(options, &options.oidc.allow)?;
    let (store, identity) = (base.store.clone(), base.identity.clone());
    Ok(Arc::new(Oidc::new(
        store, identity, secrets, outbound, clock,
    )))
}

/// Sends requests only to the public internet, and to the hosts and networks in `allow`.
fn outbound(options: &Options, allow: &[String]) -> Result<Arc<Outbound>, StartError> {
    let events = &options.events;
    let proxy = events.webhook_proxy.as_deref();
    let proxy = proxy
        .map(|url| Proxy::parse(url, events.webhook_proxy_resolves))
        .transpose()?;
    let outbound = Outbound::new(AddressGuard::new(allow)?).with_proxy(proxy);
    Ok(Arc::new(outbound))
}

fn second_factors(
    base: &Base,
    options: &Options,
    deliverers: &Deliverers,
    clock: Clock,
) -> Arc<SecondFactors> {
    let place = options.public_url.as_deref().and_then(authority);
    Arc::new(SecondFactors::new(
        base.store.clone(),
        base.identity.clone(),
        deliverers.secrets.clone(),
        clock,
        place.unwrap_or_else(|| "svc".to_owned()),
    ))
}

fn allowed_hosts(options: &Options) -> AllowedHosts {
    let public = options.public_url.as_deref().and_then(authority);
    let advertised = options.advertise_url.as_deref().and_then(authority);
    let allowed: Vec<_> = options
        .allowed_hosts
        .iter()
        .cloned()
        .chain(advertised)
        .collect();
    AllowedHosts::new(public.as_deref(), &allowed)
}

/// `https://example.org:8443` of `https://example.org:8443/x`, in lower case.
fn origin(url: &str) -> Option<String> {
    let (scheme, _) = url.split_once("://")?;
    let origin = format!("{scheme}://{}", authority(url)?);
    Some(origin.to_ascii_lowercase())
}

/// `example.org:8443` of `https://example.org:8443/x`.
fn authority(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    rest.split('/').next().map(str::to_owned)
}
