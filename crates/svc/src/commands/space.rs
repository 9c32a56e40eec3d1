//! `svc space`: manages spaces.

mod change;
mod logs;

pub use logs::{LogArgs, print_logs};

use std::time::{Duration, Instant};

use clap::Subcommand;
use serde_json::json;
use svc_client::{Client, Error, Resource};
use svc_core::{
    SpaceId,
    space::{Runtime, State},
};
use svc_protocol::api::{RegistrationStatus, Space};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs, Record},
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Fields, fields, joined_pairs, or_dash},
    prompt::parse_seconds,
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
    Get(SpaceArg),
    Create(change::CreateArgs),
    Update(change::UpdateArgs),
    /// Start a space: its agent may link again
    #[command(before_help = "  svc space start lab --wait")]
    Start {
        #[command(flatten)]
        which: SpaceArg,
        /// Wait until its agent is linked
        #[arg(long)]
        wait: bool,
        /// Seconds to wait at most
        #[arg(long, default_value = "30", value_name = "SECONDS", value_parser = parse_seconds)]
        timeout: Duration,
    },
    /// Stop a space: its agent is disconnected and its methods are removed
    #[command(before_help = "  svc space stop lab")]
    Stop(SpaceArg),
    /// Remove spaces
    #[command(visible_alias = "delete", before_help = "  svc space rm lab")]
    Rm(NameArgs),
    /// Show the log of a space's method server and agent
    #[command(before_help = "  svc space logs lab -f")]
    Logs {
        #[command(flatten)]
        which: SpaceArg,
        #[command(flatten)]
        args: LogArgs,
    },
    /// Create a new agent token; the old one becomes invalid
    #[command(before_help = "  SVC_AGENT_TOKEN=$(svc space agent-token lab) svc agent start")]
    AgentToken(SpaceArg),
}

/// Selects a space.
#[derive(clap::Args, Debug)]
pub struct SpaceArg {
    /// Name, owner/name or id
    space: String,
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Space>(shell, args).await,
        Command::Get(which) => records::get::<Space>(shell, &which.space).await,
        Command::Create(args) => change::create(shell, args).await,
        Command::Update(args) => change::update(shell, args).await,
        Command::Start {
            which,
            wait,
            timeout,
        } => start(shell, &which, wait.then_some(timeout)).await,
        Command::Stop(which) => {
            let (client, space) = records::open::<Space>(shell, &which.space).await?;
            client.stop_space(space.id).await?;
            eprintln!("space `{}` is stopped", space.name);
            Ok(Exit::Ok)
        }
        Command::Rm(which) => records::remove::<Space>(shell, &which).await,
        Command::Logs { which, args } => {
            let (client, space) = records::open::<Space>(shell, &which.space).await?;
            print_logs(shell, &client, space.id, &args).await
        }
        Command::AgentToken(which) => {
            let (client, space) = records::open::<Space>(shell, &which.space).await?;
            let token = client.renew_agent_token(space.id).await?;
            shell.output.line_or_data(&token.agent_token, &token)
        }
    }
}

/// Starts a space and, with `wait`, waits this long for its agent.
async fn start(shell: &Shell, which: &SpaceArg, wait: Option<Duration>) -> Outcome {
    let (client, space) = records::open::<Space>(shell, &which.space).await?;
    client.start_space(space.id).await?;
    let Some(limit) = wait else {
        eprintln!("the agent of space `{}` may link again", space.name);
        return Ok(Exit::Ok);
    };
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if client.read_one::<Space>(space.id()).await?.state == State::Deployed {
            eprintln!("space `{}` is deployed", space.name);
            return Ok(Exit::Ok);
        }
        tokio::time::sleep(WAIT_INTERVAL).await;
    }
    let (name, seconds) = (&space.name, limit.as_secs_f64());
    let what = format!("the agent of `{name}` has not linked within {seconds} s");
    Err(Failure::timeout(what).hint(match space.runtime {
        Runtime::External => {
            "is it running? svc agent start, with SVC_URL and SVC_AGENT_TOKEN".into()
        }
        Runtime::Local => format!("svc space logs {name}, and the server's own log"),
    }))
}

/// The id of the space that an option names, if it was given.
pub async fn find_id(shell: &Shell, reference: Option<&str>) -> Result<Option<SpaceId>, Failure> {
    let Some(reference) = reference else {
        return Ok(None);
    };
    let (_, space) = records::open::<Space>(shell, reference).await?;
    Ok(Some(space.id))
}

fn methods(status: &RegistrationStatus) -> String {
    match status {
        RegistrationStatus::None => "-".to_owned(),
        RegistrationStatus::Active { methods } => methods.to_string(),
        RegistrationStatus::Waiting { methods } => format!("{methods} (waiting for the link)"),
        RegistrationStatus::Refused { error } => format!("refused: {error}"),
    }
}

/// A list has one line for each space: `svc space get` shows the rest of an error.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

impl Record for Space {
    const HEAD: &'static [&'static str] =
        &["NAME", "OWNER", "STATE", "HEALTH", "RUNTIME", "METHODS"];

    async fn find(client: &Client, reference: &str) -> Result<Self, Error> {
        client.find_space(reference).await
    }

    fn cell(&self, column: &str) -> Option<String> {
        (column == "METHODS").then(|| first_line(&methods(&self.registration)))
    }

    fn fields(&self) -> Fields {
        // The server starts a local agent itself, so the user needs no token.
        let is_external = self.runtime == Runtime::External;
        fields! { self as Space, without owner_id, stop_reason, stopped_at, folder, linked:
            "name" name = name.to_string(),
            "id" id = id.to_string(),
            "owner" owner = owner.to_string(),
            "state" state = state.to_string(),
            "health" health = health.to_string(),
            "runtime" runtime = runtime.to_string(),
            "methods" registration = methods(registration),
            "urls" space_urls = joined_pairs(space_urls),
            "health check" health_check = json!(health_check).to_string(),
            "template" template_id = or_dash(*template_id),
            "startup script" startup_script_id = or_dash(*startup_script_id),
            "node" node_id = or_dash(*node_id),
            "created" created_at = created_at.to_string(),
            "agent token" agent_token = agent_token.clone().filter(|_| is_external),
        }
    }
}
