//! Body templates render any event as valid JSON. The module `expression` evaluates the filters and
//! the ordering keys of sinks.
//!
//! This crate owns the language (the part of minijinja that templates may use), its limits, and the
//! escaping rule. The value of an expression inside a JSON string becomes part of that string. At
//! any other position it becomes a JSON value. The crate never reads a store, the wall clock or the
//! network, and never returns a body that is not JSON.

use std::{collections::BTreeMap, sync::Arc};

use minijinja::{Environment, ErrorKind, Value, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;
use svc_core::{
    EventId, Timestamp,
    event::{Actor, Event, EventSpace},
};
use thiserror::Error;

mod budget;
mod check;
mod data;
pub mod expression;
mod filters;
mod nesting;
mod operations;
mod output;
mod program;
mod sample;
#[cfg(test)]
mod tests;

use self::{
    budget::{Budget, Exhausted},
    output::{OutputTooLarge, Root},
    program::{Program, environment},
};

/// The stack of a thread that may use this crate. The limits on the depth of a source and of a
/// payload hold on a quarter of it, in an unoptimised build.
pub const STACK_BYTES: usize = 8 * 1024 * 1024;

/// The maximum number of bytes of a template.
pub const SOURCE_BYTES_MAX: usize = 16 * 1024;
/// The maximum number of bytes of a rendered body, and of a text that a filter makes.
pub const OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// The maximum number of instructions of one rendering.
const FUEL: u64 = 40_000;
/// The maximum depth of nested evaluation.
const RECURSION_MAX: usize = 32;
const NAME: &str = "body template";
const BEHIND_BACKSLASH: &str = "an expression must not follow a backslash in a JSON string";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    #[error("the template has {0} bytes; at most {SOURCE_BYTES_MAX} are allowed")]
    TooLong(usize),
    /// A syntax error, or a feature that templates may not use.
    #[error("template line {line}, column {column}: {why}")]
    Refused {
        line: usize,
        column: usize,
        why: String,
    },
    #[error("the template does not render: {0}")]
    Render(String),
    #[error("the template renders more than {OUTPUT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the template does too much work for one event; make its loops shorter")]
    TooMuchWork,
    /// The message does not show the body, which only its receiver may see.
    #[error(
        "the rendered body is not JSON: it {} line {line}, column {column}",
        if *.is_cut_off { "ends too early, at" } else { "has an error at" }
    )]
    NotJson {
        line: usize,
        column: usize,
        is_cut_off: bool,
    },
}

impl TemplateError {
    /// Whether the source is not in the language, so that it renders for no event.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::TooLong(_) | Self::Refused { .. })
    }
}

/// The values that a template may use.
pub struct Scope<'a> {
    pub event: &'a Event,
    pub space: EventSpace,
    /// The custom fields of the space template from which the space was created.
    pub custom: &'a BTreeMap<String, String>,
}

/// A template that passed the checks of [`load`].
pub struct Template {
    environment: Environment<'static>,
    source: String,
}

/// Parses a template and renders it for sample events, so that a template that cannot work is
/// refused when it is saved.
pub fn compile(source: &str) -> Result<Template, TemplateError> {
    let template = load(source)?;
    sample::render_samples(&template)?;
    Ok(template)
}

/// Parses and checks a template, without rendering sample events: for a template that [`compile`]
/// accepted before.
pub fn load(source: &str) -> Result<Template, TemplateError> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(TemplateError::TooLong(source.len()));
    }
    Program::of_template(source)?;
    Ok(Template {
        environment: environment(),
        source: source.to_owned(),
    })
}

impl Template {
    /// The body for one event, always valid JSON.
    pub fn render(&self, scope: &Scope<'_>) -> Result<String, TemplateError> {
        let body = self.write(scope, Budget::start())?;
        serde_json::from_str::<serde::de::IgnoredAny>(&body).map_err(|error| {
            TemplateError::NotJson {
                line: error.line(),
                column: error.column(),
                is_cut_off: error.is_eof(),
            }
        })?;
        Ok(body)
    }

    fn write(&self, scope: &Scope<'_>, budget: Budget) -> Result<String, TemplateError> {
        let root = Arc::new(Root::new(values(scope), budget));
        let program = Program::of_template(&self.source)?;
        let mut body = String::new();
        let ran = program.run(&self.environment, root, &mut body);
        ran.map_err(render_error)?;
        Ok(body)
    }
}

fn values(scope: &Scope<'_>) -> Value {
    let event = scope.event;
    Value::from(Serde(Values {
        event: EventValues {
            id: event.id,
            r#type: &event.r#type,
            ts: event.ts,
            data: data::values_of(&event.data),
        },
        space: &scope.space,
        actor: &event.actor,
        custom: scope.custom,
    }))
}

/// The top-level variables of a template.
#[derive(Serialize)]
struct Values<'a> {
    event: EventValues<'a>,
    space: &'a EventSpace,
    actor: &'a Actor,
    custom: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct EventValues<'a> {
    id: EventId,
    r#type: &'a str,
    ts: Timestamp,
    data: Value,
}

/// Blocks as in Jinja, but `${{ … }}` for values and `${# … #}` for comments, because `{{` and `{#`
/// may occur in JSON.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .variable_delimiters("${{", "}}")
        .block_delimiters("{%", "%}")
        .comment_delimiters("${#", "#}")
        .build()
        .expect("these delimiters are distinct")
}

fn render_error(error: minijinja::Error) -> TemplateError {
    let mut source: Option<&dyn std::error::Error> = Some(&error);
    while let Some(cause) = source {
        if cause.is::<OutputTooLarge>() {
            return TemplateError::TooLarge;
        }
        if cause.is::<Exhausted>() {
            return TemplateError::TooMuchWork;
        }
        source = cause.source();
    }
    if error.kind() == ErrorKind::OutOfFuel {
        return TemplateError::TooMuchWork;
    }
    let why = match error.kind() {
        ErrorKind::TooManyArguments | ErrorKind::MissingArgument => {
            "a filter or test has too many or too few arguments"
        }
        // This crate raises this error. Other errors of this kind are handled below.
        ErrorKind::InvalidOperation if error.detail() == Some(BEHIND_BACKSLASH) => BEHIND_BACKSLASH,
        ErrorKind::BadSerialization => "a value has no JSON form",
        _ => {
            "an operation does not fit its value: a loop needs a list, and a filter or comparison a value of its type"
        }
    };
    TemplateError::Render(match error.line() {
        Some(line) => format!("line {line}: {why}"),
        None => why.to_owned(),
    })
}
