//! `svc space`: manages spaces.

mod change;
mod logs;

pub use logs::{LogArgs, print_logs};

use std::time::{Duration, Instant};

use clap::Subcommand;
use serde_json::json;
use svc_client::{Client, Resource};
use svc_core::space::{Runtime, State};
use svc_protocol::api::{RegistrationStatus, Space, Spaces};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs},
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Format, Table, joined, or_dash},
};

/// Time between two requests of `--wait`.
const WAIT_INTERVAL: Duration = Duration::from_millis(250);

/// Manage spaces: the workspaces whose agents publish methods
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc space create lab\n  svc space list\n  svc space logs lab -f")]
pub enum Command {
    /// List the spaces you may see
    #[command(before_help = "  svc space list -o json")]
    List(ListArgs),
    /// Show a space
    #[command(before_help = "  svc space get lab\n  svc space get ann/lab")]
    Get {
        /// Name, owner/name or id
        space: String,
    },
    Create(change::CreateArgs),
    Update(change::UpdateArgs),
    /// Start a space: its agent may link again
    #[command(before_help = "  svc space start lab --wait")]
    Start {
        /// Name, owner/name or id
        space: String,
        /// Wait until its agent is linked
        #[arg(long)]
        wait: bool,
        /// Seconds to wait at most
        #[arg(long, default_value_t = 30.0, value_name = "SECONDS")]
        timeout: f64,
    },
    /// Stop a space: its agent is disconnected and its methods are removed
    #[command(before_help = "  svc space stop lab")]
    Stop {
        /// Name, owner/name or id
        space: String,
    },
    /// Remove spaces
    #[command(before_help = "  svc space rm lab")]
    Rm(NameArgs),
    /// Show the log of a space's method server and agent
    #[command(before_help = "  svc space logs lab -f")]
    Logs {
        /// Name, owner/name or id
        space: String,
        #[command(flatten)]
        args: LogArgs,
    },
    /// Create a new agent token; the old one becomes invalid
    #[command(before_help = "  SVC_AGENT_TOKEN=$(svc space agent-token lab) svc agent start")]
    AgentToken {
        /// Name, owner/name or id
        space: String,
    },
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => list(shell, &args).await,
        Command::Get { space } => {
            let space = find(&shell.client()?, &space).await?;
            records::show(shell, &space, fields)
        }
        Command::Create(args) => change::create(shell, args).await,
        Command::Update(args) => change::update(shell, args).await,
        Command::Start {
            space,
            wait,
            timeout,
        } => start(shell, &space, wait.then_some(timeout)).await,
        Command::Stop { space } => {
            let client = shell.client()?;
            let space = find(&client, &space).await?;
            client.stop_space(space.id).await?;
            eprintln!("space `{}` is stopped", space.name);
            Ok(Exit::Ok)
        }
        Command::Rm(which) => remove(shell, &which).await,
        Command::Logs { space, args } => {
            let client = shell.client()?;
            let space = find(&client, &space).await?;
            print_logs(shell, &client, space.id, &args).await
        }
        Command::AgentToken { space } => renew_agent_token(shell, &space).await,
    }
}

async fn remove(shell: &Shell, which: &NameArgs) -> Outcome {
    let client = shell.client()?;
    for name in &which.names {
        let space = find(&client, name).await?;
        client.delete::<Space>(space.id()).await?;
        eprintln!("removed space `{}`", space.name);
    }
    Ok(Exit::Ok)
}

async fn renew_agent_token(shell: &Shell, reference: &str) -> Outcome {
    let client = shell.client()?;
    let space = find(&client, reference).await?;
    let token = client.renew_agent_token(space.id).await?;
    match shell.output.format {
        // Only the secret, for use in `$(…)`.
        Format::Table => shell.output.line(&token.agent_token)?,
        Format::Json | Format::Yaml => shell.output.document(&token, || Table::new(&[]))?,
    }
    Ok(Exit::Ok)
}

pub async fn find(client: &Client, reference: &str) -> Result<Space, Failure> {
    client
        .find_space(reference)
        .await
        .map_err(|error| records::with_list_hint::<Space>(error.into()))
}

async fn list(shell: &Shell, args: &ListArgs) -> Outcome {
    let head = ["NAME", "OWNER", "STATE", "HEALTH", "RUNTIME", "METHODS"];
    records::list::<Spaces>(shell, args, &head, |space| {
        vec![
            space.name.to_string(),
            space.owner.to_string(),
            space.state.to_string(),
            space.health.to_string(),
            space.runtime.to_string(),
            registration(&space.registration),
        ]
    })
    .await
}

async fn start(shell: &Shell, reference: &str, wait_seconds: Option<f64>) -> Outcome {
    let client = shell.client()?;
    let space = find(&client, reference).await?;
    client.start_space(space.id).await?;
    let Some(seconds) = wait_seconds else {
        eprintln!("the agent of space `{}` may link again", space.name);
        return Ok(Exit::Ok);
    };
    let limit = Duration::try_from_secs_f64(seconds).map_err(|_| {
        Failure::usage(format!("`--timeout {seconds}` is not a valid time"))
            .hint("give a number of seconds, such as 30 or 0.5")
    })?;
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if client.read_one::<Space>(space.id()).await?.state == State::Deployed {
            eprintln!("space `{}` is deployed", space.name);
            return Ok(Exit::Ok);
        }
        tokio::time::sleep(WAIT_INTERVAL).await;
    }
    Err(Failure::new(
        Exit::Timeout,
        format!(
            "the agent of `{}` has not linked within {seconds} s",
            space.name
        ),
    )
    .hint(match space.runtime {
        Runtime::External => {
            "is it running? svc agent start, with SVC_URL and SVC_AGENT_TOKEN".into()
        }
        Runtime::Local => format!("svc space logs {}, and the server's own log", space.name),
    }))
}

fn registration(status: &RegistrationStatus) -> String {
    match status {
        RegistrationStatus::None => "-".to_owned(),
        RegistrationStatus::Active { methods } => methods.to_string(),
        RegistrationStatus::Waiting { methods } => format!("{methods} (waiting for the link)"),
        RegistrationStatus::Refused { error } => format!("refused: {error}"),
    }
}

fn fields(space: &Space) -> Vec<(&'static str, String)> {
    let urls = space
        .space_urls
        .iter()
        .map(|(name, url)| format!("{name}={url}"));
    let mut fields = vec![
        ("name", space.name.to_string()),
        ("id", space.id.to_string()),
        ("owner", space.owner.to_string()),
        ("state", space.state.to_string()),
        ("health", space.health.to_string()),
        ("runtime", space.runtime.to_string()),
        ("methods", registration(&space.registration)),
        ("urls", joined(urls)),
        ("health check", json!(space.health_check).to_string()),
        ("template", or_dash(space.template_id)),
        ("startup script", or_dash(space.startup_script_id)),
        ("node", or_dash(space.node_id)),
        ("created", space.created_at.to_string()),
    ];
    if let Some(token) = &space.agent_token {
        fields.push((change::AGENT_TOKEN, token.clone()));
    }
    fields
}
