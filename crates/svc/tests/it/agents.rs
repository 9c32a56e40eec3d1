//! Agents: their local API, their link to the server, and the machine they run on (spec 4.2).

mod link;
mod link_hostile;
mod local_api;
mod local_machine;
mod other_users;
mod reconnect;
mod servers;

use std::{path::Path, process::Command};

/// Copies the program under test. If this process made the copy, a child of another test could
/// inherit the open file, and the copy could not be started.
fn copy_program(to: &Path) {
    let program = svc_testkit::svc_program();
    let copied = Command::new("cp").arg(program).arg(to).status();
    assert!(copied.unwrap().success());
}
