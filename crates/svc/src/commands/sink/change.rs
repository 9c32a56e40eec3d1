//! `svc sink create` and `svc sink update`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use svc_client::Resource;
use svc_core::{ScriptId, pattern::Pattern};
use svc_protocol::api::{
    JsonRpcConfig, NewSink, PatternsInput, ScriptConfig, Sink, SinkOwner, SinkPatch, SinkType,
    WebhookConfig, WebhookFormat,
};

use super::{
    SinkArg,
    content::{Content, read_file, read_text},
    policy,
};
use crate::{
    commands::{Shell, records},
    environment::Environment,
    exit::{Failure, Outcome},
    prompt,
};

const KEEP_SECRET: &str =
    "keep the secret now: it is not shown again. Receivers verify signatures with it";

/// Create a sink; a webhook's signing secret is shown once
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook\n  \
                   svc sink create all --global --patterns '*' --url https://example.com/audit --header 'X-Team: ops'\n  \
                   svc sink create alarm --type script --patterns 'space.unhealthy' --script-file alarm.py\n  \
                   svc sink create short --type json-rpc --patterns 'space.*' --body-template @short.json"
)]
pub struct CreateArgs {
    /// Name, unique among your sinks
    name: String,
    /// How the sink handles an event
    #[arg(long, value_enum, default_value_t = Kind::Webhook)]
    r#type: Kind,
    /// Types of events to deliver: exact, or with a `*` at the end; separated by commas
    #[arg(long, visible_alias = "pattern", value_parser = parse_patterns)]
    patterns: String,
    /// Deliver the events of all users, not only your own
    #[arg(long)]
    global: bool,
    /// Read a webhook's secret (whsec_…) from stdin instead of creating one
    #[arg(long)]
    secret_stdin: bool,
    /// Create the sink disabled
    #[arg(long)]
    inactive: bool,
    #[command(flatten)]
    content: Content,
}

/// Change a sink; queued events are affected too
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink update builds --url https://example.com/new\n  \
                   svc sink update builds --url https://other.example.com/hook --header 'X-Team: ops'\n  \
                   svc sink update builds --patterns 'custom.build.*, custom.deploy.*' --header 'X-Old:'"
)]
pub struct UpdateArgs {
    #[command(flatten)]
    which: SinkArg,
    /// New name
    #[arg(long)]
    name: Option<String>,
    /// Types of events to deliver: exact, or with a `*` at the end; separated by commas
    #[arg(long, visible_alias = "pattern", value_parser = parse_patterns)]
    patterns: Option<String>,
    /// Read the signing secret (whsec_…) for the new host of `--url` from stdin; without it, the
    /// server makes a new one
    #[arg(long)]
    secret_stdin: bool,
    #[command(flatten)]
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    /// Post the event to a URL
    Webhook,
    /// Run a script on the server
    Script,
    /// Format the event for methods that name the sink in `event_sinks`
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

/// Checks the patterns here, to report the position of an error. The text is sent unchanged.
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
    let sink: Sink = client.create(&new).await?;
    if makes_secret {
        eprintln!("{KEEP_SECRET}");
    }
    records::show(shell, &sink)
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
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let ca = given(read_file(environment, content.receiver_ca)?);
    let client_certificate = given(read_file(environment, content.client_cert)?);
    let client_key = given(read_file(environment, content.client_key)?);
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
        delivery: policy::to_policy(content.delivery)?,
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
                format: content.format.map(Into::into).unwrap_or_default(),
                ca,
                client_certificate,
                client_key,
                http2: content.http2.unwrap_or_default(),
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
    let sink: Sink = records::find(&client, &args.which.sink).await?;
    let script = args.content.find_script(&client, sink.r#type).await?;
    let gives_secret = args.secret_stdin;
    let secret = match gives_secret {
        true => Some(prompt::read_secret()?),
        false => None,
    };
    let patch = patch(&shell.environment, args, (sink.r#type, script), secret)?;
    let sink: Sink = client.update(sink.id(), &patch).await?;
    let shown = sink.webhook.as_ref().and_then(|part| part.secret.as_ref());
    if shown.is_some() && !gives_secret {
        eprintln!("{KEEP_SECRET}");
    }
    records::show(shell, &sink)
}

fn patch(
    environment: &Environment,
    args: UpdateArgs,
    (kind, script): (SinkType, Option<ScriptId>),
    secret: Option<String>,
) -> Result<SinkPatch, Failure> {
    let content = args.content;
    content.check_kind(kind)?;
    if secret.is_some() && kind != SinkType::Webhook {
        return Err(Failure::usage("only a webhook has a secret"));
    }
    let source = content.script_source(environment)?;
    let mut config = Map::new();
    if let Some(secret) = secret {
        config.insert("secret".into(), secret.into());
    }
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
    if let Some(format) = content.format {
        config.insert("format".into(), json!(WebhookFormat::from(format)));
    }
    for (name, path) in [
        ("ca", content.receiver_ca),
        ("client_certificate", content.client_cert),
        ("client_key", content.client_key),
    ] {
        if let Some(text) = read_file(environment, path)? {
            config.insert(name.into(), absent_if_empty(text));
        }
    }
    if let Some(http2) = content.http2 {
        config.insert("http2".into(), http2.into());
    }
    // A script sink has a stored script or its own source, never both.
    if let Some(id) = script {
        config.insert("script_id".into(), json!(id));
        config.insert("source".into(), Value::Null);
    } else if let Some(source) = source {
        config.insert("script_id".into(), Value::Null);
        config.insert("source".into(), json!(source));
    }
    let config = (!config.is_empty()).then_some(config);
    let of = |wanted: SinkType| config.clone().filter(|_| wanted == kind);
    let patch = SinkPatch {
        name: args.name,
        description: content.description,
        patterns: args.patterns.map(PatternsInput::Text),
        active: None,
        webhook: of(SinkType::Webhook),
        script: of(SinkType::Script),
        json_rpc: of(SinkType::JsonRpc),
        delivery: policy::to_patch(content.delivery),
    };
    records::check_patch::<Sink>(&patch)?;
    Ok(patch)
}

/// `null` for an empty text: in a merge patch it removes the member.
fn absent_if_empty(text: String) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        Value::String(text)
    }
}

#[cfg(test)]
mod tests;
