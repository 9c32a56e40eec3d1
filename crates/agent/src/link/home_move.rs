//! Moves the agent's home to another server of the zone while the home link is up. An agent has one
//! home link, to its home server, and side links to other servers. The home server requests the
//! move if it has clearly more home links than other servers.
//!
//! The new home link replaces the side link to the same server. The old home link stays up until a
//! side link to its server is up. Then that server ends the old home link when the calls on it are
//! done, or after the drain time. So a move interrupts no call that ends within the drain time.

use std::{pin::Pin, sync::Arc};

use svc_client::Target;
use svc_core::ServerId;
use svc_link::OpenedLink;
use tokio::time::Instant;

use super::{
    Link,
    connect::{ServerIo, connect},
    session::End,
};

/// The home link while it is up.
pub struct HomeLink {
    pub number: u64,
    pub up_since: Instant,
    /// Runs the link to its end.
    pub session: Pin<Box<dyn Future<Output = End> + Send>>,
}

impl Link {
    /// Waits until the home server asks the agent to move, and connects to the new home. If
    /// connecting fails, the agent keeps its home, and this function waits for the next request.
    pub async fn connect_next_home(&self) -> (Target, OpenedLink<ServerIo>) {
        let mut moves = self.moves.subscribe();
        // Ignore a request that was made on an earlier home link.
        moves.mark_unchanged();
        loop {
            if moves.changed().await.is_err() {
                return std::future::pending().await;
            }
            let asked = *moves.borrow_and_update();
            // The agent moves only to a server to which it has a side link. Another server may be
            // unreachable, or refuse this agent.
            let Some(target) = asked.and_then(|server| self.find_side(server)) else {
                continue;
            };
            match connect(self, &target, None).await {
                Ok(connected) => {
                    self.servers.make_current(&target);
                    return (target, connected);
                }
                Err(error) => {
                    tracing::info!(server.url = %target, %error, "the agent keeps its home server");
                }
            }
        }
    }

    /// Runs a former home link until its server ends it.
    pub async fn leave_home(self: Arc<Self>, home: HomeLink) {
        home.session.await;
        self.outbox.close(home.number);
        self.registrar.routes.forget_link(home.number);
    }

    fn find_side(&self, server: ServerId) -> Option<Target> {
        let sides = self.sides.lock();
        let side = sides.iter().find(|side| side.server == server)?;
        Some(side.target.clone())
    }
}
