//! The options that define how a sink handles an event.

use std::{
    fs,
    path::{Path, PathBuf},
};

use svc_client::Client;
use svc_core::ScriptId;
use svc_protocol::api::{ScriptKind, SinkType, WebhookFormat};

use super::policy::{Setting, parse_setting};
use crate::{
    commands::{choice::choice, own_script, script},
    environment::Environment,
    exit::{Failure, OrFail},
    output::json_name,
};

#[derive(clap::Args, Debug, Default)]
pub struct Content {
    /// Description
    #[arg(long)]
    pub description: Option<String>,
    /// Address that a webhook posts to
    #[arg(long)]
    pub url: Option<String>,
    /// Additional header of a webhook's requests, as name:value; may be repeated. On update an
    /// empty value removes the header
    #[arg(long = "header", value_name = "NAME:VALUE", value_parser = parse_header)]
    pub headers: Vec<(String, String)>,
    /// Template of the body, or @file; on update an empty template restores the default body
    #[arg(long, value_name = "TEXT|@FILE")]
    pub body_template: Option<String>,
    /// How a webhook writes an event into its request
    #[arg(long, value_name = "FORMAT", value_parser = choice::<WebhookFormat>(&[
        "default: The default body, or the body template",
        "cloudevents-structured: CloudEvents 1.0 with the attributes in the body",
        "cloudevents-binary: CloudEvents 1.0 with the attributes in headers",
    ]))]
    pub format: Option<WebhookFormat>,
    /// PEM file with the only certificate authorities that are trusted for an https webhook
    #[arg(long, value_name = "FILE")]
    pub receiver_ca: Option<String>,
    /// PEM file with the certificate that is shown to an https webhook, and its chain
    #[arg(long, value_name = "FILE")]
    pub client_cert: Option<String>,
    /// PEM file with the key of the client certificate; it is stored encrypted and never shown
    #[arg(long, value_name = "FILE")]
    pub client_key: Option<String>,
    /// Whether HTTP/2 is offered to an https webhook
    #[arg(long, value_name = "BOOL")]
    pub http2: Option<bool>,
    /// Stored script of kind `sink` that a script sink runs, by name or id
    #[arg(long, value_name = "SCRIPT", conflicts_with = "script_file")]
    pub script: Option<String>,
    /// File with the source that a script sink runs, instead of a stored script
    #[arg(long, value_name = "FILE")]
    pub script_file: Option<PathBuf>,
    /// Setting of the delivery policy, such as attempts=10, retry=5s,1m,1h or overflow=hold; may be
    /// repeated. On update an empty value restores the default. docs/EVENTS.md lists all settings
    #[arg(long = "delivery", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub delivery: Vec<Setting>,
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("a header looks like `X-Team: ops`")?;
    http::HeaderName::try_from(name.trim())
        .map_err(|_| format!("`{name}` is not a valid header name"))?;
    let value = value.trim();
    http::HeaderValue::try_from(value)
        .map_err(|_| format!("the value of `{name}` is not a valid header value"))?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

impl Content {
    /// Rejects options that do not apply to this type. Without this check, they would be ignored
    /// silently.
    pub fn check_kind(&self, kind: SinkType) -> Result<(), Failure> {
        let is_webhook = kind == SinkType::Webhook;
        let is_script = kind == SinkType::Script;
        let has_delivery = kind != SinkType::JsonRpc;
        let options = [
            ("--url", self.url.is_some(), is_webhook),
            ("--header", !self.headers.is_empty(), is_webhook),
            ("--format", self.format.is_some(), is_webhook),
            ("--receiver-ca", self.receiver_ca.is_some(), is_webhook),
            ("--client-cert", self.client_cert.is_some(), is_webhook),
            ("--client-key", self.client_key.is_some(), is_webhook),
            ("--http2", self.http2.is_some(), is_webhook),
            ("--body-template", self.body_template.is_some(), !is_script),
            ("--script", self.script.is_some(), is_script),
            ("--script-file", self.script_file.is_some(), is_script),
            ("--delivery", !self.delivery.is_empty(), has_delivery),
        ];
        for (option, is_given, applies) in options {
            if is_given && !applies {
                let kind = json_name(kind);
                let what = format!("`{option}` does not apply to a {kind} sink");
                return Err(Failure::usage(what));
            }
        }
        Ok(())
    }

    /// The stored script that `--script` names.
    pub async fn find_script(
        &self,
        client: &Client,
        kind: SinkType,
    ) -> Result<Option<ScriptId>, Failure> {
        self.check_kind(kind)?;
        let Some(script) = &self.script else {
            return Ok(None);
        };
        let id = script::find_id(client, script, ScriptKind::Sink).await?;
        Ok(Some(id))
    }
}

/// The source in a file, if one is named.
pub fn read_script(
    environment: &Environment,
    file: Option<&Path>,
) -> Result<Option<String>, Failure> {
    file.map(|file| own_script::read_bounded(environment, file))
        .transpose()
}

/// The text of a file; an empty text for an empty path, which removes the setting on update.
pub fn read_file(
    environment: &Environment,
    path: Option<String>,
) -> Result<Option<String>, Failure> {
    match path {
        Some(path) if !path.is_empty() => read_text(environment, Some(format!("@{path}"))),
        other => Ok(other),
    }
}

/// The text of an option, or of the file that `@<path>` names.
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
        .or_usage(format!("cannot read `{path}`"))
}
