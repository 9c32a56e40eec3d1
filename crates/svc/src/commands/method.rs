//! `svc method`: lists and calls methods, for callers.

mod call;
mod call_request;
mod call_response;

use clap::Subcommand;
use serde_json::Value;
use svc_core::{delivery_policy::Overflow, journal::JournalLevel};
use svc_protocol::{
    api::{Method, MethodQuery, Methods},
    document,
};

use super::{Shell, records::ListArgs};
use crate::{
    context,
    exit::{Exit, Failure, OrFail, Outcome},
    output::{Column, Fields, Format, Table, joined, or_dash, present, yes_no},
};

/// Find methods and call them
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc method list\n  svc method call notes.add '{\"text\":\"hello\"}'")]
pub enum Command {
    /// List the methods you can call, or show one
    #[command(
        before_help = "  svc method list\n  svc method list notes.add\n  svc method list --search notes -o json\n  svc method list --limit 100"
    )]
    List {
        /// Show this method with its schemas, owner, scope and providers
        name: Option<String>,
        /// Only methods with this text in name, description or keywords
        #[arg(long, short = 'q', value_name = "TEXT")]
        search: Option<String>,
        #[command(flatten)]
        page: ListArgs,
    },
    Call(call::Args),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List { name, search, page } => list(shell, name, search, page).await,
        Command::Call(args) => call::run(shell, args).await,
    }
}

async fn list(
    shell: &Shell,
    name: Option<String>,
    search: Option<String>,
    page: ListArgs,
) -> Outcome {
    let connection = context::for_calls(shell.globals.context.as_deref(), &shell.environment)?;
    let query = MethodQuery {
        name: name.clone(),
        q: search,
        limit: page.limit,
        cursor: page.cursor,
        ..MethodQuery::default()
    };
    let bytes = connection.client.methods_raw(&query).await?;
    let unreadable = "the list of methods cannot be read";
    let document: Methods = document::read_json(&bytes).or_fail(unreadable)?;
    if let (Some(name), 0) = (&name, document.count) {
        let what = format!("method `{name}` does not exist, or you may not see it");
        return Err(Failure::not_found(what).hint("svc method list"));
    }
    match shell.output.format {
        // The unchanged document of the API.
        Format::Json => shell.output.raw(&bytes)?,
        Format::Yaml => {
            let value: Value = document::read_json(&bytes).or_fail(unreadable)?;
            shell.output.data(&value)?;
        }
        Format::Table if name.is_some() => {
            for method in &document.methods {
                shell.output.table(&Table::record(fields(method)))?;
                print_schema(shell, "params_schema", method.params_schema.as_ref())?;
                print_schema(shell, "result_schema", method.result_schema.as_ref())?;
            }
        }
        Format::Table => {
            let empty = "no methods yet; a space publishes some with: svc methods register <file>";
            let table = Table::of(&COLUMNS, empty, &document.methods);
            shell.output.table(&table)?;
        }
    }
    Ok(Exit::Ok)
}

const COLUMNS: [Column<Method>; 5] = [
    ("NAME", |method| method.name.clone()),
    ("SCOPE", |method| method.scope.clone()),
    ("OWNER", |method| method.owner.to_string()),
    ("PROVIDERS", |method| method.provider_count.to_string()),
    ("DESCRIPTION", |method| method.description.clone()),
];

fn fields(method: &Method) -> Fields {
    let annotations = Some(&method.annotations).filter(|annotations| !annotations.is_empty());
    let is_held = method.event_overflow == Overflow::Hold;
    // Only the owner gets the fields from `local_name` on.
    let own = |text: String| method.local_name.as_ref().map(|_| text);
    present([
        ("name", Some(method.name.clone())),
        ("title", method.title.clone()),
        ("description", Some(method.description.clone())),
        ("keywords", Some(joined(&method.keywords))),
        ("owner", Some(method.owner.to_string())),
        ("scope", Some(method.scope.clone())),
        ("provider_count", Some(method.provider_count.to_string())),
        ("mcp_tool", Some(yes_no(method.mcp_tool))),
        ("mcp_tool_name", method.mcp_tool_name.clone()),
        ("annotations", annotations.map(ToString::to_string)),
        ("journal", Some(journal(method))),
        ("local_name", method.local_name.clone()),
        ("groups", own(groups(method))),
        ("events", own(joined(&method.events))),
        ("event_sinks", own(joined(&method.event_sinks))),
        ("event_overflow", own("hold".to_owned()).filter(|_| is_held)),
        ("providers", own(providers(method))),
    ])
}

fn providers(method: &Method) -> String {
    let providers = method.providers.iter();
    joined(
        providers.map(|one| format!("{} ({}, {} in flight)", one.space, one.state, one.in_flight)),
    )
}

/// What is recorded of the method's calls.
fn journal(method: &Method) -> String {
    let level = method.journal;
    let mut text = match level {
        JournalLevel::None => format!("{level} (calls are not recorded)"),
        JournalLevel::Outcome => level.to_string(),
        JournalLevel::Payloads => format!("{level} (params, results and errors are recorded)"),
    };
    if !method.journal_redact.is_empty() {
        text += &format!(" without {}", joined(&method.journal_redact));
    }
    text
}

fn groups(method: &Method) -> String {
    let deleted = match method.deleted_groups {
        0 => None,
        1 => Some("1 deleted group".to_owned()),
        n => Some(format!("{n} deleted groups")),
    };
    joined(method.groups.iter().chain(&deleted))
}

fn print_schema(shell: &Shell, name: &str, schema: Option<&Value>) -> Result<(), Failure> {
    let schema = or_dash(schema.map(|schema| format!("{schema:#}")));
    shell.output.line(format!("{name}: {schema}"))
}
