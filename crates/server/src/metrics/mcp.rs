//! Metrics of `/mcp`: requests by method and outcome, and open streams.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

/// Methods that are counted by name; all others count as `other`.
const METHODS: [&str; 7] = [
    "initialize",
    "ping",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
    "other",
];

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum McpOutcome {
    Ok,
    /// The tool returned an error.
    ToolError,
    /// A protocol error.
    Refused,
    /// The client cancelled the call.
    Cancelled,
}

impl McpOutcome {
    const ALL: [Self; 4] = [Self::Ok, Self::ToolError, Self::Refused, Self::Cancelled];

    pub fn of_tool(is_error: bool) -> Self {
        if is_error { Self::ToolError } else { Self::Ok }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RequestLabel {
    method: &'static str,
    outcome: &'static str,
}

pub struct McpMetrics {
    requests: Family<RequestLabel, Counter>,
    /// By method and outcome, resolved once.
    counters: [[Counter; McpOutcome::ALL.len()]; METHODS.len()],
    streams: Gauge,
}

impl Default for McpMetrics {
    fn default() -> Self {
        let requests = Family::<RequestLabel, Counter>::default();
        let counters = METHODS.map(|method| {
            McpOutcome::ALL.map(|outcome| {
                let outcome = outcome.label();
                let label = RequestLabel { method, outcome };
                requests.get_or_create(&label).clone()
            })
        });
        Self {
            requests,
            counters,
            streams: Gauge::default(),
        }
    }
}

impl McpMetrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "mcp_requests",
            "MCP requests by method and outcome",
            self.requests.clone(),
        );
        registry.register(
            "mcp_streams",
            "Open MCP notification streams",
            self.streams.clone(),
        );
    }

    pub fn count(&self, method: &str, outcome: McpOutcome) {
        let known = METHODS.iter().position(|known| *known == method);
        let method = known.unwrap_or(METHODS.len() - 1);
        self.counters[method][outcome as usize].inc();
    }

    pub fn stream_opened(&self) -> StreamMetricGuard {
        self.streams.inc();
        StreamMetricGuard(self.streams.clone())
    }
}

/// A counted stream; uncounted when dropped.
pub struct StreamMetricGuard(Gauge);

impl Drop for StreamMetricGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
