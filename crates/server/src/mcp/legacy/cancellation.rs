//! The calls in flight of the legacy MCP era, so that `notifications/cancelled` can end one of
//! them.
//!
//! There are no sessions: a call is identified by its credential and its request id. Several
//! clients with one credential may use the same id at the same time. The server cannot know which
//! of these calls a notification means, so it cancels none of them.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use svc_core::UserId;
use svc_protocol::{
    jsonrpc::Request,
    mcp::{Params, text},
};
use svc_store::Hash;
use tokio::sync::Notify;

use crate::identity::Caller;

/// The notification of a client that no longer needs an answer.
pub const CANCELLED: &str = "notifications/cancelled";
/// The maximum bytes of a stored id. A call with a longer id cannot be cancelled.
const ID_BYTES_MAX: usize = 256;

#[derive(Default)]
pub struct CancellableCalls {
    calls: Mutex<HashMap<Key, SameId>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    user: UserId,
    credential: Hash,
    id: String,
}

/// The calls in flight with one key.
struct SameId {
    count: usize,
    /// Wakes the call. It is used only while `count` is 1.
    cancel: Arc<Notify>,
}

/// A call in flight. Dropping it removes the call from the table.
pub struct CancellableCall<'a> {
    calls: &'a CancellableCalls,
    key: Key,
    cancel: Arc<Notify>,
}

impl Key {
    /// `None` if the id is too long, or is not a string or a number.
    fn new(caller: &Caller, id: &RawValue) -> Option<Self> {
        let raw = id.get();
        let id = match text(id) {
            _ if raw.len() > ID_BYTES_MAX => return None,
            // The quotation mark distinguishes the string "1" from the number 1.
            Some(text) => format!("\"{text}"),
            None if raw.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                raw.to_owned()
            }
            None => return None,
        };
        Some(Self {
            user: caller.user.id,
            credential: caller.key,
            id,
        })
    }
}

impl CancellableCalls {
    /// Records a call; `None` if it cannot be cancelled. `id` is a string or a number, as JSON.
    pub fn begin(&self, caller: &Caller, id: &str) -> Option<CancellableCall<'_>> {
        let key = Key::new(caller, serde_json::from_str(id).ok()?)?;
        let mut calls = self.calls.lock();
        let same = calls.entry(key.clone()).or_insert_with(|| SameId {
            count: 0,
            cancel: Arc::default(),
        });
        same.count += 1;
        Some(CancellableCall {
            calls: self,
            key,
            cancel: Arc::clone(&same.cancel),
        })
    }

    /// Cancels the call that a notification names, if it is the only call in flight with this id
    /// and credential.
    pub fn cancel(&self, caller: &Caller, notification: &Request<'_>) {
        let params = Params::read(notification.params).unwrap_or_default();
        let Some(key) = params.request_id().and_then(|id| Key::new(caller, id)) else {
            return;
        };
        let mut calls = self.calls.lock();
        if calls.get(&key).is_some_and(|same| same.count == 1)
            // Removed at once, so that a new call with this id is not cancelled too.
            && let Some(same) = calls.remove(&key)
        {
            same.cancel.notify_one();
        }
    }
}

impl CancellableCall<'_> {
    pub async fn cancelled(&self) {
        self.cancel.notified().await;
    }
}

impl Drop for CancellableCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.calls.lock();
        // After a cancellation, the entry may belong to a later call.
        if let Some(same) = calls.get_mut(&self.key)
            && Arc::ptr_eq(&same.cancel, &self.cancel)
        {
            same.count -= 1;
            if same.count == 0 {
                calls.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::mcp::testing;

    fn caller(name: &str, credential: u8) -> Caller {
        let mut caller = testing::caller(name);
        caller.key = [credential; 32];
        caller
    }

    fn cancel(calls: &CancellableCalls, caller: &Caller, params: &str) {
        let notification = Request {
            method: CANCELLED.into(),
            params: Some(params),
            id: None,
        };
        calls.cancel(caller, &notification);
    }

    fn is_cancelled(call: &CancellableCall<'_>) -> bool {
        call.cancelled().now_or_never().is_some()
    }

    #[test]
    fn a_call_is_cancelled_by_its_id_and_credential() {
        let (ann, calls) = (caller("ann", 1), CancellableCalls::default());
        for (id, params, expected) in [
            ("1", r#"{"requestId":1}"#, true),
            ("1", r#"{"requestId":"1"}"#, false),
            (r#""a""#, r#"{"requestId":"\u0061","reason":"x"}"#, true),
            ("1", r#"{"requestId":2}"#, false),
            ("1", r#"{"requestId":null}"#, false),
            ("1", r#"{"requestId":[1]}"#, false),
            ("1", r#"{}"#, false),
            ("1", "[1]", false),
        ] {
            let call = calls.begin(&ann, id).expect("an id");
            cancel(&calls, &ann, params);
            assert_eq!(is_cancelled(&call), expected, "{id} {params}");
        }
        let call = calls.begin(&ann, "1").expect("an id");
        for other in [caller("ann", 2), caller("benny", 1)] {
            cancel(&calls, &other, r#"{"requestId":1}"#);
        }
        assert!(!is_cancelled(&call));
        drop(call);
        assert!(calls.calls.lock().is_empty());
        let long = format!("\"{}\"", "x".repeat(ID_BYTES_MAX));
        assert!(calls.begin(&ann, &long).is_none());
    }

    #[test]
    fn an_id_that_several_calls_use_cancels_none_of_them() {
        let (ann, calls) = (caller("ann", 1), CancellableCalls::default());
        let one = calls.begin(&ann, "1").expect("an id");
        let two = calls.begin(&ann, "1").expect("an id");
        cancel(&calls, &ann, r#"{"requestId":1}"#);
        assert!(!is_cancelled(&one) && !is_cancelled(&two));
        drop(two);
        cancel(&calls, &ann, r#"{"requestId":1}"#);
        // A new call with the id of a cancelled call is not cancelled.
        let three = calls.begin(&ann, "1").expect("an id");
        assert!(is_cancelled(&one) && !is_cancelled(&three));
        drop(one);
        cancel(&calls, &ann, r#"{"requestId":1}"#);
        assert!(is_cancelled(&three));
    }
}
