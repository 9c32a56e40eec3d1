//! Rules for the child processes of the agent, except its guard: no child gets a credential of the
//! agent, and the process group of a child is killed when the owner of the child is dropped.

use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use svc_protocol::env::{ADMIN_PASSWORD, AGENT_TOKEN, AGENT_TOKEN_FILE, SECRET_KEY};
use tokio::process::{Child, Command};

use crate::guard::Guard;

/// Removes the credentials of the agent and of the server from a child's environment.
pub fn withhold_credentials(command: &mut Command) {
    for name in [AGENT_TOKEN, AGENT_TOKEN_FILE, ADMIN_PASSWORD, SECRET_KEY] {
        command.env_remove(name);
    }
}

/// The process group that a child leads. Dropping this value kills the group, including every
/// process that the child has started. If the agent is killed, the guard ends the group.
pub struct ProcessGroup {
    id: Pid,
    guard: Arc<Guard>,
}

impl ProcessGroup {
    /// `None` if the child has already been waited for.
    pub fn led_by(child: &Child, guard: &Arc<Guard>) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(child.id()?).ok()?)?;
        guard.watch(id);
        let guard = Arc::clone(guard);
        Some(Self { id, guard })
    }

    pub fn signal(&self, signal: Signal) {
        // An error means that the group has ended.
        let _ = kill_process_group(self.id, signal);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.guard.unwatch(self.id);
    }
}
