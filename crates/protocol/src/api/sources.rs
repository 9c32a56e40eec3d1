//! Bodies of `/api/sources`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use svc_core::{
    EventId, SourceId, Timestamp, UserId,
    source::{
        EVENT_NAME_MAX, EVENT_NAME_PATTERN,
        settings::{HEADERS_MAX, TypeRule, Verification},
    },
};

use svc_derive::Patch;

use super::{
    DESCRIPTION_MAX, EmittedEvent, OVERLAP_HOURS_MAX,
    patch::{Members, yes},
};

/// A URL to which another service sends requests. An accepted request becomes an event
/// `source.<name>.<type>`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub id: SourceId,
    pub name: String,
    pub description: String,
    pub owner_id: UserId,
    pub verify: Verification,
    pub event_type: TypeRule,
    /// Further headers of requests that are copied into `_source` of the event's data. The usual
    /// headers of the provider, such as `X-GitHub-Event`, are always copied.
    pub headers: Vec<String>,
    pub active: bool,
    /// Present only in the answer to the request that creates the URL, because the URL contains a
    /// secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Until when requests that are signed with the old secret are accepted too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_secret_until: Option<Timestamp>,
    /// Requests that became events, since this server started.
    pub accepted: u64,
    /// Requests that were rejected, since this server started.
    pub rejected: u64,
    pub last_accepted_at: Option<Timestamp>,
    pub last_rejection: Option<SourceRejection>,
    pub created_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceRejection {
    pub at: Timestamp,
    pub reason: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "github", "verify": {"type": "github"}}))]
#[patch(
    SourcePatch of NewSource,
    "A merge patch. `verify` and `event_type` are merged member by member (`null` removes a member).
The type of the verification cannot be changed. Its secret is changed by `rotate`.",
    example = json!({"active": false})
)]
pub struct NewSource {
    #[schemars(length(min = 1, max = EVENT_NAME_MAX), regex(pattern = EVENT_NAME_PATTERN))]
    pub name: String,
    #[serde(default)]
    #[schemars(length(max = DESCRIPTION_MAX))]
    pub description: String,
    #[patch(merge, type = Members, schema = serde_json::Map<String, Value>)]
    pub verify: Verification,
    #[serde(default)]
    #[patch(merge, type = Members, schema = TypeRule)]
    pub event_type: TypeRule,
    #[serde(default)]
    #[schemars(length(max = HEADERS_MAX))]
    pub headers: Vec<String>,
    #[serde(default = "yes")]
    pub active: bool,
}

/// `POST /api/sources/{id}/rotate`
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({"overlap_hours": 48}))]
pub struct RotateSource {
    /// The new secret; a generated one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// For how many hours requests with the old secret are accepted too; 24 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = OVERLAP_HOURS_MAX))]
    pub overlap_hours: Option<u32>,
    /// Create a new URL instead of a new secret. The old URL stops working at once.
    pub url: bool,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct SourceRotation {
    /// The new secret, if it was generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The new URL, if the request asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Until when requests with the old secret are accepted too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestOutcome {
    /// The request became an event.
    Accepted,
    /// The same delivery arrived before, so there is no new event.
    Repeated,
    /// The sender asked whether the URL works, and got the answer.
    Challenge,
    /// The request was not verified, or could not become an event.
    Rejected,
}

/// Answer to a request to a source whose delivery arrived before, with status 200. The request made
/// no event: the event is the earlier one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RepeatedDelivery {
    #[serde(flatten)]
    pub event: EmittedEvent,
    /// Always true.
    pub repeated: bool,
}

/// A request that a source received recently.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceRequest {
    pub at: Timestamp,
    pub outcome: RequestOutcome,
    /// The status of the answer.
    pub status: u16,
    /// Why the request was rejected.
    pub reason: Option<String>,
    /// The address of the sender.
    pub address: String,
    pub event_type: Option<String>,
    pub event_id: Option<EventId>,
}

/// `GET /api/sources/{id}/requests`: the last requests that the answering server received, newest
/// first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceRequests {
    pub requests: Vec<SourceRequest>,
}

/// `POST /api/sources/{id}/test`: signs a request as the sender would, and handles it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({"body": {"zen": "Keep it simple"}, "headers": {"X-GitHub-Event": "ping"}, "dry_run": true}))]
pub struct SourceTest {
    /// The body of the request; `{}` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub body: Option<Box<RawValue>>,
    /// Headers in addition to those of the signature.
    pub headers: BTreeMap<String, String>,
    /// Show the event, but do not emit it.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceTestResult {
    pub accepted: bool,
    /// Why the request was rejected.
    pub reason: Option<String>,
    pub event_type: Option<String>,
    /// The emitted event; `None` for a dry run or a rejected request.
    pub event_id: Option<EventId>,
    #[schemars(with = "Option<Value>")]
    pub data: Option<Box<RawValue>>,
}
