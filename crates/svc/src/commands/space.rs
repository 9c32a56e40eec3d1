//! `svc space`

mod logs;

pub use logs::{LogArgs, print_logs};

use std::time::{Duration, Instant};

use clap::Subcommand;
use serde_json::json;
use svc_client::{Client, Resource};
use svc_core::space::{Runtime, State};
use svc_protocol::api::{NewSpace, RegistrationStatus, Space, SpacePatch, Spaces, Template};

use super::{
    Shell, health_check,
    records::{self, ListArgs, Which},
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Format, Table, joined, or_dash},
};

/// How often `--wait` looks.
const WAIT_INTERVAL: Duration = Duration::from_millis(250);

/// The field of a new space's table that holds the secret.
const AGENT_TOKEN: &str = "agent token";

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
    /// Create a space; its agent token is shown once
    #[command(
        before_help = "  svc space create lab\n  svc space create lab --template web --health-check tcp:3000"
    )]
    Create {
        /// Its name; it never changes
        name: String,
        /// Template, by name or id
        #[arg(long)]
        template: Option<String>,
        /// Who starts its agent: you (`external`) or the server (`local`)
        #[arg(long, value_parser = parse_runtime)]
        runtime: Option<Runtime>,
        /// How the agent checks it: none, tcp:PORT, http://ADDRESS, command:COMMAND, or JSON
        #[arg(long, value_name = "CHECK")]
        health_check: Option<String>,
    },
    /// Change a space's health check
    #[command(before_help = "  svc space update lab --health-check tcp:3000\n  \
                   svc space update lab --health-check '{\"type\":\"tcp\",\"port\":3000,\"interval_seconds\":30}'")]
    Update {
        /// Name, owner/name or id
        space: String,
        /// How the agent checks it: none, tcp:PORT, http://ADDRESS, command:COMMAND, or JSON;
        /// `null` for its template's
        #[arg(long, value_name = "CHECK")]
        health_check: Option<String>,
    },
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
    /// Stop a space: its agent is sent away, its methods are gone
    #[command(before_help = "  svc space stop lab")]
    Stop {
        /// Name, owner/name or id
        space: String,
    },
    /// Remove spaces
    #[command(before_help = "  svc space rm lab")]
    Rm(Which),
    /// Show what a space's method server and agent say
    #[command(before_help = "  svc space logs lab -f")]
    Logs {
        /// Name, owner/name or id
        space: String,
        #[command(flatten)]
        args: LogArgs,
    },
    /// Make a new agent token; the old one ends
    #[command(before_help = "  SVC_AGENT_TOKEN=$(svc space agent-token lab) svc agent start")]
    AgentToken {
        /// Name, owner/name or id
        space: String,
    },
}

fn parse_runtime(text: &str) -> Result<Runtime, String> {
    Runtime::parse(text).ok_or_else(|| "the runtimes are `external` and `local`".to_owned())
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => list(shell, &args).await,
        Command::Get { space } => {
            let space = find(&shell.client()?, &space).await?;
            records::show(shell, &space, fields)
        }
        Command::Create {
            name,
            template,
            runtime,
            health_check,
        } => create(shell, name, template, runtime, health_check).await,
        Command::Update {
            space,
            health_check,
        } => update(shell, &space, health_check.as_deref()).await,
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

async fn update(shell: &Shell, reference: &str, health_check: Option<&str>) -> Outcome {
    let client = shell.client()?;
    let health_check = health_check.map(health_check::parse).transpose()?;
    let patch = SpacePatch {
        health_check,
        startup_script_id: None,
    };
    let space = find(&client, reference).await?;
    let space = client.update::<Space>(space.id(), &patch).await?;
    records::show(shell, &space, fields)
}

async fn remove(shell: &Shell, which: &Which) -> Outcome {
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
        // The secret alone: it is meant for `$(…)`.
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

async fn create(
    shell: &Shell,
    name: String,
    template: Option<String>,
    runtime: Option<Runtime>,
    health_check: Option<String>,
) -> Outcome {
    let client = shell.client()?;
    let health_check = health_check
        .as_deref()
        .map(health_check::parse)
        .transpose()?
        .flatten();
    let template_id = match template {
        Some(template) => Some(records::find::<Template>(shell, &template).await?.id),
        None => None,
    };
    let new = NewSpace {
        name,
        template_id,
        startup_script_id: None,
        runtime,
        health_check,
    };
    let space = client.create::<Space>(&new).await?;
    if space.runtime == Runtime::External {
        eprintln!("keep the agent token now: it is not shown again. Start the agent with");
        eprintln!(
            "  SVC_URL={} SVC_AGENT_TOKEN=<agent token> svc agent start",
            client.target()
        );
    }
    records::show(shell, &space, |space| {
        let mut fields = fields(space);
        // The server starts the agent itself, with a token of its own making.
        if space.runtime == Runtime::Local {
            fields.retain(|(name, _)| *name != AGENT_TOKEN);
        }
        fields
    })
}

async fn start(shell: &Shell, reference: &str, wait_seconds: Option<f64>) -> Outcome {
    let client = shell.client()?;
    let space = find(&client, reference).await?;
    client.start_space(space.id).await?;
    let Some(seconds) = wait_seconds else {
        eprintln!("space `{}` may start", space.name);
        return Ok(Exit::Ok);
    };
    let limit = Duration::try_from_secs_f64(seconds)
        .map_err(|error| Failure::usage(format!("`--timeout {seconds}`: {error}")))?;
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
        ("node", or_dash(space.node_id)),
        ("created", space.created_at.to_string()),
    ];
    if let Some(token) = &space.agent_token {
        fields.push((AGENT_TOKEN, token.clone()));
    }
    fields
}
