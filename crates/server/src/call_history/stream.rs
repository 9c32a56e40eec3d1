//! Streams of new calls. A stream reads the journal from the database once per second, so that it
//! also has the calls that other servers of the zone received.

use std::{
    collections::{HashSet, VecDeque},
    future::ready,
    sync::Arc,
    time::Duration,
};

use svc_core::{Id, Timestamp, journal::time_of};
use svc_protocol::api::{Call, CallQuery, PAGE_MAX};
use svc_store::PageRequest;
use tokio::time::Interval;

use super::{CallHistory, FoundPage, access::reach};
use crate::{
    identity::Caller,
    records::Result,
    streams::{OpenStream, recheck_interval},
};

/// A call may be written to the journal up to this long after its end. Therefore each read also
/// covers this much time before the last read. A stream misses calls that are written later.
const LATE: Duration = Duration::from_secs(10);

/// A stream of new calls.
pub struct CallStream {
    history: Arc<CallHistory>,
    caller: Caller,
    query: CallQuery,
    /// The last read that succeeded began at this time.
    last_read: Timestamp,
    /// Ids of recent calls that this stream has already sent, or that were in the journal when the
    /// stream was opened.
    known: HashSet<Id>,
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
    /// Streams new calls that match the query. `since` and `until` of the query have no effect. A
    /// call is new if the journal did not have it when the stream was opened. So a client that
    /// opens a stream and then reads the list misses no call.
    pub async fn stream(self: &Arc<Self>, caller: Caller, query: CallQuery) -> Result<CallStream> {
        let open = self.streams.open(&caller.user)?;
        let mut stream = CallStream {
            history: Arc::clone(self),
            caller,
            query,
            last_read: svc_clock::now(),
            known: HashSet::new(),
            items: VecDeque::new(),
            recheck: recheck_interval(),
            _open: open,
        };
        stream.read().await?;
        stream.items.clear();
        Ok(stream)
    }
}

impl CallStream {
    /// The next item; `None` once the credential is invalid or the server stops.
    pub async fn next(&mut self) -> Option<CallStreamItem> {
        loop {
            let has_items = !self.items.is_empty();
            // Biased: the credential of a slow reader is checked before the reader gets another
            // call.
            tokio::select! {
                biased;
                () = self.history.shutdown.cancelled() => return None,
                _ = self.recheck.tick() => self.readmit()?,
                () = ready(()), if has_items => return self.items.pop_front(),
            }
            if self.items.is_empty() {
                // If the database cannot be reached, the next read that succeeds finds the calls.
                let _ = self.read().await;
            }
        }
    }

    /// Checks the credential; `None` if it has ended. If the caller may see other calls than before,
    /// the queued ones are dropped.
    fn readmit(&mut self) -> Option<()> {
        let before = reach(&self.caller);
        let directory = &self.history.directory;
        self.caller = directory.readmit(&self.caller, svc_clock::now()).ok()?;
        if reach(&self.caller) != before && !self.items.is_empty() {
            self.items = VecDeque::from([CallStreamItem::Lagged]);
        }
        Some(())
    }

    /// Reads the calls since the last read and of the time [`LATE`] before it. Queues the calls
    /// that are new.
    async fn read(&mut self) -> Result<()> {
        let now = svc_clock::now();
        let since = self.last_read.minus(LATE);
        let query = CallQuery {
            since: Some(since),
            until: None,
            ..self.query.clone()
        };
        let Some(filter) = self.history.filter(&self.caller, query) else {
            return Ok(());
        };
        let page = PageRequest::parse(None, Some(PAGE_MAX)).expect("the largest page is valid");
        let FoundPage {
            calls, next_cursor, ..
        } = self.history.read(&self.caller, filter, page).await?;
        self.last_read = now;
        self.known.retain(|id| time_of(*id) >= since);
        let is_oldest_known = calls
            .last()
            .is_some_and(|call| self.known.contains(&call.id));
        let new = calls.into_iter().filter(|call| self.known.insert(call.id));
        let new: Vec<_> = new.collect();
        if next_cursor.is_some() && !is_oldest_known {
            self.items.push_back(CallStreamItem::Lagged);
        }
        let items = new.into_iter().rev();
        self.items
            .extend(items.map(|call| CallStreamItem::Call(Box::new(call))));
        Ok(())
    }
}
