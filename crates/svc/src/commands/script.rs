//! `svc script`: manages the scripts that the server stores.

mod change;
mod find;
mod trial;

pub use find::{find_id, find_startup};

use clap::{Subcommand, builder::TypedValueParser};
use svc_client::Resource;
use svc_protocol::api::{Script, ScriptKind, ScriptQuery};

use super::{
    Shell,
    choice::choice,
    records::{self, ListArgs, Record},
};
use crate::{
    exit::{Exit, Outcome},
    output::{Fields, Format, fields, json_name, or_dash},
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
        #[arg(long, value_parser = kinds())]
        kind: Option<ScriptKind>,
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
        #[arg(long, value_parser = kinds())]
        kind: Option<ScriptKind>,
    },
    Run(trial::Args),
}

/// Selects a script.
#[derive(clap::Args, Debug)]
pub struct ScriptArg {
    /// Name, global/name or id
    script: String,
    /// Kind of the script, if the name is ambiguous
    #[arg(long, value_parser = kinds())]
    kind: Option<ScriptKind>,
}

fn kinds() -> impl TypedValueParser<Value = ScriptKind> {
    choice::<ScriptKind>(&[
        "startup: Run by a space's agent when it starts",
        "library: Imported by other scripts, under its name",
        "sink: Run on the server for each event of a sink",
        "tool: Run on the server for a caller: defines `main(params)`",
    ])
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List { kind, page } => {
            let query = ScriptQuery {
                kind,
                ..ScriptQuery::default()
            };
            records::list_matching::<Script>(shell, page, &query).await
        }
        Command::Show(one) => show(shell, &one).await,
        Command::Create(args) => change::create(shell, args).await,
        Command::Update(args) => change::update(shell, args).await,
        Command::Delete { scripts, kind } => delete(shell, &scripts, kind).await,
        Command::Run(args) => trial::run(shell, args).await,
    }
}

async fn show(shell: &Shell, one: &ScriptArg) -> Outcome {
    let script = find::find(&shell.client()?, &one.script, one.kind).await?;
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

    fn fields(&self) -> Fields {
        fields! { self as Script, without owner_id:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "kind" kind = json_name(kind),
            "owner" owner = json_name(owner),
            "title" title = or_dash(title.as_ref()),
            "description" description = description.clone(),
            "annotations" annotations = or_dash((!annotations.is_empty()).then_some(annotations)),
            "params schema" params_schema = or_dash(params_schema.as_ref()),
            "source" source = format!("{} bytes", source.len()),
            "created" created_at = created_at.to_string(),
            "updated" updated_at = updated_at.to_string(),
        }
    }
}
