//! A space that offers one method, with everything needed to put a call on its link.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::{BufMut, Bytes};
use svc_core::{
    UserId,
    journal::MethodJournal,
    registration::{Acceptance, Mode},
    target::Candidate,
};
use svc_link::{CALL_HEADER_BYTES, USER_BYTES};
use svc_protocol::jsonrpc::fold_lines;

use crate::{
    live::{Availability, Link, LiveSpace, NotSent, PendingCall, Reports, UserNumber},
    metrics::{MethodMeter, Metrics},
};

pub struct Provider {
    pub space: Arc<LiveSpace>,
    /// The canonical name of the method, shared with the rows of the call journal.
    pub name: Arc<str>,
    /// The method's name in the method server.
    pub local_name: String,
    /// Identifies the registration; sent in call frames.
    pub generation: u32,
    /// Position in the order of registration (D2).
    pub place: u64,
    /// Whether the registration replaces conflicting methods of the owner's other spaces.
    pub replaces: bool,
    pub timeout: Duration,
    pub mode: Mode,
    /// What the call journal records of the calls.
    pub journal: MethodJournal,
    /// The number of calls in flight. A new registration of the same space keeps the counter.
    pub in_flight: Arc<AtomicU32>,
    /// `{"jsonrpc":"2.0","method":"<local name>"`, built once.
    pub prefix: Bytes,
    /// The counters of the method, opened before the first call waits for its answer.
    pub meter: OnceLock<Arc<MethodMeter>>,
}

impl Provider {
    pub fn prefix(local_name: &str) -> Bytes {
        let name = serde_json::to_string(local_name).expect("a string is always JSON");
        format!(r#"{{"jsonrpc":"2.0","method":{name}"#).into()
    }

    pub fn candidate(&self) -> Candidate {
        Candidate {
            in_flight: self.in_flight.load(Ordering::Relaxed),
            place: self.place,
        }
    }

    pub fn acceptance(&self) -> Acceptance {
        Acceptance {
            place: self.place,
            space: self.space.id,
            replaces: self.replaces,
        }
    }

    /// The counters of the method. Other spaces of the owner that offer the method share them,
    /// unless the metrics have the label `space`.
    pub fn meter(&self, metrics: &Metrics) -> &MethodMeter {
        self.meter.get_or_init(|| {
            let space = &self.space;
            let methods = &metrics.methods;
            methods.open(space.owner, &self.name, space.id, &self.in_flight)
        })
    }

    pub fn availability(&self) -> Availability {
        self.space.availability()
    }

    /// Puts a call of a user on the space's link.
    pub fn call(
        &self,
        user: UserId,
        params: Option<&str>,
        reports: Option<&Reports>,
    ) -> Result<PendingCall, NotSent> {
        let link = self.link()?;
        let user = link.number_of(user);
        // The agent appends its own id and the closing brace.
        let payload = self.payload(&link, user, params, br#","id":"#);
        let serial = self.mode == Mode::Serial;
        link.call(user, payload, &self.in_flight, serial, reports.cloned())
    }

    pub fn notify(&self, user: UserId, params: Option<&str>) -> Result<(), NotSent> {
        let link = self.link()?;
        let user = link.number_of(user);
        link.notify(user, self.payload(&link, user, params, b"}"))
    }

    fn link(&self) -> Result<Arc<Link>, NotSent> {
        self.space.link().ok_or(NotSent)
    }

    fn payload(&self, link: &Link, user: UserNumber, params: Option<&str>, end: &[u8]) -> Bytes {
        let params = params.unwrap_or_default().as_bytes();
        let header = CALL_HEADER_BYTES + USER_BYTES;
        let mut out =
            Vec::with_capacity(header + self.prefix.len() + params.len() + end.len() + 10);
        out.put_u32_le(self.generation);
        if link.names_users() {
            out.put_u32_le(user.0);
        }
        out.extend_from_slice(&self.prefix);
        if !params.is_empty() {
            out.extend_from_slice(br#","params":"#);
            fold_lines(&mut out, params);
        }
        out.extend_from_slice(end);
        out.into()
    }
}
