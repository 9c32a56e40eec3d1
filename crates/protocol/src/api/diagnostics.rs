//! The checks of `GET /api/diagnostics` and `svc doctor`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_core::{ServerId, Timestamp};

/// Answer of `GET /api/diagnostics`: the checks that the answering server made of itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostics {
    pub server_id: ServerId,
    pub svc_version: String,
    /// The time on the server's clock.
    pub time: Timestamp,
    /// The address for users: `public_url`, or the address that the server listens on.
    pub url: String,
    pub checks: Vec<Check>,
}

/// The result of one check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Such as `database` or `disk`.
    pub name: String,
    pub status: CheckStatus,
    /// What the check found.
    pub detail: String,
    /// How to solve the problem. Absent if there is no problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// The check could not be made, or does not apply.
    Skipped,
    /// Works now, but may fail soon.
    Warning,
    Error,
}

impl Check {
    pub fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Ok, detail, None)
    }

    pub fn skipped(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Skipped, detail, None)
    }

    pub fn warning(name: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Warning, detail, Some(advice.into()))
    }

    pub fn error(name: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Error, detail, Some(advice.into()))
    }

    fn new(
        name: &str,
        status: CheckStatus,
        detail: impl Into<String>,
        advice: Option<String>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            status,
            detail: detail.into(),
            advice,
        }
    }
}
