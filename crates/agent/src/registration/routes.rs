//! Routes calls from the links to method servers. Each call names a generation, which is the number
//! of a registration.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::{Buf, Bytes};
use parking_lot::RwLock;
use svc_core::registration::ServerDefinition;
use svc_link::{CALL_HEADER_BYTES, FrameKind};

use crate::{
    method_server::MethodServer,
    outbox::{Caller, Outbox},
};

/// The generations in use, newest last: replaced registrations that finish their calls, the current
/// registration, and a registration that the server has not accepted yet.
pub struct Routes {
    routes: RwLock<Vec<(u32, Arc<MethodServer>)>>,
    /// The agent is stopping and accepts no more calls.
    closed: AtomicBool,
    outbox: Arc<Outbox>,
}

impl Routes {
    pub fn new(outbox: Arc<Outbox>) -> Self {
        Self {
            routes: RwLock::new(Vec::new()),
            closed: AtomicBool::new(false),
            outbox,
        }
    }

    pub fn add(&self, generation: u32, server: Arc<MethodServer>) {
        self.routes.write().push((generation, server));
    }

    pub fn remove(&self, generation: u32) {
        self.routes
            .write()
            .retain(|(known, _)| *known != generation);
    }

    /// Removes every generation of a method server.
    pub fn remove_server(&self, server: &Arc<MethodServer>) {
        self.routes
            .write()
            .retain(|(_, known)| !Arc::ptr_eq(known, server));
    }

    pub fn call(&self, caller: Caller, payload: Bytes) {
        match self.find(payload) {
            Some((server, user, json)) => server.enqueue(user, Some(caller), json),
            None => self
                .outbox
                .answer(caller, FrameKind::Unavailable, Bytes::new(), None),
        }
    }

    pub fn notify(&self, payload: Bytes) {
        match self.find(payload) {
            Some((server, user, json)) => server.enqueue(user, None, json),
            None => tracing::info!("dropped a notification for a method server that has ended"),
        }
    }

    /// Cancels a call at its method server. If no method server has the call, the call is already
    /// answered.
    pub fn cancel(&self, caller: Caller) {
        let found = self
            .routes
            .read()
            .iter()
            .any(|(_, server)| server.cancel(caller));
        if !found {
            tracing::trace!(frame = caller.frame, "a cancelled call is already answered");
        }
    }

    pub fn forget_link(&self, link: u64) {
        for (_, server) in self.routes.read().iter() {
            server.forget_link(link);
        }
    }

    /// Whether a new method server must wait until the method servers in use are idle: if one of
    /// them is serial or waits itself, or if the new one is serial.
    pub fn must_wait(&self, new: &ServerDefinition) -> bool {
        let routes = self.routes.read();
        let mut used = routes.iter().map(|(_, server)| server);
        let is_serial = new.excludes_overlap();
        used.any(|used| is_serial || used.excludes_overlap() || !used.is_released())
    }

    /// Whether a method server that is older than `server` has calls. Ignores `except`.
    pub fn has_calls_before(
        &self,
        server: &Arc<MethodServer>,
        except: Option<&Arc<MethodServer>>,
    ) -> bool {
        let routes = self.routes.read();
        let known = routes.iter().map(|(_, known)| known);
        let mut older = known.take_while(|known| !Arc::ptr_eq(known, server));
        older.any(|older| {
            let is_except = except.is_some_and(|except| Arc::ptr_eq(older, except));
            !is_except && !older.is_idle()
        })
    }

    /// Accepts no more calls.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub fn is_idle(&self) -> bool {
        self.routes
            .read()
            .iter()
            .all(|(_, server)| server.is_idle())
    }

    /// The method server of a call, its user, and its JSON.
    fn find(&self, mut payload: Bytes) -> Option<(Arc<MethodServer>, u32, Bytes)> {
        if payload.len() < CALL_HEADER_BYTES || self.closed.load(Ordering::Relaxed) {
            return None;
        }
        let generation = payload.get_u32_le();
        let user = payload.get_u32_le();
        let routes = self.routes.read();
        let (_, server) = routes
            .iter()
            .rev()
            .find(|(known, _)| *known == generation)?;
        Some((Arc::clone(server), user, payload))
    }
}
