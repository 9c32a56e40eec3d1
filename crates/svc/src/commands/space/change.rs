//! `svc space create` and `svc space update`.

use svc_client::Resource;
use svc_core::space::Runtime;
use svc_protocol::api::{NewSpace, ScriptKind, Space, SpacePatch, Template};

use super::{fields, find};
use crate::{
    commands::{Shell, health_check, records, script},
    exit::Outcome,
};

/// Name of the table field that holds the secret of a new space.
pub const AGENT_TOKEN: &str = "agent token";

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
    /// Name, owner/name or id
    space: String,
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
    let health_check = args
        .health_check
        .as_deref()
        .map(health_check::parse)
        .transpose()?
        .flatten();
    let template_id = match args.template {
        Some(template) => Some(records::find::<Template>(shell, &template).await?.id),
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
        // The server starts the agent itself, so the user needs no token.
        if space.runtime == Runtime::Local {
            fields.retain(|(name, _)| *name != AGENT_TOKEN);
        }
        fields
    })
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let client = shell.client()?;
    let health_check = args.health_check.as_deref();
    let patch = SpacePatch {
        health_check: health_check.map(health_check::parse).transpose()?,
        startup_script_id: match args.startup_script.as_deref() {
            None => None,
            Some("") => Some(None),
            Some(script) => Some(Some(
                script::find_id(&client, script, ScriptKind::Startup).await?,
            )),
        },
    };
    let space = find(&client, &args.space).await?;
    let space = client.update::<Space>(space.id(), &patch).await?;
    records::show(shell, &space, fields)
}
