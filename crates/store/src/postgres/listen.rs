//! Hints from the other servers of the zone: a notification says that something was committed.
//!
//! Nothing depends on a hint. Whoever listens looks by itself now and then, and a lost connection
//! counts as one hint, because some may have been missed.

use std::{
    future::poll_fn,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
    task::AbortHandle,
};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

use super::{CHANNEL, Server, error};

/// Between attempts to listen again.
const AGAIN: Duration = Duration::from_secs(1);
/// A connection that lasted so long was a working one.
const HEARD: Duration = Duration::from_secs(10);

/// Listens until dropped.
pub(crate) struct Listener(AbortHandle);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells `hints` of every hint of another server.
pub(crate) fn listen(server: Arc<Server>, hints: Arc<Notify>) -> Listener {
    let listening = tokio::spawn(async move {
        let mut told = false;
        loop {
            let listening = Instant::now();
            if let Err(error) = until_lost(&server, &hints).await
                && !std::mem::replace(&mut told, true)
            {
                tracing::warn!(target: crate::LOG_TARGET,
                    "hints of other servers are not heard ({}); the database is asked instead",
                    error::text(&error)
                );
            }
            // Once it had been heard for a while, losing it is news again.
            told &= listening.elapsed() < HEARD;
            hints.notify_one();
            tokio::time::sleep(AGAIN).await;
        }
    });
    Listener(listening.abort_handle())
}

async fn until_lost(server: &Server, hints: &Notify) -> Result<(), tokio_postgres::Error> {
    let config = server.url.config();
    match server.url.tls() {
        Some(tls) => {
            let (client, connection) = config.connect(tls.clone()).await?;
            forward(server, client, connection, hints).await
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            forward(server, client, connection, hints).await
        }
    }
}

async fn forward<S, T>(
    server: &Server,
    client: Client,
    mut connection: Connection<S, T>,
    hints: &Notify,
) -> Result<(), tokio_postgres::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let driving = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message? {
                AsyncMessage::Notification(heard) if heard.payload() != server.origin => {
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
    // What was committed before this was not told to us.
    hints.notify_one();
    driving.await
}
