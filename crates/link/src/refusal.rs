//! Refusals: why a server does not accept a link.

use serde::{Deserialize, Serialize};

/// The server's negative answer to a hello.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    pub code: RefusalCode,
    pub detail: String,
    /// Whether a later attempt can succeed.
    pub retry: bool,
    /// The time until an attempt can succeed, if the server knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_millis: Option<u32>,
}

impl Refusal {
    pub fn new(code: RefusalCode, detail: impl Into<String>, retry: bool) -> Self {
        Self {
            code,
            detail: detail.into(),
            retry,
            retry_after_millis: None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The two ends have no version of the control messages in common.
    Version,
    /// The space was stopped on request.
    SpaceStopped,
    /// The agent token is no longer valid, or its space was deleted.
    Unauthorized,
    /// The space's user is deactivated. The agent may link again after the user is reactivated.
    UserInactive,
    /// The server is stopping.
    Draining,
    /// The server cannot reach its database.
    Busy,
    /// The space has opened too many links in a short time. [`Refusal::retry_after_millis`] says
    /// when the agent may try again.
    TooMany,
    /// The agent broke the protocol.
    Protocol,
    /// A side link was refused, because the space's home link is at this server.
    HomeHere,
    /// A side link was refused, because this agent has no home link at any server.
    NoHome,
    /// A code of a newer server. `Refusal::retry` says whether the agent may try again.
    #[serde(untagged)]
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_codes_have_fixed_strings_and_unknown_codes_are_preserved() {
        for code in [
            "version",
            "space_stopped",
            "unauthorized",
            "user_inactive",
            "draining",
            "busy",
            "too_many",
            "protocol",
            "home_here",
            "no_home",
            "quota_of_a_newer_server",
        ] {
            let json = serde_json::json!({"code": code, "detail": "why", "retry": true});
            let refusal: Refusal = serde_json::from_value(json.clone()).expect("a refusal");
            let is_unknown = matches!(refusal.code, RefusalCode::Other(_));
            assert_eq!(is_unknown, code == "quota_of_a_newer_server", "{code}");
            assert_eq!(serde_json::to_value(&refusal).expect("JSON"), json);
        }
    }
}
