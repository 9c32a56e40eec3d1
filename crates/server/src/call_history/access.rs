//! Decides which recorded calls a user sees, and which fields of them. No other code decides this.
//!
//! | Reader | Sees the calls | But not |
//! |---|---|---|
//! | the caller | their own | the space |
//! | the owner of the method | of their methods | the credential of the caller |
//! | a user with `view_audit` | all | recorded params and answers |

use svc_core::{
    Id, Permission, UserId,
    journal::{CallCredential, CallRow},
};
use svc_protocol::api::{self, Call};
use svc_store::calls::{FoundCall, Reach};

use super::SpaceNames;
use crate::identity::{Caller, Directory};

/// The calls that a reader finds.
pub(super) fn reach(reader: &Caller) -> Reach {
    match reader.may(Permission::ViewAudit) {
        true => Reach::All,
        false => Reach::Of(reader.user.id),
    }
}

/// Whether a reader sees the recorded params and the answer of a call. The caller and the owner of
/// the method see them; `view_audit` does not suffice.
pub(super) fn sees_payloads(reader: UserId, call: &FoundCall) -> bool {
    call.owner == reader || call.row.caller == reader
}

/// The credential of a call, if a reader with this reach sees it.
pub(super) fn visible_credential(reach: Reach, call: &CallRow) -> Option<CallCredential> {
    let is_visible = match reach {
        Reach::All => true,
        Reach::Of(reader) => call.caller == reader,
    };
    call.credential.filter(|_| is_visible)
}

/// A call as the reader sees it, without params and answer.
pub(super) fn show(
    reader: &Caller,
    directory: &Directory,
    spaces: &SpaceNames,
    call: &FoundCall,
) -> Call {
    let FoundCall { owner, row } = call;
    let reach = reach(reader);
    let sees_space = reach == Reach::All || *owner == reader.user.id;
    let space_id = row.space.filter(|_| sees_space);
    let name = |user: UserId| directory.find_user(user).map(|user| user.name.clone());
    Call {
        id: row.id(),
        at: row.at,
        caller_id: row.caller,
        caller: name(row.caller),
        credential: visible_credential(reach, row).map(show_credential),
        via: row.via,
        method: row.method.to_string(),
        owner_id: *owner,
        owner: name(*owner),
        space_id,
        space: space_id.and_then(|id| spaces.get(&id).cloned()),
        outcome: row.end,
        code: Some(row.code).filter(|code| *code != 0),
        duration_ms: millis(row.duration_us),
        queue_ms: row.times.map(|times| millis(times.queue_us)),
        method_ms: row.times.map(|times| millis(times.method_us)),
        params_bytes: row.params_bytes,
        result_bytes: row.result_bytes,
        trace_id: (row.trace != 0).then(|| format!("{:032x}", row.trace)),
    }
}

pub(super) fn show_credential(credential: CallCredential) -> api::CallCredential {
    api::CallCredential {
        kind: credential.kind,
        id: Some(Id(credential.id)).filter(|id| *id != Id::NIL),
    }
}

fn millis(micros: u32) -> f64 {
    f64::from(micros) / 1_000.0
}
