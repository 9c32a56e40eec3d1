//! Notifications of commits by the other servers of the zone.
//!
//! Notifications are hints: servers also poll. A lost connection counts as a notification, because
//! some notifications may have been missed.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use tokio::{sync::Notify, task::AbortHandle};
use tokio_postgres::{AsyncMessage, Client};

use super::{CHANNEL, Server, connect::Messages, error};
use crate::error::StoreError;

/// The wait between attempts to listen again.
const RETRY_WAIT: Duration = Duration::from_secs(1);
/// Time after which a connection counts as having worked.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Listens until dropped.
pub(crate) struct Listener(AbortHandle);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Notifies `hints` after every notification of another server, and after every lost connection.
pub(crate) fn listen(server: Arc<Server>, hints: Arc<Notify>) -> Listener {
    let listening = tokio::spawn(async move {
        let mut is_logged = false;
        loop {
            let listening = Instant::now();
            if let Err(error) = listen_until_lost(&server, &hints).await
                && !std::mem::replace(&mut is_logged, true)
            {
                tracing::warn!(target: crate::LOG_TARGET,
                    "cannot listen for notifications of other servers ({error}); polling the database instead"
                );
            }
            // Log the loss again only if the connection had worked for a while.
            is_logged &= listening.elapsed() < STABLE_AFTER;
            hints.notify_one();
            tokio::time::sleep(RETRY_WAIT).await;
        }
    });
    Listener(listening.abort_handle())
}

async fn listen_until_lost(server: &Server, hints: &Notify) -> Result<(), StoreError> {
    server.presence.check()?;
    let outages = server.presence.outages();
    let listening = async {
        let connecting = server.connector.connect().await;
        let (client, messages) =
            connecting.map_err(|error| server.unreachable(&error.to_string()))?;
        forward(server, client, messages, hints)
            .await
            .map_err(|error| StoreError::Unavailable(error::text(&error)))
    };
    tokio::select! {
        ended = listening => ended,
        lost = server.presence.until_outage(outages) => Err(lost),
    }
}

async fn forward(
    server: &Server,
    client: Client,
    mut messages: Messages,
    hints: &Notify,
) -> Result<(), tokio_postgres::Error> {
    let driving = async {
        while let Some(message) = messages.next().await {
            match message? {
                AsyncMessage::Notification(notification)
                    if notification.payload() != server.origin =>
                {
                    hints.notify_one();
                }
                _ => {}
            }
        }
        Ok(())
    };
    let mut driving = pin!(driving);
    let listen = format!("LISTEN {CHANNEL}");
    tokio::select! {
        ended = &mut driving => return ended,
        listening = client.batch_execute(&listen) => listening?,
    }
    // Commits before this moment were not reported, so notify once.
    hints.notify_one();
    driving.await
}
