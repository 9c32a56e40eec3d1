//! `svc template`: manages the templates of spaces.

use std::collections::BTreeMap;

use clap::Subcommand;
use serde_json::json;
use svc_core::ScriptId;
use svc_protocol::api::{Port, Template, TemplatePatch};

use super::{
    Shell, health_check,
    records::{self, ListArgs, NameArg, NameArgs, Record},
    script,
};
use crate::{
    exit::{Failure, Outcome},
    output::{Fields, fields, joined_pairs, or_dash},
};

/// Manage templates: settings that several spaces share
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc template create web --port web=3000 --health-check tcp:3000")]
pub enum Command {
    /// List the templates
    #[command(before_help = "  svc template list")]
    List(ListArgs),
    /// Show a template
    #[command(before_help = "  svc template get web -o yaml")]
    Get(NameArg),
    /// Create a template
    #[command(before_help = "  svc template create web --port web=3000 --field team=ops")]
    Create {
        /// Name of the template
        name: String,
        #[command(flatten)]
        content: Content,
    },
    /// Change a template; --port replaces all ports, --field changes only the named fields
    #[command(before_help = "  svc template update web --port web=3000 --port api=4000")]
    Update {
        /// Name or id
        template: String,
        /// New name
        #[arg(long)]
        name: Option<String>,
        /// Custom field to remove; may be repeated
        #[arg(long = "remove-field", value_name = "NAME")]
        remove_fields: Vec<String>,
        #[command(flatten)]
        content: Content,
    },
    /// Remove templates
    #[command(visible_alias = "delete", before_help = "  svc template rm web")]
    Rm(NameArgs),
}

#[derive(clap::Args, Debug)]
pub struct Content {
    /// Port of the template's spaces, as name=number; may be repeated
    #[arg(long = "port", value_name = "NAME=PORT", value_parser = parse_port)]
    ports: Vec<Port>,
    /// How agents check their spaces: none, tcp:PORT, http://ADDRESS, command:COMMAND, or JSON
    #[arg(long, value_name = "CHECK")]
    health_check: Option<String>,
    /// Custom field and its default, as name=value; may be repeated
    #[arg(long = "field", value_name = "NAME=VALUE", value_parser = parse_field)]
    fields: Vec<(String, String)>,
    /// Global script of kind `startup` that the agents of the template's spaces run when they
    /// start, by name or id; on update '' for none
    #[arg(long, value_name = "SCRIPT")]
    startup_script: Option<String>,
}

fn parse_port(text: &str) -> Result<Port, String> {
    let (name, port) = text.split_once('=').ok_or("a port looks like `web=3000`")?;
    let port = port
        .parse()
        .map_err(|_| format!("`{port}` is not a port number"))?;
    Ok(Port {
        name: name.to_owned(),
        port,
    })
}

fn parse_field(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "a field looks like `team=ops`".to_owned())
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Template>(shell, args).await,
        Command::Get(which) => records::get::<Template>(shell, &which.name).await,
        Command::Create { name, content } => {
            let script = script::find_startup(shell, content.startup_script.as_deref()).await?;
            let new = patch(Some(name), content, Vec::new(), script)?;
            records::create::<Template>(shell, json!({}), &new).await
        }
        Command::Update {
            template,
            name,
            remove_fields,
            content,
        } => {
            let script = script::find_startup(shell, content.startup_script.as_deref()).await?;
            let patch = patch(name, content, remove_fields, script)?;
            records::update::<Template>(shell, &template, &patch).await
        }
        Command::Rm(which) => records::remove::<Template>(shell, &which).await,
    }
}

/// A merge patch of the given options.
fn patch(
    name: Option<String>,
    content: Content,
    remove_fields: Vec<String>,
    startup_script_id: Option<Option<ScriptId>>,
) -> Result<TemplatePatch, Failure> {
    let removed = remove_fields.into_iter().map(|name| (name, None));
    let set = content.fields.into_iter();
    let set = set.map(|(name, value)| (name, Some(value)));
    let fields: BTreeMap<_, _> = removed.chain(set).collect();
    let health_check = content.health_check.as_deref();
    Ok(TemplatePatch {
        name,
        ports: (!content.ports.is_empty()).then_some(Some(content.ports)),
        startup_script_id,
        health_check: health_check.map(health_check::parse).transpose()?,
        custom_fields: (!fields.is_empty()).then_some(Some(fields)),
    })
}

impl Record for Template {
    const HEAD: &'static [&'static str] = &["NAME", "PORTS", "ID"];

    fn fields(&self) -> Fields {
        fields! { self as Template:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "ports" ports = joined_pairs(ports.iter().map(|port| (&port.name, port.port))),
            "health check" health_check = or_dash(health_check.as_ref().map(|check| json!(check))),
            "startup script" startup_script_id = or_dash(*startup_script_id),
            "custom fields" custom_fields = joined_pairs(custom_fields),
            "created" created_at = created_at.to_string(),
        }
    }
}
