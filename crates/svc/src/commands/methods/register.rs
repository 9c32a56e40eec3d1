//! `svc methods register`: compares a file with the published methods, registers it with the agent,
//! and reports what has changed.

use std::path::PathBuf;

use svc_client::AgentClient;
use svc_protocol::agent_api::{RegisterFile, Registered, Status};

use super::{
    ANY_OWNER, ANY_SPACE, Names, Source, compatibility, is_script, report,
    report::{Published, Report},
    script, warn,
};
use crate::{
    commands::{Shell, own_script::on_plain_thread},
    context,
    exit::{Exit, Failure, Outcome},
    output::Format,
};

/// Register a file; it replaces all methods of the space
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc methods register methods.toml\n  svc methods register methods.py\n  \
                   generate-methods | svc methods register -"
)]
pub struct Args {
    /// Registration file in TOML, or a script (.py) that calls `server.register()`; `-` reads
    /// TOML from stdin
    file: PathBuf,
    /// Remove conflicting methods of your other spaces, instead of failing
    #[arg(long)]
    replace_conflicting: bool,
    /// Register nothing if a change breaks callers: a removed method, a new required param, a
    /// removed member of the result. A script is run twice, first to compare its methods
    #[arg(long)]
    strict: bool,
    /// Do not list the methods
    #[arg(long, hide = true)]
    quiet: bool,
}

/// A registration that the server has accepted.
struct Accepted {
    registered: Registered,
    agent: AgentClient,
    status: Option<Status>,
    /// The methods of the space before. `None` if they are not reported, or could not be read.
    before: Option<Published>,
}

pub async fn run(shell: &Shell, args: &Args) -> Outcome {
    let is_reported = !args.quiet && shell.output.format == Format::Table;
    let accepted = match is_script(&args.file) {
        true => register_script(shell, args, is_reported).await?,
        false => register_toml(shell, args, is_reported).await?,
    };
    let (registered, before) = (accepted.registered, accepted.before);
    warn(&registered.warnings);
    if args.quiet {
        return Ok(Exit::Ok);
    }
    if !is_reported {
        return shell.output.data(&registered);
    }
    let status = accepted.status.as_ref();
    let after = published(&accepted.agent, status, before.is_some()).await;
    let report = Report::new(before, after);
    report::print(shell, &registered, report.as_ref())
}

async fn register_script(
    shell: &Shell,
    args: &Args,
    is_reported: bool,
) -> Result<Accepted, Failure> {
    let script = script::read(shell, &args.file)?;
    // Report file errors before "no agent found".
    let agent = context::find_agent(&shell.environment)?;
    // Without a link, the script's `register()` fails.
    let status = context::wait_for_link(&agent).await;
    if args.strict {
        let status = status.as_ref().ok_or_else(not_linked)?;
        let names = names_of(Some(status))?;
        let recorded = on_plain_thread(|| script::record(shell, &script, &names))?;
        let checked = recorded.check(&script.source.file, &names)?;
        compatibility::check(agent.api(), status, &checked.methods, args.strict).await?;
    }
    let before = published(&agent, status.as_ref(), is_reported).await;
    let replaces = args.replace_conflicting;
    let registered = on_plain_thread(|| script::register(shell, &script, replaces))?;
    Ok(Accepted {
        registered,
        agent,
        status,
        before,
    })
}

async fn register_toml(shell: &Shell, args: &Args, is_reported: bool) -> Result<Accepted, Failure> {
    let source = Source::read(shell, &args.file)?;
    // Report file errors before "no agent found".
    let agent = context::find_agent(&shell.environment);
    let status = match &agent {
        Ok(agent) => context::wait_for_link(agent).await,
        Err(_) => None,
    };
    let (_, checked) = source.registration(&names_of(status.as_ref())?)?;
    let agent = agent?;
    match &status {
        Some(status) => {
            compatibility::check(agent.api(), status, &checked.methods, args.strict).await?;
        }
        None if args.strict => return Err(not_linked()),
        None => {}
    }
    let body = RegisterFile {
        path: source.path.display().to_string(),
        text: Some(source.text),
        registration: None,
        replace_conflicting: args.replace_conflicting,
    };
    let before = published(&agent, status.as_ref(), is_reported).await;
    let registered = agent.register(&body).await.map_err(script::refused)?;
    Ok(Accepted {
        registered,
        agent,
        status,
        before,
    })
}

/// The methods of the agent's space, if they are needed and can be read.
async fn published(
    agent: &AgentClient,
    status: Option<&Status>,
    is_needed: bool,
) -> Option<Published> {
    let space = status?.space_id.filter(|_| is_needed)?;
    Published::read(agent.api(), space).await
}

/// The names of the agent's space and its owner, or placeholders if they are not known.
fn names_of(status: Option<&Status>) -> Result<Names, Failure> {
    let names =
        status.and_then(|status| Some((status.space.as_deref()?, status.owner.as_deref()?)));
    let (space, owner) = names.unwrap_or((ANY_SPACE, ANY_OWNER));
    Names::parse(space, owner)
}

fn not_linked() -> Failure {
    let what = "the agent is not linked, so nothing can be compared";
    Failure::unreachable(what).hint("svc agent status")
}
