//! Creating and changing a sink.

use std::{collections::BTreeMap, fs, path::Path};

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use svc_client::Resource;
use svc_core::pattern::Pattern;
use svc_protocol::api::{
    JsonRpcConfig, NewSink, PatternsInput, ScriptConfig, Sink, SinkOwner, SinkPatch, SinkType,
    WebhookConfig,
};

use super::{One, fields, find};
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

#[derive(clap::Args, Debug, Default)]
struct Content {
    /// What it is for
    #[arg(long)]
    description: Option<String>,
    /// Where a webhook posts
    #[arg(long)]
    url: Option<String>,
    /// A further header of a webhook's requests, as name:value; may be repeated. On update an
    /// empty value removes it
    #[arg(long = "header", value_name = "NAME:VALUE", value_parser = parse_header)]
    headers: Vec<(String, String)>,
    /// Template of the body, or @file; on update an empty one means the default body
    #[arg(long, value_name = "TEXT|@FILE")]
    body_template: Option<String>,
    /// Source of a script sink, or @file
    #[arg(long, value_name = "TEXT|@FILE")]
    script: Option<String>,
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

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("a header looks like `X-Team: ops`")?;
    http::HeaderName::try_from(name.trim())
        .map_err(|_| format!("`{name}` cannot be the name of a header"))?;
    let value = value.trim();
    http::HeaderValue::try_from(value)
        .map_err(|_| format!("the value of `{name}` cannot stand in a header"))?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

pub async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let makes_secret = args.r#type == Kind::Webhook && !args.secret_stdin;
    let secret = match (args.secret_stdin, args.r#type) {
        (true, Kind::Webhook) => Some(prompt::read_secret()?),
        (true, _) => return Err(Failure::usage("only a webhook has a secret")),
        (false, _) => None,
    };
    let new = new_sink(&shell.environment, args, secret)?;
    let sink = shell.client()?.create::<Sink>(&new).await?;
    if makes_secret {
        eprintln!("keep the secret now: it is not shown again. It verifies what the sink sends");
    }
    records::show(shell, &sink, fields)
}

fn new_sink(
    environment: &Environment,
    args: CreateArgs,
    secret: Option<String>,
) -> Result<NewSink, Failure> {
    let content = args.content;
    content.check_kind(args.r#type.into())?;
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
            new.script = Some(ScriptConfig {
                script_id: None,
                source: read_text(environment, content.script)?,
            });
        }
        Kind::JsonRpc => new.json_rpc = Some(JsonRpcConfig { body_template }),
    }
    Ok(new)
}

impl Content {
    /// Options of another type would be lost without a word.
    fn check_kind(&self, kind: SinkType) -> Result<(), Failure> {
        let webhook = SinkType::Webhook;
        let misplaced = [
            ("--url", self.url.is_some() && kind != webhook),
            ("--header", !self.headers.is_empty() && kind != webhook),
            (
                "--body-template",
                self.body_template.is_some() && kind == SinkType::Script,
            ),
            (
                "--script",
                self.script.is_some() && kind != SinkType::Script,
            ),
        ];
        match misplaced.iter().find(|(_, is_misplaced)| *is_misplaced) {
            Some((option, _)) => Err(Failure::usage(format!(
                "`{option}` is of no use to a {} sink",
                super::type_name(kind)
            ))),
            None => Ok(()),
        }
    }
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let client = shell.client()?;
    let reference = args.which.sink.clone();
    let sink = find(&client, &reference).await?;
    let patch = patch(&shell.environment, args, sink.r#type)?;
    let sink = client.update::<Sink>(sink.id(), &patch).await?;
    records::show(shell, &sink, fields)
}

fn patch(
    environment: &Environment,
    args: UpdateArgs,
    kind: SinkType,
) -> Result<SinkPatch, Failure> {
    let content = args.content;
    content.check_kind(kind)?;
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
    if let Some(source) = read_text(environment, content.script)? {
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

/// The text, or that of the file behind an `@`.
pub fn read_text(
    environment: &Environment,
    given: Option<String>,
) -> Result<Option<String>, Failure> {
    let Some(text) = given else {
        return Ok(None);
    };
    let Some(path) = text.strip_prefix('@') else {
        return Ok(Some(text));
    };
    fs::read_to_string(environment.absolute(Path::new(path)))
        .map(Some)
        .map_err(|error| Failure::usage(format!("cannot read `{path}`")).why(error))
}

#[cfg(test)]
mod tests;
