//! Streams of new calls. A stream reads the journal once per second, so that it also has the calls of
//! the other servers of a zone.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use svc_core::{Id, Timestamp, journal::time_of};
use svc_protocol::api::{Call, CallQuery, PAGE_MAX};
use svc_store::PageRequest;
use tokio::time::Interval;

use super::{CallHistory, CallHistoryError, FoundPage};
use crate::{
    identity::Caller,
    streams::{OpenStream, recheck_interval},
};

/// How late a call may be written to the journal. Each read starts this much earlier.
const LATE: Duration = Duration::from_secs(10);

/// A stream of new calls.
pub struct CallStream {
    history: Arc<CallHistory>,
    caller: Caller,
    query: CallQuery,
    opened: Timestamp,
    /// Ids of the calls of the last seconds that were already sent.
    sent: HashSet<Id>,
    items: VecDeque<CallStreamItem>,
    recheck: Interval,
    _open: OpenStream,
}

#[derive(Clone, PartialEq, Debug)]
pub enum CallStreamItem {
    Call(Box<Call>),
    /// Some calls are missing, because there were too many for one read.
    Lagged,
}

impl CallHistory {
    /// Streams new calls that match the query. `since` and `until` of the query have no effect.
    pub fn stream(
        self: &Arc<Self>,
        caller: Caller,
        query: CallQuery,
    ) -> Result<CallStream, CallHistoryError> {
        let open = self.streams.open(&caller.user)?;
        Ok(CallStream {
            history: Arc::clone(self),
            caller,
            query,
            opened: svc_clock::now(),
            sent: HashSet::new(),
            items: VecDeque::new(),
            recheck: recheck_interval(),
            _open: open,
        })
    }
}

impl CallStream {
    /// The next item; `None` once the credential is invalid or the server stops.
    pub async fn next(&mut self) -> Option<CallStreamItem> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Some(item);
            }
            tokio::select! {
                biased;
                () = self.history.shutdown.cancelled() => return None,
                _ = self.recheck.tick() => {}
            }
            let directory = &self.history.directory;
            self.caller = directory.readmit(&self.caller, svc_clock::now()).ok()?;
            self.read().await;
        }
    }

    /// Reads the calls of the last seconds, and queues those that are new.
    async fn read(&mut self) {
        let since = svc_clock::now().minus(LATE).max(self.opened);
        let query = CallQuery {
            since: Some(since),
            until: None,
            ..self.query.clone()
        };
        let Some(filter) = self.history.filter(&self.caller, query) else {
            return;
        };
        let page = PageRequest::parse(None, Some(PAGE_MAX)).expect("the largest page is valid");
        // If the database cannot be reached, a later read finds the calls.
        let Ok(found) = self.history.read(&self.caller, filter, page).await else {
            return;
        };
        let FoundPage {
            calls, next_cursor, ..
        } = found;
        self.sent.retain(|id| time_of(*id) >= since);
        let oldest_sent = calls
            .last()
            .is_some_and(|call| self.sent.contains(&call.id));
        let new = calls.into_iter().filter(|call| self.sent.insert(call.id));
        let new: Vec<_> = new.collect();
        if next_cursor.is_some() && !oldest_sent {
            self.items.push_back(CallStreamItem::Lagged);
        }
        let items = new.into_iter().rev();
        self.items
            .extend(items.map(|call| CallStreamItem::Call(Box::new(call))));
    }
}
