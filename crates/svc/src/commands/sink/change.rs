//! `svc sink create` and `svc sink update`.

use serde_json::{Value, json};
use svc_client::Resource;
use svc_core::{ScriptId, pattern::Pattern};
use svc_protocol::api::{Members, NewSink, PatternsInput, Sink, SinkOwner, SinkPatch, SinkType};

use super::{
    SinkArg,
    content::{Content, read_file, read_script, read_text},
    policy,
};
use crate::{
    commands::{Shell, choice::choice, records},
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
    #[arg(long, default_value = "webhook", value_parser = choice::<SinkType>(&[
        "webhook: Post the event to a URL",
        "script: Run a script on the server",
        "json-rpc: Format the event for methods that name the sink in `event_sinks`",
    ]))]
    r#type: SinkType,
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

/// Checks the patterns here, to report the position of an error. The text is sent unchanged.
fn parse_patterns(text: &str) -> Result<String, String> {
    match Pattern::parse_list(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let makes_secret = args.r#type == SinkType::Webhook && !args.secret_stdin;
    let secret = match (args.secret_stdin, args.r#type) {
        (true, SinkType::Webhook) => Some(prompt::read_secret()?),
        (true, _) => return Err(Failure::usage("only a webhook has a secret")),
        (false, _) => None,
    };
    let client = shell.client()?;
    let script = args.content.find_script(&client, args.r#type).await?;
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
    let (kind, content) = (args.r#type, args.content);
    content.check_kind(kind)?;
    if kind == SinkType::Webhook && content.url.is_none() {
        return Err(Failure::usage("a webhook needs `--url`"));
    }
    if kind == SinkType::Script && script.is_none() && content.script_file.is_none() {
        return Err(Failure::usage(
            "a script sink needs `--script` or `--script-file`",
        ));
    }
    let delivery = policy::to_policy(content.delivery.clone())?;
    let owner = match args.global {
        true => SinkOwner::Global,
        false => SinkOwner::User,
    };
    let settings = SinkPatch {
        name: Some(args.name),
        patterns: Some(PatternsInput::Text(args.patterns)),
        active: Some(!args.inactive),
        delivery: None,
        ..settings(environment, content, (kind, script), secret, Value::String)?
    };
    let new = records::new_record::<Sink>(json!({"type": kind, "owner": owner}), &settings)?;
    Ok(NewSink { delivery, ..new })
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let (client, sink) = records::open::<Sink>(shell, &args.which.sink).await?;
    let script = args.content.find_script(&client, sink.r#type).await?;
    let gives_secret = args.secret_stdin;
    let secret = gives_secret.then(prompt::read_secret).transpose()?;
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
    args.content.check_kind(kind)?;
    if secret.is_some() && kind != SinkType::Webhook {
        return Err(Failure::usage("only a webhook has a secret"));
    }
    let kind = (kind, script);
    let mut patch = settings(environment, args.content, kind, secret, absent_if_empty)?;
    // An empty object would be a change.
    let is_change = |config: &Members| !config.is_empty();
    patch.webhook = patch.webhook.filter(is_change);
    patch.script = patch.script.filter(is_change);
    patch.json_rpc = patch.json_rpc.filter(is_change);
    patch.name = args.name;
    patch.patterns = args.patterns.map(PatternsInput::Text);
    records::check_patch::<Sink>(&patch)?;
    Ok(patch)
}

/// The settings that a new sink and an update have in common. `text` makes a header or a template of
/// its text: on update, an empty text removes it.
fn settings(
    environment: &Environment,
    content: Content,
    (kind, script): (SinkType, Option<ScriptId>),
    secret: Option<String>,
    text: fn(String) -> Value,
) -> Result<SinkPatch, Failure> {
    let source = read_script(environment, content.script_file.as_deref())?;
    let mut config = Members::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(name.to_owned(), value);
        }
    };
    let headers = content.headers.into_iter();
    let headers: Members = headers.map(|(name, value)| (name, text(value))).collect();
    set("secret", secret.map(Value::String));
    set("url", content.url.map(Value::String));
    set("headers", (!headers.is_empty()).then(|| json!(headers)));
    let template = read_text(environment, content.body_template)?;
    set("body_template", template.map(text));
    set("format", content.format.map(|format| json!(format)));
    for (name, path) in [
        ("ca", content.receiver_ca),
        ("client_certificate", content.client_cert),
        ("client_key", content.client_key),
    ] {
        set(name, read_file(environment, path)?.map(absent_if_empty));
    }
    set("http2", content.http2.map(Value::Bool));
    // A script sink has a stored script or its own source, never both.
    if script.is_some() || source.is_some() {
        set("source", Some(json!(source.filter(|_| script.is_none()))));
        set("script_id", Some(json!(script)));
    }
    let of = |wanted: SinkType| (wanted == kind).then(|| config.clone());
    Ok(SinkPatch {
        name: None,
        description: content.description,
        patterns: None,
        active: None,
        webhook: of(SinkType::Webhook),
        script: of(SinkType::Script),
        json_rpc: of(SinkType::JsonRpc),
        delivery: policy::to_patch(content.delivery),
    })
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
