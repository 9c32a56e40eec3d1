//! The checks of the agent of this folder: its link, its method server, its registration.

use svc_protocol::{
    agent_api::{MethodServerStatus, Status},
    api::Check,
};

use super::{Group, Shell, context};

/// More restarts than this since the agent started cause a warning.
const RESTARTS_MANY: u64 = 3;

pub async fn check(shell: &Shell) -> Group {
    let group = |name: &str, checks| Group {
        name: name.to_owned(),
        checks,
    };
    if context::find_agent_socket(&shell.environment).is_none() {
        let why = "no agent runs in this folder or above it, and SVC_AGENT_SOCKET is not set";
        return group("space", vec![Check::skipped("agent", why)]);
    }
    let status = match context::find_agent(&shell.environment) {
        Ok(agent) => agent.status().await.map_err(|error| error.to_string()),
        Err(failure) => Err(failure.what),
    };
    match status {
        Ok(status) => {
            let name = match &status.space {
                Some(space) => format!("space {space}"),
                None => "space".to_owned(),
            };
            group(&name, checks(&status))
        }
        Err(why) => {
            let advice = "start the agent again: svc agent start; its log says why it ended";
            group("space", vec![Check::error("agent", why, advice)])
        }
    }
}

fn checks(status: &Status) -> Vec<Check> {
    let agent = format!("version {}, pid {}", status.version, status.pid);
    let server = match &status.method_server {
        Some(server) => method_server(server),
        None => Check::skipped("method server", "no methods are registered"),
    };
    vec![
        Check::ok("agent", agent),
        link(status),
        server,
        registration(status),
    ]
}

fn link(status: &Status) -> Check {
    let server = &status.server_url;
    if status.linked {
        return Check::ok("link", format!("linked to {server}"));
    }
    let why = status.link_error.as_deref().unwrap_or("not linked yet");
    let advice = "check that the server runs and that this machine reaches it; if the token was refused, give the agent a new one: svc space agent-token <space>";
    Check::error("link", format!("{server}: {why}"), advice)
}

fn method_server(server: &MethodServerStatus) -> Check {
    let name = "method server";
    let restarts = server.restarts;
    let detail = |state: &str| format!("`{}` {state}, {restarts} restarts", server.command);
    let advice = "read its output: svc space logs <space>";
    match server.pid {
        None => Check::error(name, detail("is not running"), advice),
        Some(_) if restarts > RESTARTS_MANY => Check::warning(name, detail("runs"), advice),
        Some(_) => Check::ok(name, detail("runs")),
    }
}

fn registration(status: &Status) -> Check {
    let name = "registration";
    match &status.registration_error {
        Some(why) => Check::error(
            name,
            format!("refused: {why}"),
            "change the methods file, then: svc methods register <file>",
        ),
        None => Check::ok(name, format!("{} methods", status.methods.len())),
    }
}
