//! Metrics of `/mcp`: requests by method and outcome, and open streams.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{GaugeGuard, add, label_enum};

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

label_enum! {
    /// How a request ended.
    McpOutcome {
        Ok = "ok",
        ToolError = "tool_error",
        /// A protocol error.
        Refused = "refused",
        /// The client cancelled the call.
        Cancelled = "cancelled",
    }
}

impl McpOutcome {
    pub fn of_tool(is_error: bool) -> Self {
        if is_error { Self::ToolError } else { Self::Ok }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RequestLabel {
    method: &'static str,
    outcome: &'static str,
}

pub struct McpMetrics {
    /// By method and outcome, resolved once.
    counters: [[Counter; McpOutcome::ALL.len()]; METHODS.len()],
    streams: Gauge,
}

impl McpMetrics {
    pub fn new(registry: &mut Registry) -> Self {
        let what = "MCP requests by method and outcome";
        let requests: Family<RequestLabel, Counter> = add(registry, "mcp_requests", what);
        let counters = METHODS.map(|method| {
            McpOutcome::ALL.map(|outcome| {
                let outcome = outcome.label();
                let label = RequestLabel { method, outcome };
                requests.get_or_create(&label).clone()
            })
        });
        Self {
            counters,
            streams: add(registry, "mcp_streams", "Open MCP notification streams"),
        }
    }

    pub fn count(&self, method: &str, outcome: McpOutcome) {
        let known = METHODS.iter().position(|known| *known == method);
        let method = known.unwrap_or(METHODS.len() - 1);
        self.counters[method][outcome as usize].inc();
    }

    /// Counts a stream until the result is dropped.
    pub fn stream_opened(&self) -> GaugeGuard {
        GaugeGuard::new(&self.streams)
    }
}
