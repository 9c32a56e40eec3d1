//! Decides whether an answer may still be sent to its caller.
//!
//! A call may take an hour. Meanwhile the caller may lose the permission `use_methods` or a group,
//! or the owner of the method may be deactivated. Then the caller gets the same error as for a
//! method that does not exist. The registration that accepted the call decides who sees the method:
//! a later registration with another scope or other groups applies to later calls. The directory
//! decides what the caller and the owner are now.
//!
//! The check is made when the call ends, before the journal gets the answer, and again when the
//! answer is sent, because the items of a batch wait for each other. If the directory did not
//! change, it costs one load of a number.

use std::sync::Arc;

use parking_lot::Mutex;
use svc_core::visibility::is_visible;
use svc_protocol::jsonrpc::{Invalid, Request, RpcError};

use super::{Calls, Reply, refusal};
use crate::{identity::Caller, methods::provider::Provider};

/// The answer to one item of a body.
pub(super) struct ItemAnswer {
    pub json: Vec<u8>,
    /// The provider whose answer this is; `None` if the server itself made the answer.
    pub provider: Option<Arc<Provider>>,
}

/// The provider that works on a call, for checks before progress and the answer are sent.
#[derive(Default)]
pub struct Served(Mutex<Option<Arc<Provider>>>);

impl Served {
    pub(super) fn set(&self, provider: &Arc<Provider>) {
        *self.0.lock() = Some(Arc::clone(provider));
    }

    /// Whether data of the call may be sent to the caller. True before a provider has the call.
    pub fn may_release(&self, calls: &Calls, caller: &Caller) -> bool {
        let provider = self.0.lock().clone();
        provider.is_none_or(|provider| calls.may_release(caller, &provider))
    }
}

impl Calls {
    /// Whether an answer of this provider may be sent to the caller.
    pub(super) fn may_release(&self, caller: &Caller, provider: &Provider) -> bool {
        !self.directory.has_changed_since(caller) || self.still_sees(caller, provider)
    }

    fn still_sees(&self, caller: &Caller, provider: &Provider) -> bool {
        let find = |id| self.directory.find_user(id).filter(|user| user.active);
        let (viewer, owner) = (find(caller.user.id), find(provider.space.owner));
        let (Some(viewer), Some(owner)) = (viewer, owner) else {
            return false;
        };
        let definition = &provider.definition;
        let groups = definition.groups.as_deref();
        is_visible(viewer.viewer(), owner.id, definition.scope, groups)
    }

    /// The reply of a call that has just ended.
    pub(super) fn release_reply(
        &self,
        caller: &Caller,
        provider: Option<&Arc<Provider>>,
        reply: Reply,
    ) -> Result<Reply, RpcError> {
        match provider.is_none_or(|provider| self.may_release(caller, provider)) {
            true => Ok(reply),
            false => Err(RpcError::MethodNotFound),
        }
    }

    /// The answer to an item, as it is sent now.
    pub(super) fn release_item(
        &self,
        caller: &Caller,
        request: &Result<Request<'_>, Invalid<'_>>,
        answer: ItemAnswer,
    ) -> Vec<u8> {
        match &answer.provider {
            Some(provider) if !self.may_release(caller, provider) => {
                let id = request.as_ref().ok().and_then(|request| request.id);
                refusal(&RpcError::MethodNotFound, id)
            }
            _ => answer.json,
        }
    }
}
