//! Checks a script before it is stored, so that errors are reported to its author and not at the
//! first run. Compiles the source, but runs nothing.

use serde_json::Value;
use svc_core::{
    name::check_free_name,
    registration::check_title,
    schema::{self, SchemaError},
};
use svc_protocol::api::{Script, ScriptKind};
use svc_script::{ErrorKind, ScriptError, Source};
use thiserror::Error;

use super::{ScriptRunner, Unavailable, report::outline};
use crate::{
    identity::{Caller, Credential},
    records::{RecordError, Result},
};

/// The maximum size of a source.
pub const SOURCE_BYTES_MAX: usize = 256 * 1024;
/// The maximum length of a library's name.
const LIBRARY_NAME_MAX: usize = 64;

/// Modules provided by the loader, and the name of the script itself.
const RESERVED: &[&str] = &["svc", "subprocess", "sys", "__main__"];

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

pub fn name(kind: ScriptKind, name: &str) -> Result<()> {
    match kind {
        ScriptKind::Library => library_name(name),
        ScriptKind::Startup | ScriptKind::Sink | ScriptKind::Tool => {
            Ok(check_free_name("script", name)?)
        }
    }
}

/// Scripts import a library by its name.
fn library_name(name: &str) -> Result<()> {
    let refused = |why: &str| {
        let shown: String = name.chars().take(LIBRARY_NAME_MAX).collect();
        let message = format!("a library cannot be named `{shown}`: {why}");
        Err(RecordError::new("invalid_name", message))
    };
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let continues = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !starts || !continues || name.len() > LIBRARY_NAME_MAX || KEYWORDS.contains(&name) {
        return refused(
            "scripts import it by this name, so it must be a Python name of at most 64 letters, digits and `_`",
        );
    }
    if RESERVED.contains(&name) || svc_script::is_built_in(name) {
        return refused("a built-in module with this name would hide it");
    }
    Ok(())
}

/// Checks the title of a tool. Other kinds have neither a title nor annotations.
pub fn title_and_annotations(script: &Script) -> Result<()> {
    let invalid = |message: String| Err(RecordError::new("invalid", message));
    if script.kind != ScriptKind::Tool {
        return match (&script.title, script.annotations.is_empty()) {
            (None, true) => Ok(()),
            (Some(_), _) => invalid("only a tool script has a `title`".to_owned()),
            (None, false) => invalid("only a tool script has `annotations`".to_owned()),
        };
    }
    match script.title.as_deref().map(check_title) {
        Some(Err(why)) => invalid(why),
        _ => Ok(()),
    }
}

/// Checks the schema of the params of a tool. Other kinds have no params.
pub fn params_schema(kind: ScriptKind, params: Option<&Value>) -> Result<()> {
    let Some(params) = params else {
        return Ok(());
    };
    let invalid = |message: String| Err(RecordError::new("invalid_schema", message));
    if kind != ScriptKind::Tool {
        return invalid("only a tool script has a `params_schema`".to_owned());
    }
    let checked = schema::check(params).and_then(|()| schema::check_tool_root(params));
    match checked {
        Ok(()) => Ok(()),
        Err(SchemaError::ToolRootNotObject) => invalid(
            "`params_schema`: the root type must be `object`, because a tool takes named arguments"
                .to_owned(),
        ),
        Err(error) => {
            let at: Vec<_> = std::iter::once("params_schema")
                .chain(error.steps())
                .collect();
            invalid(format!("`{}`: {error}", at.join(".")))
        }
    }
}

/// Why a source is rejected.
#[derive(Debug, Error)]
pub enum SourceRejected {
    /// The source is too large, or the embedded engine cannot compile it.
    #[error("{0}")]
    Source(String),
    /// A running script holds a worker and would wait for another one.
    #[error("a script that runs on the server cannot store scripts; use an API token")]
    FromScript,
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl From<SourceRejected> for RecordError {
    fn from(error: SourceRejected) -> Self {
        match error {
            SourceRejected::Source(message) => Self::new("invalid_script", message),
            SourceRejected::FromScript => Self::new("script_denied", error.to_string()),
            SourceRejected::Unavailable(error) => error.into(),
        }
    }
}

impl From<Unavailable> for RecordError {
    fn from(error: Unavailable) -> Self {
        Self::new("scripts_unavailable", error.to_string())
    }
}

impl ScriptRunner {
    /// Rejects a source that does not compile; the error names the line and the problem. Compiles
    /// in a worker, because a hostile source can use much time and memory.
    pub async fn check_source(
        &self,
        caller: &Caller,
        file: String,
        text: String,
    ) -> Result<(), SourceRejected> {
        if text.len() > SOURCE_BYTES_MAX {
            return Err(SourceRejected::Source(format!(
                "the source has {} bytes; at most {SOURCE_BYTES_MAX} are allowed",
                text.len()
            )));
        }
        if caller.credential == Credential::Script {
            return Err(SourceRejected::FromScript);
        }
        let compiled = self.compile(caller.user.id, Source { file, text }).await?;
        compiled.map_err(|error| SourceRejected::Source(self.describe_error(&error)))
    }

    fn describe_error(&self, error: &ScriptError) -> String {
        let too_much = |limit: String| {
            format!(
                "the source cannot be compiled within the limits of scripts: it takes more than {limit}"
            )
        };
        match error.kind {
            ErrorKind::TimeLimit => too_much(format!("{} s", self.options.time.as_secs_f64())),
            ErrorKind::MemoryLimit => {
                too_much(format!("{} MiB", self.options.memory_bytes / (1024 * 1024)))
            }
            ErrorKind::Worker => format!("the source cannot be compiled: {}", error.message),
            _ => located(error),
        }
    }
}

/// The error as text, such as ``notes.py:3: SyntaxError: …: `def (:` ``, followed by its hint.
fn located(error: &ScriptError) -> String {
    let mut text = outline(error);
    if let Some(line) = error.place().and_then(|place| place.source_line.as_deref()) {
        let line: String = line.trim().chars().take(200).collect();
        text.push_str(&format!(": `{line}`"));
    }
    if let Some(hint) = &error.hint {
        text.push_str(&format!("; {hint}"));
    }
    text
}
