//! Prometheus metrics, and the call statistics of the overview. Labels are resolved once, so that
//! counting a call is an atomic addition.

mod call_stats;
mod events;
mod journal;
mod latency_series;
mod mcp;
mod methods;
mod receivers;
mod recent;
mod scripts;
mod sources;
mod traces;

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};
use svc_core::{Timestamp, journal::CallEnd};
use svc_protocol::jsonrpc::RpcError;
use svc_store::StoreError;

use self::recent::Recent;

pub use call_stats::CallStats;
pub use events::{EventCounters, EventMetrics};
pub use journal::JournalMetrics;
pub use mcp::{McpMetrics, McpOutcome};
pub use methods::{MethodMeter, MethodMetrics};
pub use receivers::RunningAttempt;
pub use scripts::ScriptMetrics;
pub use sources::SourceMetrics;
pub use traces::{SpanOutcome, TraceMetrics};

/// The lanes are read at most once in this time: the cost grows with their number.
const LANES_MAX_AGE: Duration = Duration::from_secs(1);

/// An enum whose variants are the values of a label.
macro_rules! label_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $label:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$inner])* $variant,)*
        }

        impl $name {
            const ALL: [Self; [$($label),*].len()] = [$(Self::$variant),*];

            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }
        }
    };
}
use label_enum;

label_enum! {
    /// How a call ended.
    CallOutcome {
        Ok = "ok",
        /// The method server returned an error, or an answer that was rejected.
        MethodError = "method_error",
        NotFound = "not_found",
        Unavailable = "unavailable",
        TimedOut = "timeout",
        Interrupted = "interrupted",
        Invalid = "invalid",
        Notification = "notification",
        NotificationDropped = "notification_dropped",
        /// The caller disconnected or cancelled the call before the answer, or has too many answers
        /// that were not read.
        Cancelled = "cancelled",
    }
}

impl CallOutcome {
    pub fn of(error: &RpcError) -> Self {
        match error {
            RpcError::Parse | RpcError::InvalidRequest(_) | RpcError::TooDeep => Self::Invalid,
            RpcError::MethodNotFound => Self::NotFound,
            RpcError::Unavailable => Self::Unavailable,
            RpcError::TimedOut { .. } => Self::TimedOut,
            RpcError::Interrupted => Self::Interrupted,
            RpcError::AnswerTooLarge { .. } | RpcError::InvalidResponse(_) => Self::MethodError,
            RpcError::UnreadAnswers { .. } | RpcError::UnfinishedBodies { .. } => Self::Cancelled,
        }
    }

    /// The corresponding outcome in the call journal; `None` for an invalid request.
    pub fn end(self) -> Option<CallEnd> {
        Some(match self {
            Self::Ok => CallEnd::Ok,
            Self::MethodError => CallEnd::MethodError,
            Self::NotFound => CallEnd::NotFound,
            Self::Unavailable => CallEnd::Unavailable,
            Self::TimedOut => CallEnd::TimedOut,
            Self::Interrupted => CallEnd::Interrupted,
            Self::Notification => CallEnd::Notification,
            Self::NotificationDropped => CallEnd::NotificationDropped,
            Self::Cancelled => CallEnd::Cancelled,
            Self::Invalid => return None,
        })
    }

