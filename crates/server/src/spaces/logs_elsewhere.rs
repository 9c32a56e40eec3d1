//! Reads the log of a space at the server that holds its link. The servers exchange the request and
//! the lines through the database. This module checks no permission: its caller must do so.

use std::time::Duration;

use svc_core::{ServerId, SpaceId, UserId};
use svc_protocol::api::NumberedLine;
use svc_store::{
    Store, StoreError, UserPermit, UserPermits,
    log_requests::{self, LogRequest},
};
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

/// How long to wait for the other server.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// The interval of checks for the answer.
const LOOK_EVERY: Duration = Duration::from_millis(30);
/// Concurrent requests of one user, and of all users. Further requests wait.
const REQUESTS_PER_USER_MAX: usize = 1;
const REQUESTS_MAX: usize = 4;

pub struct LogsElsewhere {
    store: Store,
    permits: UserPermits,
}

impl LogsElsewhere {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            permits: UserPermits::new(REQUESTS_PER_USER_MAX, REQUESTS_MAX),
        }
    }

    /// The lines as `SpaceLogs::read` returns them. `None` if the other server does not answer in
    /// time.
    pub async fn read(
        &self,
        user: UserId,
        (node, space): (ServerId, SpaceId),
        after: Option<u64>,
        limit: usize,
    ) -> Result<Option<Vec<NumberedLine>>, StoreError> {
        let deadline = Instant::now() + WAIT_MAX;
        let Ok(permit) = timeout_at(deadline, self.permits.enter(user)).await else {
            return Ok(None);
        };
        let request = LogRequest {
            id: Uuid::now_v7().to_string(),
            server_id: node,
            space_id: space,
            after_line: after.map(|after| i64::try_from(after).unwrap_or(i64::MAX)),
            line_limit: i64::try_from(limit).unwrap_or(i64::MAX),
            lines: None,
        };
        // In a separate task: if the caller disconnects, the task still removes the request, and
        // holds the permit until then.
        let exchange = tokio::spawn(exchange(self.store.clone(), request, permit?, deadline));
        exchange.await.unwrap_or(Err(StoreError::Panicked))
    }
}

async fn exchange(
    store: Store,
    request: LogRequest,
    _permit: UserPermit,
    deadline: Instant,
) -> Result<Option<Vec<NumberedLine>>, StoreError> {
    let id = request.id.clone();
    store
        .write(move |tx| log_requests::add(tx, &request))
        .await?;
    let lines = wait_for_answer(&store, &id, deadline).await;
    // If the removal fails, a later request removes this one.
    store.write(move |tx| log_requests::remove(tx, &id)).await?;
    let lines = lines?.map(|lines| serde_json::from_str(&lines));
    // Lines that cannot be parsed come from another version of svc.
    Ok(lines.and_then(Result::ok))
}

async fn wait_for_answer(
    store: &Store,
    id: &str,
    deadline: Instant,
) -> Result<Option<String>, StoreError> {
    while Instant::now() < deadline {
        sleep(LOOK_EVERY).await;
        let id = id.to_owned();
        let found = store.read(move |tx| log_requests::find(tx, &id)).await?;
        match found {
            Some(LogRequest {
                lines: Some(lines), ..
            }) => return Ok(Some(lines)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
    Ok(None)
}
