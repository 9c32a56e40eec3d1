//! Bodies of `/api/calls`.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};
use svc_core::{
    Id, SpaceId, SpaceName, Timestamp, UserId, UserName,
    journal::{CallCredentialKind, CallEnd, CallGrouping, CallVia, PayloadOmission},
};

/// Path of the call journal.
pub const CALLS_PATH: &str = "/api/calls";
/// Path of the summary of the call journal.
pub const CALL_SUMMARY_PATH: &str = "/api/calls/summary";

/// A call in the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    pub id: Id,
    /// When the call ended.
    pub at: Timestamp,
    pub caller_id: UserId,
    /// Null if the user was deleted.
    pub caller: Option<UserName>,
    /// Only the caller and users with `view_audit` see it. Null for a call that delivers an event.
    pub credential: Option<CallCredential>,
    pub via: CallVia,
    /// The name without `user.<owner>.`; for a method that was not found, the name that was called.
    pub method: String,
    /// The owner of the method; for a method that was not found, the caller.
    pub owner_id: UserId,
    pub owner: Option<UserName>,
    /// Only the owner and users with `view_audit` see it. Null if no space got the call.
    pub space_id: Option<SpaceId>,
    pub space: Option<SpaceName>,
    pub outcome: CallEnd,
    /// The error code of JSON-RPC; null without an error.
    pub code: Option<i32>,
    /// From the arrival of the request to the answer.
    pub duration_ms: f64,
    /// The part of `duration_ms` in which the call waited in the space. Null if no method server
    /// answered.
    pub queue_ms: Option<f64>,
    /// The part of `duration_ms` in which the method server worked. The rest of `duration_ms` was
    /// spent in the server and on the way to the space and back.
    pub method_ms: Option<f64>,
    pub params_bytes: u32,
    pub result_bytes: u32,
    /// From `traceparent`: in `_meta` of an MCP message, or else the header of the request.
    pub trace_id: Option<String>,
}

/// `GET /api/calls/{id}`: a call with its recorded params and answer. Only the caller and the owner of
/// the method see them, and only if `journal` of the method was `payloads`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallDetail {
    #[serde(flatten)]
    pub call: Call,
    /// Absent if they are not recorded. `journal_redact` of the method replaces values by `[redacted]`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Value>")]
    pub params: Option<Box<RawValue>>,
    /// Why the params are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params_omitted: Option<PayloadOmission>,
    /// Absent if it is not recorded, and for a call without a result.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Value>")]
    pub result: Option<Box<RawValue>>,
    /// The error of the method. Absent if it is not recorded, and for a call without such an error.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Value>")]
    pub error: Option<Box<RawValue>>,
    /// Why the result or the error is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_omitted: Option<PayloadOmission>,
}

/// Reads a member whose value is `null` as `Some`. Only an absent member is `None`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(deserializer).map(Some)
}

/// The credential of a call. The journal never has the secret of a credential.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallCredential {
    pub kind: CallCredentialKind,
    /// The id of the token or session, of the app's grant, or of the agent's space; null for a script.
    pub id: Option<Id>,
}

/// `GET /api/calls`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// Newest first.
    pub calls: Vec<Call>,
    /// A page may have fewer calls than `limit`, or none, and still have a next page.
    pub next_cursor: Option<String>,
    /// Number of calls that this server did not record since its start, because they came too fast
    /// or could not be written. With `view_audit` all such calls count, otherwise those of your methods.
    pub dropped: u64,
    /// Whether this page lacks calls, because too many owners have calls of the same time. If so,
    /// add a filter.
    #[serde(default)]
    pub incomplete: bool,
}

/// Query parameters of `GET /api/calls`. A call must match all parameters that are given.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CallQuery {
    /// A method's name, with or without `user.<owner>.`.
    pub method: Option<String>,
    /// The name or id of the user who called.
    pub caller: Option<String>,
    /// The name or id of the owner of the method.
    pub owner: Option<String>,
    /// The space that got the call. This filter finds only calls of your own methods; with
    /// `view_audit`, calls of all methods.
    pub space_id: Option<SpaceId>,
    pub outcome: Option<CallEnd>,
    /// The error code of JSON-RPC.
    pub code: Option<i32>,
    pub via: Option<CallVia>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
    /// Only calls that took at least this many milliseconds.
    pub min_duration_ms: Option<u32>,
}

/// `GET /api/calls/summary`: the number of calls of each caller or of each credential.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallSummary {
    /// Most calls first, at most 200.
    pub groups: Vec<CallGroup>,
    /// The sum of all groups that are not in `groups`; null if there are none.
    pub other: Option<OtherCallGroups>,
    /// Whether all matching calls are counted. One request reads a limited part of the journal.
    pub is_complete: bool,
    /// If `is_complete` is false: all calls since this time are counted, and no older calls. Null if
    /// calls of any time may be missing, because too many owners have calls of the same time.
    pub counted_since: Option<Timestamp>,
}

/// The calls of one caller or of one credential.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallGroup {
    pub caller_id: UserId,
    /// Null if the user was deleted.
    pub caller: Option<UserName>,
    /// Only the caller and users with `view_audit` see it. Null with `by=caller`, and for calls that
    /// deliver events.
    pub credential: Option<CallCredential>,
    pub calls: u64,
    /// Calls with another outcome than `ok`, `notification` and `cancelled`.
    pub failed: u64,
    /// The end of the newest call.
    pub last_at: Timestamp,
}

/// The sum of several groups of calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OtherCallGroups {
    /// The number of groups.
    pub groups: u64,
    pub calls: u64,
    pub failed: u64,
}

/// The query parameter of `GET /api/calls/summary` besides those of `GET /api/calls`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallSummaryQuery {
    pub by: CallGrouping,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn recorded_payloads_keep_their_bytes() {
        let call = json!({
            "id": Id::NIL, "at": "2026-11-17T08:00:00.000Z", "caller_id": UserId::NIL, "caller": "ann",
            "credential": null, "via": "api", "method": "a", "owner_id": UserId::NIL, "owner": null,
            "space_id": null, "space": null, "outcome": "ok", "code": null, "duration_ms": 0.5,
            "queue_ms": null, "method_ms": 0.25, "params_bytes": 2, "result_bytes": 4,
            "trace_id": null,
        });
        let text = call.to_string();
        for payloads in [
            "",
            r#","params":{"n":1E+400,"b":[]},"result":null"#,
            r#","params_omitted":"too_large","error":{"code":12345678901234567890}"#,
            r#","params":[],"result_omitted":"dropped""#,
        ] {
            let given = text.replace('}', "") + payloads + "}";
            let read: CallDetail = serde_json::from_str(&given).expect(&given);
            let again = serde_json::to_string(&read).expect("JSON");
            assert!(again.ends_with(&format!("{payloads}}}")), "{again}");
            assert_eq!(serde_json::to_value(&read.call).expect("JSON"), call);
        }
    }
}
