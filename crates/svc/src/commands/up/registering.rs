//! Registers a methods file with the demo space's agent: sends TOML, or runs a script.

use std::{path::Path, process::Stdio, time::Duration};

use svc_client::AgentClient;
use svc_protocol::{
    agent_api::{Discovery, RegisterFile, Registered},
    env,
};
use tokio::{process::Command, time::timeout};

use crate::{
    commands::methods::{is_script, warn},
    exit::{Exit, Failure},
    runtime,
};

/// Time that a script may take to register.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(300);

/// Every failure has the exit code of a refused registration.
pub async fn register(
    file: &Path,
    discovery: &Discovery,
    agent: &AgentClient,
) -> Result<Registered, Failure> {
    let registered = if is_script(file) {
        run_script(file, discovery).await
    } else {
        send_text(file, agent).await
    };
    registered.map_err(|failure| {
        let mut failure = failure.doing(format!("the methods of `{}` are refused", file.display()));
        failure.exit = Exit::Refused;
        failure
    })
}

async fn send_text(file: &Path, agent: &AgentClient) -> Result<Registered, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
    let body = RegisterFile {
        path: file.display().to_string(),
        text: Some(text),
        registration: None,
        replace_conflicting: false,
    };
    let registered = agent.register(&body).await?;
    warn(&registered.warnings);
    Ok(registered)
}

/// Runs the script in a child process, which prints its own warnings and errors. The child is
/// killed if the future is dropped.
async fn run_script(file: &Path, discovery: &Discovery) -> Result<Registered, Failure> {
    let cannot = |error: std::io::Error| Failure::failed("cannot run the script").why(error);
    let child = Command::new(runtime::own_program()?)
        .args(["methods", "register", "-o", "json"])
        .arg(file)
        .env(env::AGENT_SOCKET, &discovery.agent_socket)
        .envs(
            discovery
                .agent_url
                .as_ref()
                .map(|url| (env::AGENT_URL, url)),
        )
        .current_dir(file.parent().unwrap_or(Path::new("/")))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(cannot)?;
    let output = match timeout(SCRIPT_TIMEOUT, child.wait_with_output()).await {
        Ok(output) => output.map_err(cannot)?,
        Err(_) => {
            let seconds = SCRIPT_TIMEOUT.as_secs();
            let what = format!("the script has not ended within {seconds} s");
            return Err(Failure::new(Exit::Timeout, what));
        }
    };
    if !output.status.success() {
        let what = format!("the script ended with {}", output.status);
        return Err(Failure::new(Exit::Refused, what));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| {
        Failure::failed("cannot read which methods the script registered").why(error)
    })
}
