//! The options that say what a sink does with an event.

use std::{
    fs,
    path::{Path, PathBuf},
};

use svc_client::Client;
use svc_core::ScriptId;
use svc_protocol::api::{ScriptKind, SinkType};

use super::type_name;
use crate::{
    commands::{own_script, script},
    environment::Environment,
    exit::Failure,
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
    /// Stored script of kind `sink` that a script sink runs, by name or id
    #[arg(long, value_name = "SCRIPT", conflicts_with = "script_file")]
    pub script: Option<String>,
    /// File with the source that a script sink runs, instead of a stored script
    #[arg(long, value_name = "FILE")]
    pub script_file: Option<PathBuf>,
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
    /// Rejects options that do not apply to this type; they would be ignored silently.
    pub fn check_kind(&self, kind: SinkType) -> Result<(), Failure> {
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
            (
                "--script-file",
                self.script_file.is_some() && kind != SinkType::Script,
            ),
        ];
        match misplaced.iter().find(|(_, is_misplaced)| *is_misplaced) {
            Some((option, _)) => Err(Failure::usage(format!(
                "`{option}` does not apply to a {} sink",
                type_name(kind)
            ))),
            None => Ok(()),
        }
    }

    /// The stored script that `--script` names.
    pub async fn find_script(
        &self,
        client: &Client,
        kind: SinkType,
    ) -> Result<Option<ScriptId>, Failure> {
        self.check_kind(kind)?;
        match &self.script {
            Some(script) => script::find_id(client, script, ScriptKind::Sink)
                .await
                .map(Some),
            None => Ok(None),
        }
    }

    pub fn script_source(&self, environment: &Environment) -> Result<Option<String>, Failure> {
        self.script_file
            .as_deref()
            .map(|file| own_script::read_bounded(environment, file))
            .transpose()
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
        .map_err(|error| Failure::usage(format!("cannot read `{path}`")).why(error))
}
