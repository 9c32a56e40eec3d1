//! Creating and changing a sink.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use svc_client::Resource;
use svc_core::{ScriptId, pattern::Pattern};
use svc_protocol::api::{
    JsonRpcConfig, NewSink, PatternsInput, ScriptConfig, Sink, SinkOwner, SinkPatch, SinkType,
    WebhookConfig,
};

use super::{
    One,
    content::{Content, read_text},
    fields, find,
};
use crate::{
    commands::{Shell, records},
    environment::Environment,
    exit::{Failure, Outcome},
    prompt,
};

/// Create a sink; a webhook's signing secret is shown once
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook\n  \
                   svc sink create all --global --patterns '*' --url https://example.com/audit --header 'X-Team: ops'\n  \
                   svc sink create alarm --type script --patterns 'space.unhealthy' --script-file alarm.py\n  \
                   svc sink create short --type json-rpc --patterns 'space.*' --body-template @short.json"
)]
pub struct CreateArgs {
    /// Its name, unique among yours
    name: String,
    /// What it does with an event
    #[arg(long, value_enum, default_value_t = Kind::Webhook)]
    r#type: Kind,
    /// Types of events it takes: exact, or with a `*` at the end; separated by commas
    #[arg(long, visible_alias = "pattern", value_parser = parse_patterns)]
    patterns: String,
    /// Take everyone's events, not only those of your spaces
    #[arg(long)]
    global: bool,
    /// Take a webhook's secret (whsec_…) from stdin instead of making one
    #[arg(long)]
    secret_stdin: bool,
    /// Begin switched off
    #[arg(long)]
    inactive: bool,
    #[command(flatten)]
    content: Content,
}

/// Change a sink; it applies to what is queued too
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink update builds --url https://example.com/new\n  \
                   svc sink update builds --patterns 'custom.build.*, custom.deploy.*' --header 'X-Old:'"
)]
pub struct UpdateArgs {
    #[command(flatten)]
    which: One,
    /// Its new name
    #[arg(long)]
    name: Option<String>,
    /// Types of events it takes: exact, or with a `*` at the end; separated by commas
    #[arg(long, visible_alias = "pattern", value_parser = parse_patterns)]
    patterns: Option<String>,
    #[command(flatten)]
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    /// Posts it to a URL
    Webhook,
    /// Runs a script on the server
    Script,
    /// Formats it for methods that name the sink in `event_sinks`
    JsonRpc,
}

impl From<Kind> for SinkType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Webhook => Self::Webhook,
            Kind::Script => Self::Script,
            Kind::JsonRpc => Self::JsonRpc,
        }
    }
}

/// Checked here for the position of a fault; the text goes out as it was written.
fn parse_patterns(text: &str) -> Result<String, String> {
    match Pattern::parse_list(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let makes_secret = args.r#type == Kind::Webhook && !args.secret_stdin;
    let secret = match (args.secret_stdin, args.r#type) {
        (true, Kind::Webhook) => Some(prompt::read_secret()?),
        (true, _) => return Err(Failure::usage("only a webhook has a secret")),
        (false, _) => None,
    };
    let client = shell.client()?;
    let script = args
        .content
        .find_script(&client, args.r#type.into())
        .await?;
    let new = new_sink(&shell.environment, args, secret, script)?;
    let sink = client.create::<Sink>(&new).await?;
    if makes_secret {
        eprintln!("keep the secret now: it is not shown again. It verifies what the sink sends");
    }
    records::show(shell, &sink, fields)
}

fn new_sink(
    environment: &Environment,
    args: CreateArgs,
    secret: Option<String>,
    script: Option<ScriptId>,
) -> Result<NewSink, Failure> {
    let content = args.content;
    content.check_kind(args.r#type.into())?;
    let source = content.script_source(environment)?;
    let body_template = read_text(environment, content.body_template)?;
    let mut new = NewSink {
        name: args.name,
        description: content.description.unwrap_or_default(),
        patterns: PatternsInput::Text(args.patterns),
        r#type: args.r#type.into(),
        owner: if args.global {
            SinkOwner::Global
        } else {
            SinkOwner::User
        },
        active: !args.inactive,
        webhook: None,
        script: None,
        json_rpc: None,
    };
    match args.r#type {
        Kind::Webhook => {
            let url = content
                .url
                .ok_or_else(|| Failure::usage("a webhook needs `--url`"))?;
            new.webhook = Some(WebhookConfig {
                url,
                headers: content.headers.into_iter().collect::<BTreeMap<_, _>>(),
                body_template,
                secret,
            });
        }
        Kind::Script => {
            if script.is_none() && source.is_none() {
                return Err(Failure::usage(
                    "a script sink needs `--script` or `--script-file`",
                ));
            }
            new.script = Some(ScriptConfig {
                script_id: script,
                source,
            });
        }
        Kind::JsonRpc => new.json_rpc = Some(JsonRpcConfig { body_template }),
    }
    Ok(new)
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let client = shell.client()?;
    let reference = args.which.sink.clone();
    let sink = find(&client, &reference).await?;
    let script = args.content.find_script(&client, sink.r#type).await?;
    let patch = patch(&shell.environment, args, sink.r#type, script)?;
    let sink = client.update::<Sink>(sink.id(), &patch).await?;
    records::show(shell, &sink, fields)
}

fn patch(
    environment: &Environment,
    args: UpdateArgs,
    kind: SinkType,
    script: Option<ScriptId>,
) -> Result<SinkPatch, Failure> {
    let content = args.content;
    content.check_kind(kind)?;
    let source = content.script_source(environment)?;
    let mut config = Map::new();
    if let Some(url) = content.url {
        config.insert("url".into(), url.into());
    }
    if !content.headers.is_empty() {
        let headers: Map<String, Value> = content
            .headers
            .into_iter()
            .map(|(name, value)| (name, absent_if_empty(value)))
            .collect();
        config.insert("headers".into(), headers.into());
    }
    if let Some(template) = read_text(environment, content.body_template)? {
        config.insert("body_template".into(), absent_if_empty(template));
    }
    // A script sink has one or the other.
    if let Some(id) = script {
        config.insert("script_id".into(), json!(id));
        config.insert("source".into(), Value::Null);
    } else if let Some(source) = source {
        config.insert("script_id".into(), Value::Null);
        config.insert("source".into(), json!(source));
    }
    let config = (!config.is_empty()).then_some(Value::Object(config));
    let of = |wanted: SinkType| config.clone().filter(|_| wanted == kind);
    let patch = SinkPatch {
        name: args.name,
        description: content.description,
        patterns: args.patterns.map(PatternsInput::Text),
        active: None,
        webhook: of(SinkType::Webhook),
        script: of(SinkType::Script),
        json_rpc: of(SinkType::JsonRpc),
    };
    let is_empty = config.is_none()
        && patch.name.is_none()
        && patch.description.is_none()
        && patch.patterns.is_none();
    if is_empty {
        return Err(Failure::usage("nothing to change was given").hint("svc sink update --help"));
    }
    Ok(patch)
}

/// In a merge patch `null` removes.
fn absent_if_empty(text: String) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        Value::String(text)
    }
}

#[cfg(test)]
mod tests;
