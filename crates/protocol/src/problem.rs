//! Errors outside JSON-RPC and MCP: RFC 9457 `application/problem+json`.

use std::fmt;

use serde::{Deserialize, Serialize};

pub const CONTENT_TYPE: &str = "application/problem+json";

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    pub r#type: String,
    pub title: String,
    pub status: u16,
    /// For people: names the value and the way out.
    pub detail: String,
    /// For programs: stable.
    pub code: String,
}

impl Problem {
    pub fn new(status: u16, code: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            r#type: "about:blank".to_owned(),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            code: code.to_owned(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}
