//! Answers requests of other servers for the logs of spaces that are linked to this server.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use svc_core::ServerId;
use svc_store::{StoreError, Tx, log_requests};
use tokio::sync::Notify;

use super::ZoneHandles;
use crate::live::SpaceLogs;

/// Limit of the waiting requests. Further requests are dropped, and the servers that made them
/// report that this server does not answer.
const WAITING_MAX: usize = 1_000;

/// Requests in the order of their arrival.
#[derive(Default)]
pub(super) struct LogRequests {
    ids: Mutex<VecDeque<String>>,
    added: Notify,
}

impl LogRequests {
    pub(super) fn add(&self, id: String) {
        let mut ids = self.ids.lock();
        if ids.len() < WAITING_MAX {
            ids.push_back(id);
            self.added.notify_one();
        }
    }

    /// Answers requests until the server stops. Runs as a separate task: an answer is a write,
    /// which must not delay the processing of other changes of the zone.
    pub(super) async fn run(&self, handles: &ZoneHandles) {
        loop {
            let next = self.ids.lock().pop_front();
            let Some(id) = next else {
                tokio::select! {
                    () = self.added.notified() => continue,
                    () = handles.shutdown.cancelled() => return,
                }
            };
            match answer(handles, id).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                // The server that made the request repeats it when its caller tries again.
                Err(error) => super::log_failure("cannot answer a request for a log", &error),
            }
        }
    }
}

async fn answer(handles: &ZoneHandles, id: String) -> Result<(), StoreError> {
    let (server, logs) = (handles.links.server_id, handles.logs.clone());
    let (find, key) = (id.clone(), id);
    let found = handles
        .store
        .read(move |tx| lines(tx, server, &logs, &find));
    let Some(lines) = found.await? else {
        return Ok(());
    };
    handles
        .store
        .write(move |tx| log_requests::answer(tx, &key, &lines))
        .await
}

/// The lines for a request; `None` if the request is for another server, was answered already or
/// was removed.
fn lines(
    tx: &mut Tx<'_>,
    server: ServerId,
    logs: &Arc<SpaceLogs>,
    id: &str,
) -> Result<Option<String>, StoreError> {
    let Some(request) = log_requests::find(tx, id)? else {
        return Ok(None);
    };
    if request.server_id != server || request.lines.is_some() {
        return Ok(None);
    }
    let after = request
        .after_line
        .and_then(|after| u64::try_from(after).ok());
    let limit = usize::try_from(request.line_limit).unwrap_or_default();
    let lines = logs.read(request.space_id, after, limit);
    Ok(serde_json::to_string(&lines).ok())
}
