//! `svc template`: manages the templates of spaces.

use std::collections::BTreeMap;

use clap::Subcommand;
use serde_json::{Map, Value, json};
use svc_client::{Client, Resource};
use svc_core::{ScriptId, space::HealthCheck};
use svc_protocol::api::{NewTemplate, Port, ScriptKind, Template, Templates};

use super::{
    Shell, health_check,
    records::{self, ListArgs, NameArgs},
    script,
};
use crate::{
    exit::{Failure, Outcome},
    output::{joined, or_dash},
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
    Get {
        /// Name or id
        name: String,
    },
    /// Create a template
    #[command(before_help = "  svc template create web --port web=3000 --field team=ops")]
    Create {
        /// Name of the template
        name: String,
        #[command(flatten)]
        content: Content,
    },
    /// Change a template; each given option replaces the old value
    #[command(before_help = "  svc template update web --port web=3000 --port api=4000")]
    Update {
        /// Name or id
        template: String,
        /// New name
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        content: Content,
    },
    /// Remove templates
    #[command(before_help = "  svc template rm web")]
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

impl Content {
    fn health_check(&self) -> Result<Option<Option<HealthCheck>>, Failure> {
        self.health_check
            .as_deref()
            .map(health_check::parse)
            .transpose()
    }

    /// `None` if the option was not given, `Some(None)` for `''`.
    async fn find_startup_script(
        &self,
        client: &Client,
    ) -> Result<Option<Option<ScriptId>>, Failure> {
        match self.startup_script.as_deref() {
            None => Ok(None),
            Some("") => Ok(Some(None)),
            Some(script) => script::find_id(client, script, ScriptKind::Startup)
                .await
                .map(|id| Some(Some(id))),
        }
    }

    fn custom_fields(&self) -> BTreeMap<String, String> {
        self.fields.iter().cloned().collect()
    }
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
        Command::List(args) => {
            records::list::<Templates>(shell, &args, &["NAME", "PORTS", "ID"], |template| {
                vec![
                    template.name.clone(),
                    ports(template),
                    template.id.to_string(),
                ]
            })
            .await
        }
        Command::Get { name } => {
            let template = records::find::<Template>(shell, &name).await?;
            records::show(shell, &template, fields)
        }
        Command::Create { name, content } => {
            let client = shell.client()?;
            let new = NewTemplate {
                name,
                health_check: content.health_check()?.flatten(),
                custom_fields: content.custom_fields(),
                startup_script_id: content.find_startup_script(&client).await?.flatten(),
                ports: content.ports,
            };
            let template = client.create::<Template>(&new).await?;
            records::show(shell, &template, fields)
        }
        Command::Update {
            template,
            name,
            content,
        } => {
            let client = shell.client()?;
            let script = content.find_startup_script(&client).await?;
            let patch = patch(name, &content, script)?;
            let template = records::find::<Template>(shell, &template).await?;
            let template = client.update::<Template>(template.id(), &patch).await?;
            records::show(shell, &template, fields)
        }
        Command::Rm(which) => records::remove::<Template>(shell, &which).await,
    }
}

/// A merge patch of the given options.
fn patch(
    name: Option<String>,
    content: &Content,
    startup_script: Option<Option<ScriptId>>,
) -> Result<Value, Failure> {
    let mut patch = Map::new();
    if let Some(name) = name {
        patch.insert("name".into(), name.into());
    }
    if !content.ports.is_empty() {
        patch.insert("ports".into(), json!(content.ports));
    }
    if let Some(health_check) = content.health_check()? {
        patch.insert("health_check".into(), json!(health_check));
    }
    if !content.fields.is_empty() {
        patch.insert("custom_fields".into(), json!(content.custom_fields()));
    }
    if let Some(script) = startup_script {
        patch.insert("startup_script_id".into(), json!(script));
    }
    Ok(Value::Object(patch))
}

fn ports(template: &Template) -> String {
    joined(
        template
            .ports
            .iter()
            .map(|port| format!("{}={}", port.name, port.port)),
    )
}

fn fields(template: &Template) -> Vec<(&'static str, String)> {
    let health_check = template
        .health_check
        .as_ref()
        .map_or_else(|| "-".to_owned(), |check| json!(check).to_string());
    vec![
        ("name", template.name.clone()),
        ("id", template.id.to_string()),
        ("ports", ports(template)),
        ("health check", health_check),
        ("startup script", or_dash(template.startup_script_id)),
        (
            "custom fields",
            joined(
                template
                    .custom_fields
                    .iter()
                    .map(|(name, value)| format!("{name}={value}")),
            ),
        ),
        ("created", template.created_at.to_string()),
    ]
}
