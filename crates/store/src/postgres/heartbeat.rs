//! The heartbeat: a statement on a connection of its own, 400 ms after the last answer. It notices
//! within two seconds that the database does not answer, and notices when the database is back.
//!
//! A slow answer alone is not an outage: as long as any other connection gets answers, the database
//! is present. The heartbeat waits for an answer in many short steps and counts them. So a server
//! that was suspended does not treat its own pause as an outage.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    task::AbortHandle,
    time::{sleep, timeout},
};
use tokio_postgres::Client;

use super::{
    Server,
    connect::{ConnectError, drive},
};
use crate::error::OpenError;

/// The time from an answer to the next heartbeat.
const INTERVAL: Duration = Duration::from_millis(400);
/// A heartbeat without an answer for this long, while no other connection got an answer, means that
/// the database is away. With [`INTERVAL`], an outage is noticed after about 1.6 s at most.
const SILENCE_MAX: Duration = Duration::from_millis(1_200);
const TICK: Duration = Duration::from_millis(100);
/// The maximum time for an answer while other connections get answers. After this time the
/// connection of the heartbeat is opened again.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Sends heartbeats until dropped.
pub(crate) struct Heartbeat(
    #[expect(dead_code, reason = "dropping it ends the thread")] oneshot::Sender<()>,
);

impl Heartbeat {
    /// Starts a thread of its own, so that a busy server does not delay heartbeats.
    pub(crate) fn start(server: Arc<Server>) -> Result<Self, OpenError> {
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(OpenError::Thread)?;
        let beating = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = send_heartbeats(&server) => {}
                    _ = stopped => {}
                }
            });
            // Does not wait for a name lookup that is still running.
            runtime.shutdown_background();
        };
        std::thread::Builder::new()
            .name("svc-store-beat".to_owned())
            .spawn(beating)
            .map_err(OpenError::Thread)?;
        Ok(Self(stop))
    }
}

async fn send_heartbeats(server: &Server) {
    let mut session = None;
    loop {
        beat(server, &mut session).await;
        sleep(INTERVAL).await;
    }
}

/// The connection of the heartbeat. Its task ends when this value is dropped.
struct Session {
    client: Client,
    driving: AbortHandle,
    /// The number of outages when the connection was opened.
    outages: u64,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

/// Sends one heartbeat, and waits for its answer or for a failure to connect.
async fn beat(server: &Server, session: &mut Option<Session>) {
    let mut asking = std::pin::pin!(ask(server, session));
    let mut waited = Duration::ZERO;
    let asked = loop {
        tokio::select! {
            biased;
            asked = &mut asking => break asked,
            () = sleep(TICK) => {
                waited += TICK;
                if waited >= SILENCE_MAX && server.presence.silence() >= SILENCE_MAX {
                    server.declare_away("it does not answer");
                }
            }
        }
    };
    match asked {
        Ok(()) => server.declare_back(),
        // The database answers, but refuses a new connection. The connections of requests may work.
        Err(error) if error.has_answered => {
            server.presence.answered();
            server.presence.set_back();
        }
        Err(error) if server.presence.silence() >= SILENCE_MAX => {
            server.declare_away(&error.to_string());
        }
        // Another connection got an answer recently, so the database is not away. Requests notice
        // by themselves if their connections fail.
        Err(_) => {}
    }
}

/// Asks on the open connection. If that fails, opens another one: the database may have restarted,
/// or another host may be the primary.
async fn ask(server: &Server, session: &mut Option<Session>) -> Result<(), ConnectError> {
    if let Some(open) = session.take() {
        let is_answered = tokio::select! {
            biased;
            is_answered = is_answered(&open.client) => is_answered,
            _ = server.presence.until_outage(open.outages) => false,
        };
        if is_answered {
            *session = Some(open);
            return Ok(());
        }
    }
    let (client, messages) = server.connector.connect().await?;
    // `connect` has checked the host with a statement, which was answered. That is enough.
    *session = Some(Session {
        client,
        driving: tokio::spawn(drive(messages)).abort_handle(),
        outages: server.presence.outages(),
    });
    Ok(())
}

async fn is_answered(client: &Client) -> bool {
    let asking = client.simple_query("SELECT 1");
    timeout(ANSWER_MAX, asking)
        .await
        .is_ok_and(|asked| asked.is_ok())
}
