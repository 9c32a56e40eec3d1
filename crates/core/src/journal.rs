//! The call journal: one row for each call, and how rows are packed into blocks.
//!
//! A block holds calls of the methods of one owner. A block is written as a whole and never
//! changed, so a row needs only a few bytes and no SQL statement of its own. Params and answers are
//! recorded only for methods whose registration requests this, in blocks of their own.

mod block;
pub(crate) mod bytes;
mod fair;
mod level;
mod payload;
mod redaction;
mod tiers;

#[cfg(test)]
mod tests;

pub use block::{BlockError, decode, encode};
pub use fair::{Candidate, choose_kept, choose_survivors};
pub use level::{JournalLevel, MethodJournal};
pub use payload::{
    CallPayload, PAYLOAD_BLOCK_BYTES, PAYLOAD_ROW_BYTES, Payload, PayloadOmission, decode_payloads,
    encode_payloads,
};
pub use redaction::{
    JsonPointer, JsonPointerError, POINTER_MAX, POINTER_PATTERN, POINTERS_MAX, redact, redact_error,
};
pub use tiers::{BLOCK_ROWS_MAX, MERGED_BLOCKS, choose_merge};

use std::sync::Arc;

use uuid::Uuid;

use crate::{
    id::{Id, SpaceId, UserId},
    text_enum::text_enum,
    timestamp::Timestamp,
};

/// The maximum number of bytes of a method's name in a row. Names of existing methods are shorter,
/// but a caller may send any name.
pub const METHOD_BYTES_MAX: usize = 256;

text_enum! {
    /// How a call reached the server.
    CallVia {
        /// A single request at the call endpoint.
        Api = "api",
        /// One of several requests in a batch.
        Batch = "batch",
        /// A tool call over MCP.
        Mcp = "mcp",
        /// The delivery of an event to a subscribed method.
        Event = "event",
        /// A call that a script on the server made.
        Script = "script",
    }
}

text_enum! {
    /// How a call ended.
    CallEnd {
        Ok = "ok",
        /// The method server returned an error.
        MethodError = "error",
        /// The method does not exist, or the caller does not see it.
        NotFound = "not_found",
        Unavailable = "unavailable",
        TimedOut = "timeout",
        Interrupted = "interrupted",
        /// A request without an id. It has no answer.
        Notification = "notification",
        /// A notification that no space could receive.
        NotificationDropped = "notification_dropped",
        /// The caller left before the answer.
        Cancelled = "cancelled",
    }
}

impl CallEnd {
    /// Whether the call failed. A notification and a call whose caller left have no answer. They
    /// count as not failed.
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Notification | Self::Cancelled)
    }
}

text_enum! {
    /// How a summary groups calls.
    CallGrouping {
        Caller = "caller",
        /// By caller and credential.
        Credential = "credential",
    }
}

text_enum! {
    /// The kind of credential that a caller used.
    CallCredentialKind {
        Token = "token",
        Session = "session",
        App = "app",
        Agent = "agent",
        Script = "script",
    }
}

/// The credential of a call, without its secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CallCredential {
    pub kind: CallCredentialKind,
    /// The token, session, grant or space. Nil for a script, which has no credential of its own.
    pub id: Uuid,
}

/// How long a call took in the agent, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallTimes {
    /// From the arrival at the agent until the method server got the call.
    pub queue_us: u32,
    /// From then until the answer of the method server.
    pub method_us: u32,
}

/// One call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallRow {
    /// When the call ended.
    pub at: Timestamp,
    /// Counts the rows of a server process; less than 2⁴².
    pub number: u64,
    /// Drawn at random by each server process, so that the ids of two servers differ.
    pub process: u32,
    pub caller: UserId,
    /// `None` for a call that delivers an event.
    pub credential: Option<CallCredential>,
    pub via: CallVia,
    /// The canonical name; for a method that was not found, the name that the caller sent.
    pub method: Arc<str>,
    /// The space that got the call.
    pub space: Option<SpaceId>,
    pub end: CallEnd,
    /// The error code of JSON-RPC; 0 without an error.
    pub code: i32,
    pub duration_us: u32,
    /// `None` if no method server answered, or if the agent is too old to report times.
    pub times: Option<CallTimes>,
    pub params_bytes: u32,
    pub result_bytes: u32,
    /// The trace id of the `traceparent` of the MCP message or of the HTTP request; 0 without a
    /// `traceparent`.
    pub trace: u128,
}

/// How many bits of an id hold `number`.
const NUMBER_BITS: u32 = 42;

impl CallRow {
    /// A UUIDv7 that is made of the time, the number and the process. Rows of one process that
    /// ended at the same time have ids in the order of their numbers.
    pub fn id(&self) -> Id {
        let tail = u128::from(self.number & ((1 << NUMBER_BITS) - 1)) << 32;
        call_id(self.at, tail | u128::from(self.process))
    }
}

/// The smallest id that a call that ended at this time can have.
pub fn first_id_at(at: Timestamp) -> Id {
    call_id(at, 0)
}

/// A UUIDv7 of a time and 74 further bits.
fn call_id(at: Timestamp, tail: u128) -> Id {
    let millis = u128::from(at.0.clamp(0, (1 << 48) - 1).unsigned_abs());
    let high = (tail >> 62) & 0xfff;
    let low = tail & ((1 << 62) - 1);
    Id(Uuid::from_u128(
        millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low,
    ))
}

/// The time in the id of a call.
pub fn time_of(id: Id) -> Timestamp {
    Timestamp(i64::try_from(id.0.as_u128() >> 80).expect("48 bits fit"))
}

/// Shortens the name of a method that a caller sent.
pub fn short_name(name: &str) -> &str {
    let mut end = name.len().min(METHOD_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
