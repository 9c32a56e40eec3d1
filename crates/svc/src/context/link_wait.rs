//! Waits for an agent that is about to link again, for example after a restart of its server.

use std::time::{Duration, Instant};

use svc_client::AgentClient;
use svc_protocol::agent_api::Status;
use tokio::time::sleep;

/// How long a command waits for the agent's link.
const LINK_WAIT: Duration = Duration::from_secs(5);
/// Time between two requests for the agent's status.
const INTERVAL: Duration = Duration::from_millis(50);

/// Returns the status of a linked agent. If the agent is not linked, waits for the link, and
/// reports the wait on stderr. `None` if the agent is not linked after [`LINK_WAIT`], or does not
/// answer.
pub async fn wait_for_link(agent: &AgentClient) -> Option<Status> {
    let deadline = Instant::now() + LINK_WAIT;
    let mut is_announced = false;
    loop {
        let status = agent.status().await.ok()?;
        if status.linked {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        if !is_announced {
            is_announced = true;
            let why = status.link_error.as_deref().unwrap_or("it is connecting");
            let seconds = LINK_WAIT.as_secs();
            eprintln!("the agent is not linked to its server ({why}); waiting up to {seconds} s");
        }
        sleep(INTERVAL).await;
    }
}