    /// Whether a call with this outcome has an answer, so that its time is a latency.
    pub fn is_answer(self) -> bool {
        !matches!(
            self,
            Self::Invalid | Self::Notification | Self::NotificationDropped | Self::Cancelled
        )
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// Which series the metrics have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetricsOptions {
    /// The maximum number of methods that have series of their own.
    pub methods: usize,
    /// The maximum number of receivers of events that have series of their own.
    pub receivers: usize,
    /// Whether the series of methods have the labels `owner` and `space`.
    pub owner_label: bool,
    pub space_label: bool,
}

impl Default for MetricsOptions {
    fn default() -> Self {
        Self {
            methods: 200,
            receivers: 500,
            owner_label: false,
            space_label: false,
        }
    }
}

pub struct Metrics {
    registry: Registry,
    calls: [Counter; CallOutcome::ALL.len()],
    call_seconds: Histogram,
    calls_in_flight: Gauge,
    links: Gauge,
    side_links: Gauge,
    registered_methods: Gauge,
    method_server_restarts: Counter,
    tls_reloads: Family<OutcomeLabel, Counter>,
    /// 1 while the embedded database takes no writes.
    pub database_failing: Gauge,
    unfinished_body_bytes: Gauge,
    unread_answer_bytes: Gauge,
    pub events: EventMetrics,
    /// The time and outcome of the last update of `events` from all lanes in the store.
    pub lanes: Recent<Result<(), StoreError>>,
    pub methods: Arc<MethodMetrics>,
    pub journal: JournalMetrics,
    pub mcp: McpMetrics,
    pub scripts: ScriptMetrics,
    pub sources: SourceMetrics,
    pub traces: TraceMetrics,
}

impl Metrics {
    pub fn new(options: MetricsOptions) -> Arc<Self> {
        let mut registry = Registry::with_prefix("svc");
        let table = &mut registry;
        let calls: Family<OutcomeLabel, Counter> = add(table, "calls", "Calls by outcome");
        let call_seconds = Histogram::new([
            0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
            2.5, 5.0, 10.0, 30.0, 60.0,
        ]);
        table.register(
            "call_seconds",
            "Time from arrival to answer",
            call_seconds.clone(),
        );
        let methods = Arc::new(MethodMetrics::new(options));
        table.register_collector(Box::new(Arc::clone(&methods)));
        Arc::new(Self {
            calls: CallOutcome::ALL.map(|outcome| {
                let outcome = outcome.label();
                calls.get_or_create(&OutcomeLabel { outcome }).clone()
            }),
            call_seconds,
            calls_in_flight: add(table, "calls_in_flight", "Calls being answered"),
            links: add(table, "links", "Home links of agents to this server"),
            side_links: add(
                table,
                "side_links",
                "Links of agents whose home is another server of the zone",
            ),
            registered_methods: add(table, "methods", "Methods registered on this server"),
            method_server_restarts: add(
                table,
                "method_server_restarts",
                "Restarts of method servers, as their agents report them",
            ),
            tls_reloads: add(
                table,
                "tls_reloads",
                "Changes of the certificate's files by outcome",
            ),
            database_failing: add(
                table,
                "database_failing",
                "1 while the disk of the embedded database takes no writes",
            ),
            unfinished_body_bytes: add(
                table,
                "unfinished_body_bytes",
                "Bytes of bodies of requests that have not ended, and of calls that wait for a link",
            ),
            unread_answer_bytes: add(
                table,
                "unread_answer_bytes",
                "Bytes of answers that their clients have not read yet",
            ),
            events: EventMetrics::new(table, options.receivers),
            lanes: Recent::new(LANES_MAX_AGE),
            methods,
            journal: JournalMetrics::new(table),
            mcp: McpMetrics::new(table),
            scripts: ScriptMetrics::new(table),
            sources: SourceMetrics::new(table),
            traces: TraceMetrics::new(table),
            registry,
        })
    }

    pub fn count(&self, outcome: CallOutcome) {
        self.calls[outcome as usize].inc();
    }

    /// Measures the time of a call whose caller gets an answer.
    pub fn measure(&self, took: Duration) {
        self.call_seconds.observe(took.as_secs_f64());
    }

    /// Counts a call as in flight until the result is dropped.
    pub fn call_started(&self) -> RunningCall<'_> {
        self.calls_in_flight.inc();
        RunningCall(self)
    }

    /// Calls being answered.
    pub fn calls_in_flight(&self) -> u64 {
        u64::try_from(self.calls_in_flight.get()).unwrap_or(0)
    }

    /// Counts a link until the result is dropped.
    pub fn link_up(&self, is_side: bool) -> GaugeGuard {
        GaugeGuard::new(match is_side {
            true => &self.side_links,
            false => &self.links,
        })
    }

    pub fn method_server_restarts(&self, count: u64) {
        self.method_server_restarts.inc_by(count);
    }

    /// Counts a change of the certificate's files, and whether the new files are used.
    pub fn count_tls_reload(&self, used: bool) {
        let outcome = if used { "used" } else { "refused" };
        self.tls_reloads
            .get_or_create(&OutcomeLabel { outcome })
            .inc();
    }

    /// Sets the gauges of the memory for bodies and answers.
    pub fn set_bytes(&self, unfinished_bodies: usize, unread_answers: usize) {
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.unfinished_body_bytes.set(bytes(unfinished_bodies));
        self.unread_answer_bytes.set(bytes(unread_answers));
    }

    /// The text format of `GET /metrics`.
    pub fn encode(&self, methods: usize) -> String {
        let methods = i64::try_from(methods).unwrap_or(i64::MAX);
        self.registered_methods.set(methods);
        let mut out = String::new();
        encode(&mut out, &self.registry).expect("writing to a string never fails");
        out
    }
}

/// A call counted as in flight.
pub struct RunningCall<'a>(&'a Metrics);

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.0.calls_in_flight.dec();
    }
}

/// Increments a gauge until this value is dropped.
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The number of the minute that contains a time.
fn minute_of(at: Timestamp) -> i64 {
    at.0.div_euclid(60_000)
}

/// Creates a metric and registers it.
fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}
