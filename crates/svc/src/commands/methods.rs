//! `svc methods`: registers methods from inside a space, for publishers.

mod compatibility;
mod register;
mod report;
mod script;
mod validate;

pub use script::is_script;

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use clap::Subcommand;
use svc_client::AgentClient;
use svc_core::{
    SpaceName, UserName,
    registration::{CheckedRegistration, Registration, file_schema},
};
use svc_protocol::{
    agent_api::Status,
    registration_file::{FILE_BYTES_MAX, FileError, read_file},
};

use super::{
    Shell,
    space::{LogArgs, print_logs},
};
use crate::{
    context,
    exit::{Failure, Outcome},
    output::Column,
    prompt,
};

/// Printed if a script unregisters all methods that it registered.
const ALL_UNREGISTERED: &str = "nothing is registered: the script unregistered all its methods";
/// Placeholder names. A registration is checked with them if the space and its owner are not known.
const ANY_SPACE: &str = "space";
const ANY_OWNER: &str = "owner";

/// Publish methods from a space
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc methods validate methods.toml\n  svc methods register methods.toml\n  svc methods logs -f"
)]
pub enum Command {
    Register(register::Args),
    /// Remove the space's methods and stop its method server
    #[command(before_help = "  svc methods unregister\n  svc methods unregister search")]
    Unregister {
        /// Only the methods with this local name
        local_name: Option<String>,
    },
    /// Check a registration file without an agent or a server; -o json prints it with all defaults
    #[command(
        before_help = "  svc methods validate methods.toml --space lab\n  svc methods validate methods.py -o json"
    )]
    Validate {
        /// Registration file in TOML, or a script (.py), which is run; `-` reads TOML from stdin
        file: PathBuf,
        /// Space name that `{{space}}` expands to
        #[arg(long, default_value = ANY_SPACE)]
        space: String,
        /// Owner name, which counts toward the length of tool names
        #[arg(long, default_value = ANY_OWNER)]
        owner: String,
    },
    /// Print the JSON Schema of the registration file, for editors
    #[command(before_help = "  svc methods schema > methods.schema.json\n\n\
                       and as the first line of methods.toml: #:schema ./methods.schema.json")]
    Schema,
    /// Show the log of the method server and the agent
    #[command(before_help = "  svc methods logs -f")]
    Logs(LogArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::Register(args) => register::run(shell, &args).await,
        Command::Unregister { local_name } => unregister(shell, local_name.as_deref()).await,
        Command::Validate { file, space, owner } => validate::run(shell, &file, &space, &owner),
        Command::Schema => shell.output.data(&file_schema()),
        Command::Logs(args) => {
            let agent = context::find_agent(&shell.environment)?;
            let Status { space_id, .. } = agent.status().await?;
            let space_id = space_id.ok_or_else(|| {
                Failure::unreachable("the agent has not been linked yet").hint("svc agent status")
            })?;
            // If the agent cannot do it, the newest lines may be missing.
            let _ = agent.flush_log().await;
            print_logs(shell, agent.api(), space_id, &args).await
        }
    }
}

/// A registration file's text, its absolute path, and its name as the user gave it.
struct Source {
    name: String,
    path: PathBuf,
    text: String,
}

impl Source {
    fn read(shell: &Shell, file: &Path) -> Result<Self, Failure> {
        if file == Path::new("-") {
            return Ok(Self {
                name: "<stdin>".to_owned(),
                // The folder of this path is the base of relative commands.
                path: shell.environment.absolute(Path::new("stdin.toml")),
                text: prompt::read_stdin()?,
            });
        }
        let name = file.display().to_string();
        let unreadable =
            |why: &dyn Display| Failure::refused(format!("cannot read `{name}`")).why(why);
        let found = std::fs::metadata(file).map_err(|error| unreadable(&error))?;
        let size = found.len();
        if size > FILE_BYTES_MAX as u64 {
            let why = format!("it has {size} bytes; at most {FILE_BYTES_MAX} are allowed");
            return Err(unreadable(&why));
        }
        let text = std::fs::read_to_string(file).map_err(|error| unreadable(&error))?;
        Ok(Self {
            path: shell.environment.absolute(file),
            name,
            text,
        })
    }

    /// Reads the registration as written, and as checked.
    fn registration(&self, names: &Names) -> Result<(Registration, CheckedRegistration), Failure> {
        read_file(&self.name, &self.text, &names.space, &names.owner)
            .map_err(|error| report_file_errors(&self.name, &error))
    }
}

/// Prints every error with its position, and the warnings. The returned failure does not list them:
/// a failure has at most three lines.
fn report_file_errors(name: &str, error: &FileError) -> Failure {
    eprintln!("{error}");
    warn(&error.warnings);
    let count = error.faults.len();
    let errors = if count == 1 { "error" } else { "errors" };
    Failure::refused(format!("`{name}` has {count} {errors}"))
}

/// The space and the owner of a registration.
struct Names {
    space: SpaceName,
    owner: UserName,
}

impl Names {
    fn parse(space: &str, owner: &str) -> Result<Self, Failure> {
        Ok(Self {
            space: SpaceName::parse(space).map_err(|error| Failure::usage(error.to_string()))?,
            owner: UserName::parse(owner).map_err(|error| Failure::usage(error.to_string()))?,
        })
    }
}

/// Checks a file for a space without running it. Returns the absolute path.
pub fn check_file(
    shell: &Shell,
    file: &Path,
    space: &str,
    owner: &str,
) -> Result<PathBuf, Failure> {
    if is_script(file) {
        return script::read(shell, file).map(|script| script.path);
    }
    let source = Source::read(shell, file)?;
    source.registration(&Names::parse(space, owner)?)?;
    Ok(source.path)
}

async fn unregister(shell: &Shell, local_name: Option<&str>) -> Outcome {
    let agent: AgentClient = context::find_agent(&shell.environment)?;
    let unregistered = agent.unregister(local_name).await?;
    let columns: [Column<String>; 1] = [("REMOVED", String::clone)];
    let (empty, removed) = ("nothing was registered", &unregistered.removed);
    shell.output.list(&unregistered, empty, removed, &columns)
}

pub fn warn(warnings: &[String]) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}
