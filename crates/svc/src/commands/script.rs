//! `svc script`: manages the scripts that the server stores.

mod change;
mod find;
mod trial;

pub use find::{find_id, find_startup};

use clap::{Subcommand, ValueEnum};
use svc_client::Resource;
use svc_protocol::api::{Script, ScriptKind, ScriptQuery};

use super::{
    Shell,
    records::{self, ListArgs, Record},
};
use crate::{
    exit::{Exit, Outcome},
    output::{Fields, Format, json_name, or_dash},
};

/// Manage stored scripts: startup scripts, event sinks, tools and libraries
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc script create words --kind library --file words.py\n  \
                   svc script create summary --kind tool --file summary.py --params-schema @params.json\n  \
                   svc script run summary '{\"days\": 7}'"
)]
pub enum Command {
    /// List your scripts and the global ones
    #[command(before_help = "  svc script list\n  svc script list --kind library -o json")]
    List {
        /// Only scripts of this kind
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        #[command(flatten)]
        page: ListArgs,
    },
    /// Show a script's source, or the whole record with -o json
    #[command(
        visible_alias = "get",
        before_help = "  svc script show words > words.py\n  svc script show global/words --kind library -o json"
    )]
    Show(ScriptArg),
    Create(change::CreateArgs),
    Update(change::UpdateArgs),
    /// Delete scripts; a script in use is not deleted
    #[command(visible_alias = "rm", before_help = "  svc script delete words")]
    Delete {
        /// Names, global/names or ids
        #[arg(required = true, value_name = "SCRIPT")]
        scripts: Vec<String>,
        /// Kind of the scripts, if a name is ambiguous
        #[arg(long, value_enum)]
        kind: Option<Kind>,
    },
    Run(trial::Args),
}

/// Selects a script.
#[derive(clap::Args, Debug)]
pub struct ScriptArg {
    /// Name, global/name or id
    script: String,
    /// Kind of the script, if the name is ambiguous
    #[arg(long, value_enum)]
    kind: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Kind {
    /// Run by a space's agent when it starts
    Startup,
    /// Imported by other scripts, under its name
    Library,
    /// Run on the server for each event of a sink
    Sink,
    /// Run on the server for a caller: defines `main(params)`
    Tool,
}

impl From<Kind> for ScriptKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Startup => Self::Startup,
            Kind::Library => Self::Library,
            Kind::Sink => Self::Sink,
            Kind::Tool => Self::Tool,
        }
    }
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List { kind, page } => {
            let query = ScriptQuery {
                kind: kind.map(Into::into),
                ..ScriptQuery::default()
            };
            records::list_matching::<Script>(shell, page, &query).await
        }
        Command::Show(one) => show(shell, &one).await,
        Command::Create(args) => change::create(shell, args).await,
        Command::Update(args) => change::update(shell, args).await,
        Command::Delete { scripts, kind } => delete(shell, &scripts, kind.map(Into::into)).await,
        Command::Run(args) => trial::run(shell, args).await,
    }
}

async fn show(shell: &Shell, one: &ScriptArg) -> Outcome {
    let kind = one.kind.map(Into::into);
    let script = find::find(&shell.client()?, &one.script, kind).await?;
    if shell.output.format == Format::Table {
        shell.output.text(&script.source)?;
        return Ok(Exit::Ok);
    }
    records::show(shell, &script)
}

async fn delete(shell: &Shell, references: &[String], kind: Option<ScriptKind>) -> Outcome {
    let client = shell.client()?;
    for reference in references {
        let script = find::find(&client, reference, kind).await?;
        client.delete::<Script>(script.id()).await?;
        let kind = json_name(script.kind);
        eprintln!("removed {kind} script `{}`", script.name);
    }
    Ok(Exit::Ok)
}

impl Record for Script {
    const HEAD: &'static [&'static str] = &["NAME", "KIND", "OWNER", "UPDATED", "DESCRIPTION"];

    fn row(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            json_name(self.kind),
            json_name(self.owner),
            self.updated_at.to_string(),
            self.description.clone(),
        ]
    }

    fn fields(&self) -> Fields {
        vec![
            ("name", self.name.clone()),
            ("id", self.id.to_string()),
            ("kind", json_name(self.kind)),
            ("owner", json_name(self.owner)),
            ("title", or_dash(self.title.as_ref())),
            ("description", self.description.clone()),
            (
                "annotations",
                or_dash((!self.annotations.is_empty()).then_some(self.annotations)),
            ),
            ("params schema", or_dash(self.params_schema.as_ref())),
            ("source", format!("{} bytes", self.source.len())),
            ("created", self.created_at.to_string()),
            ("updated", self.updated_at.to_string()),
        ]
    }
}
