//! `svc space create` and `svc space update`.

use svc_core::space::Runtime;
use svc_protocol::api::{NewSpace, ScriptKind, Space, SpacePatch, Template};

use super::SpaceArg;
use crate::{
    commands::{Shell, health_check, records, script},
    exit::Outcome,
};

/// Create a space; its agent token is shown once
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc space create lab\n  \
                   svc space create lab --template web --health-check tcp:3000 --startup-script prepare")]
pub struct CreateArgs {
    /// Name; it cannot be changed later
    name: String,
    /// Template of the space, by name or id
    #[arg(long)]
    template: Option<String>,
    /// Who starts its agent: you (`external`) or the server (`local`)
    #[arg(long, value_parser = parse_runtime)]
    runtime: Option<Runtime>,
    /// How the agent checks the space: none, tcp:PORT, http://ADDRESS, command:COMMAND, or JSON
    #[arg(long, value_name = "CHECK")]
    health_check: Option<String>,
    /// Stored script of kind `startup` that the agent runs when it starts, by name or id
    #[arg(long, value_name = "SCRIPT")]
    startup_script: Option<String>,
}

/// Change a space's health check or startup script
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc space update lab --health-check tcp:3000\n  \
                   svc space update lab --startup-script prepare\n  \
                   svc space update lab --health-check '{\"type\":\"tcp\",\"port\":3000,\"interval_seconds\":30}'")]
pub struct UpdateArgs {
    #[command(flatten)]
    which: SpaceArg,
    /// How the agent checks the space: none, tcp:PORT, http://ADDRESS, command:COMMAND, or JSON;
    /// `null` for the check of the template
    #[arg(long, value_name = "CHECK")]
    health_check: Option<String>,
    /// Stored script of kind `startup` that the agent runs when it starts, by name or id; '' for
    /// none
    #[arg(long, value_name = "SCRIPT")]
    startup_script: Option<String>,
}

fn parse_runtime(text: &str) -> Result<Runtime, String> {
    Runtime::parse(text).ok_or_else(|| "the runtimes are `external` and `local`".to_owned())
}

pub async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let client = shell.client()?;
    let health_check = args.health_check.as_deref();
    let health_check = health_check.map(health_check::parse).transpose()?;
    let template_id = match args.template {
        Some(template) => Some(records::find::<Template>(&client, &template).await?.id),
        None => None,
    };
    let startup_script_id = match args.startup_script {
        Some(script) => Some(script::find_id(&client, &script, ScriptKind::Startup).await?),
        None => None,
    };
    let new = NewSpace {
        name: args.name,
        template_id,
        startup_script_id,
        runtime: args.runtime,
        health_check: health_check.flatten(),
    };
    let space: Space = client.create(&new).await?;
    if space.runtime == Runtime::External {
        eprintln!("keep the agent token now: it is not shown again. Start the agent with");
        eprintln!(
            "  SVC_URL={} SVC_AGENT_TOKEN=<agent token> svc agent start",
            client.target()
        );
    }
    records::show(shell, &space)
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let health_check = args.health_check.as_deref();
    let script = args.startup_script.as_deref();
    let patch = SpacePatch {
        health_check: health_check.map(health_check::parse).transpose()?,
        startup_script_id: script::find_startup(shell, script).await?,
    };
    records::update::<Space>(shell, &args.which.space, &patch).await
}
