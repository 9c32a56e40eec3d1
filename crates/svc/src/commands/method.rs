//! `svc method`: lists and calls methods, for callers.

mod call;
mod call_request;
mod call_response;

use clap::Subcommand;
use serde_json::Value;
use svc_core::{delivery_policy::Overflow, journal::JournalLevel};
use svc_protocol::{
    api::{Method, MethodQuery, Methods},
    document::{self, ReadError},
};

use super::{Shell, records::ListArgs};
use crate::{
    context,
    exit::{Exit, Failure, Outcome},
    output::{Fields, Format, Table, joined, or_dash, yes_no},
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
    let unreadable =
        |error: ReadError| Failure::failed("the list of methods cannot be read").why(error);
    let document: Methods = document::read_json(&bytes).map_err(unreadable)?;
    if let (Some(name), 0) = (&name, document.count) {
        return Err(Failure::new(
            Exit::NotFound,
            format!("method `{name}` does not exist, or you may not see it"),
        )
        .hint("svc method list"));
    }
    match shell.output.format {
        // The unchanged document of the API.
        Format::Json => shell.output.raw(&bytes)?,
        Format::Yaml => {
            let value: Value = document::read_json(&bytes).map_err(unreadable)?;
            shell.output.data(&value)?;
        }
        Format::Table if name.is_some() => {
            for method in &document.methods {
                shell.output.table(&Table::record(fields(method)))?;
                print_schema(shell, "params_schema", method.params_schema.as_ref())?;
                print_schema(shell, "result_schema", method.result_schema.as_ref())?;
            }
        }
        Format::Table => return shell.output.table(&table(&document)),
    }
    Ok(Exit::Ok)
}

fn table(document: &Methods) -> Table {
    let head = ["NAME", "SCOPE", "OWNER", "PROVIDERS", "DESCRIPTION"];
    let empty = "no methods yet; a space publishes some with: svc methods register <file>";
    Table::list(&head, empty, &document.methods, |method| {
        vec![
            method.name.clone(),
            method.scope.clone(),
            method.owner.to_string(),
            method.provider_count.to_string(),
            method.description.clone(),
        ]
    })
}

fn fields(method: &Method) -> Fields {
    let mut fields = vec![("name", method.name.clone())];
    fields.extend(method.title.clone().map(|title| ("title", title)));
    fields.extend([
        ("description", method.description.clone()),
        ("keywords", joined(&method.keywords)),
        ("owner", method.owner.to_string()),
        ("scope", method.scope.clone()),
        ("provider_count", method.provider_count.to_string()),
        ("mcp_tool", yes_no(method.mcp_tool)),
    ]);
    if let Some(tool) = &method.mcp_tool_name {
        fields.push(("mcp_tool_name", tool.clone()));
    }
    if !method.annotations.is_empty() {
        fields.push(("annotations", method.annotations.to_string()));
    }
    fields.push(("journal", journal(method)));
    // Only the owner gets these fields.
    if method.local_name.is_some() {
        let providers = method.providers.iter().map(|provider| {
            format!(
                "{} ({}, {} in flight)",
                provider.space, provider.state, provider.in_flight
            )
        });
        fields.extend([
            ("local_name", or_dash(method.local_name.as_ref())),
            ("groups", groups(method)),
            ("events", joined(&method.events)),
            ("event_sinks", joined(&method.event_sinks)),
        ]);
        if method.event_overflow == Overflow::Hold {
            fields.push(("event_overflow", "hold".to_owned()));
        }
        fields.push(("providers", joined(providers)));
    }
    fields
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
