//! Expressions over an event: the filter of a sink, and the key that orders its deliveries.
//!
//! The language and its limits are those of the templates, without blocks. An example is
//! `event.data.ok == false and space.name == "ci"`. An expression never reads a store, the wall
//! clock or the network.

use std::sync::Arc;

use minijinja::{Environment, Value};
use svc_core::delivery_policy::EXPRESSION_BYTES_MAX;
use thiserror::Error;

use super::{
    Scope, TemplateError,
    budget::Budget,
    output::{Root, text},
    program::{Program, environment},
    render_error, values,
};

/// The maximum number of bytes of a key.
const KEY_BYTES_MAX: usize = 1_024;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExpressionError {
    #[error("the expression has {0} bytes; at most {EXPRESSION_BYTES_MAX} are allowed")]
    TooLong(usize),
    #[error("the expression cannot be used: {0}")]
    Refused(String),
    #[error("the expression failed: {0}")]
    Failed(String),
    #[error("the expression does too much work for one event")]
    TooMuchWork,
    #[error("the expression is {0}, neither true nor false; compare it with a value")]
    NotBoolean(&'static str),
    #[error("the expression has a value of {0} bytes; a key has at most {KEY_BYTES_MAX}")]
    KeyTooLong(usize),
}

/// An expression that passed the checks of [`Expression::parse`].
pub struct Expression {
    environment: Environment<'static>,
    source: String,
}

impl Expression {
    pub fn parse(source: &str) -> Result<Self, ExpressionError> {
        if source.len() > EXPRESSION_BYTES_MAX {
            return Err(ExpressionError::TooLong(source.len()));
        }
        Program::of_expression(source).map_err(refused)?;
        Ok(Self {
            environment: environment(),
            source: source.to_owned(),
        })
    }

    /// Whether the expression is true for an event. An undefined or null value counts as false; any
    /// other value that is neither true nor false is an error.
    pub fn is_true(&self, scope: &Scope<'_>) -> Result<bool, ExpressionError> {
        let value = self.evaluate(scope, Budget::start())?;
        if value.is_undefined() || value.is_none() {
            return Ok(false);
        }
        match bool::try_from(value.clone()) {
            Ok(is_true) if value.kind() == minijinja::value::ValueKind::Bool => Ok(is_true),
            _ => Err(ExpressionError::NotBoolean(kind_of(&value))),
        }
    }

    /// The value as text: a string unchanged, an undefined or null value as empty text, any other
    /// value as JSON.
    pub fn key(&self, scope: &Scope<'_>) -> Result<String, ExpressionError> {
        let value = self.evaluate(scope, Budget::start())?;
        if value.is_undefined() || value.is_none() {
            return Ok(String::new());
        }
        let key = text(&Budget::start(), &value).map_err(|error| failed(render_error(error)))?;
        match key.len() > KEY_BYTES_MAX {
            true => Err(ExpressionError::KeyTooLong(key.len())),
            false => Ok(key),
        }
    }

    fn evaluate(&self, scope: &Scope<'_>, budget: Budget) -> Result<Value, ExpressionError> {
        let root = Arc::new(Root::new(values(scope), budget));
        let program = Program::of_expression(&self.source).map_err(refused)?;
        let value = program.run(&self.environment, root, &mut String::new());
        let value = value.map_err(|error| failed(render_error(error)))?;
        Ok(value.unwrap_or_default())
    }
}

fn refused(error: TemplateError) -> ExpressionError {
    ExpressionError::Refused(match error {
        TemplateError::Refused { line, column, why } => {
            format!("line {line}, column {column}: {why}")
        }
        other => other.to_string(),
    })
}

fn failed(error: TemplateError) -> ExpressionError {
    match error {
        TemplateError::TooMuchWork => ExpressionError::TooMuchWork,
        TemplateError::Render(why) => ExpressionError::Failed(why),
        other => ExpressionError::Failed(other.to_string()),
    }
}

fn kind_of(value: &Value) -> &'static str {
    use minijinja::value::ValueKind;
    match value.kind() {
        ValueKind::Number => "a number",
        ValueKind::String => "a text",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "an object",
        _ => "a value of another type",
    }
}

#[cfg(test)]
mod tests;
