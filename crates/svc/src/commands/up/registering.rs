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
    exit::{Exit, Failure, OrFail},
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
    let registered = match is_script(file) {
        true => run_script(file, discovery).await,
        false => send_text(file, agent).await,
    };
    let refused = format!("the methods of `{}` are refused", file.display());
    registered.map_err(|failure| Failure {
        exit: Exit::Refused,
        ..failure.doing(refused)
    })
}

async fn send_text(file: &Path, agent: &AgentClient) -> Result<Registered, Failure> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Failure::refused(error.to_string()))?;
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
    let cannot = "cannot run the script";
    let url = discovery.agent_url.as_ref();
    let child = Command::new(runtime::own_program()?)
        .args(["methods", "register", "-o", "json"])
        .arg(file)
        .env(env::AGENT_SOCKET, &discovery.agent_socket)
        .envs(url.map(|url| (env::AGENT_URL, url)))
        .current_dir(file.parent().unwrap_or(Path::new("/")))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .or_fail(cannot)?;
    let output = match timeout(SCRIPT_TIMEOUT, child.wait_with_output()).await {
        Ok(output) => output.or_fail(cannot)?,
        Err(_) => {
            let seconds = SCRIPT_TIMEOUT.as_secs();
            let what = format!("the script has not ended within {seconds} s");
            return Err(Failure::timeout(what));
        }
    };
    if !output.status.success() {
        let what = format!("the script ended with {}", output.status);
        return Err(Failure::refused(what));
    }
    let registered = serde_json::from_slice(&output.stdout);
    registered.or_fail("cannot read which methods the script registered")
}
