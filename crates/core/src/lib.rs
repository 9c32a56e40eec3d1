//! The specification's rules as plain values and functions.
//!
//! Nothing here waits, reads a clock, draws a random number or touches a file. Times and random
//! values are arguments, so every rule can be tested with a table of inputs and results.

pub mod activity_stats;
pub mod credential;
pub mod delivery_policy;
pub mod event;
pub mod fair;
pub mod fair_places;
pub mod fair_queue;
mod fixed_schema;
pub mod host;
pub mod id;
pub mod journal;
pub mod json_number;
pub mod json_string;
pub mod json_text;
pub mod lane;
pub mod latency;
pub mod login;
pub mod name;
pub mod network;
pub mod number_map;
pub mod oauth;
pub mod oidc;
pub mod pattern;
pub mod permission;
pub mod power;
pub mod quota;
pub mod registration;
pub mod schedule;
pub mod schema;
pub mod scope;
pub mod source;
pub mod space;
pub mod subscription;
pub mod target;
pub mod text;
mod text_enum;
pub mod timestamp;
pub mod token;
pub mod totp;
pub mod trace;
pub mod visibility;
pub mod webauthn;
pub mod webhook_secret;
pub mod zip;

pub use id::{
    ConsentId, EventId, GrantId, GroupId, Id, LaneId, OAuthClientId, OidcIdentityId,
    OidcProviderId, PasskeyId, RoleId, ScheduleId, ScriptId, ServerId, SessionId, SinkId, SourceId,
    SpaceId, TemplateId, TokenId, UserId,
};
pub use name::{CanonicalName, SpaceName, UserName};
pub use permission::{Permission, Permissions};
pub use quota::{Quota, QuotaExceeded, QuotaOverrides, Quotas};
pub use scope::{Scope, Scopes};
pub use timestamp::Timestamp;
pub use trace::TraceContext;
