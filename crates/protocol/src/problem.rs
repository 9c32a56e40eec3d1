//! Errors outside JSON-RPC and MCP: RFC 9457 `application/problem+json`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_core::quota::{Quota, QuotaExceeded};

pub const CONTENT_TYPE: &str = "application/problem+json";
/// The error code of a server that cannot reach its database at the moment. Clients may repeat the
/// request. A repeated emit needs the same idempotency key.
pub const DATABASE_UNAVAILABLE: &str = "database_unavailable";
/// The error code of a server whose disk is full. Clients may repeat the request.
pub const DISK_FULL: &str = "disk_full";

/// The setting in the problem of a user who makes too many changes per second.
pub const CHANGES_SETTING: &str = "server.changes_per_second";

/// Whether a code reports an outage of the server's database. After the outage, the same request
/// may succeed.
pub fn is_database_outage(code: &str) -> bool {
    [DATABASE_UNAVAILABLE, DISK_FULL].contains(&code)
}

/// An error (RFC 9457).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub r#type: String,
    pub title: String,
    pub status: u16,
    /// For people: names the value and what to do.
    pub detail: String,
    /// For programs: an identifier that stays the same in later versions.
    pub code: String,
    /// The limit that the request exceeds. Boxed, because few problems have a limit.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<Box<ExceededLimit>>,
}

/// Members of a problem that names a limit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExceededLimit {
    pub limit: u64,
    /// The server's setting that defines the limit, such as `quotas.sinks`.
    pub setting: String,
}

impl Problem {
    pub fn new(status: u16, code: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            r#type: "about:blank".to_owned(),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            code: code.to_owned(),
            exceeded: None,
        }
    }

    /// A problem with the code `quota_exceeded`. The status is 409; for streams and audit entries
    /// it is 429, because a later attempt may succeed.
    pub fn quota_exceeded(exceeded: &QuotaExceeded) -> Self {
        let (status, title) = match exceeded.quota {
            Quota::Streams | Quota::AuditBytes => (429, "Too Many Requests"),
            _ => (409, "Conflict"),
        };
        Self::new(status, QuotaExceeded::CODE, title, exceeded.to_string())
            .with_limit(exceeded.limit, exceeded.quota.setting())
    }

    /// Adds the limit that was exceeded, and the setting that defines it.
    pub fn with_limit(mut self, limit: u64, setting: &str) -> Self {
        self.exceeded = Some(Box::new(ExceededLimit {
            limit,
            setting: setting.to_owned(),
        }));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}
