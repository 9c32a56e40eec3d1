//! Expressions over an event: the filter of a sink, and the key that orders its deliveries.
//!
//! The language and its limits are those of the templates, without blocks. An example is
//! `event.data.ok == false and space.name == "ci"`. An expression never reads a store, the wall
//! clock or the network.

use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior, Value};
use thiserror::Error;

use super::{
    FUEL, RECURSION_MAX, Scope, TemplateError,
    budget::Budget,
    check, filters,
    output::{JsonTracker, Root, text},
    render_error, values,
};

/// The variables of an expression; the same as in a template.
const VARIABLES: [&str; 4] = ["event", "space", "actor", "custom"];
/// The maximum number of bytes of a key.
const KEY_BYTES_MAX: usize = 1_024;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExpressionError {
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
        // This check must come before the compilation, because the compiler evaluates constants
        // such as `"x" * 999999999`.
        check::check_expression(source).map_err(refused)?;
        let mut environment = Environment::empty();
        environment.set_debug(false);
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(RECURSION_MAX);
        filters::add_to(&mut environment);
        let expression = environment
            .compile_expression_owned(source.to_owned())
            .map_err(|error| refused(check::expression_error(source, &error)))?;
        let mut names = expression.undeclared_variables(false).into_iter();
        if let Some(unknown) = names.find(|name| !VARIABLES.contains(&name.as_str())) {
            return Err(ExpressionError::Refused(format!(
                "`{unknown}` does not exist; there are {}",
                VARIABLES.join(", ")
            )));
        }
        drop(names);
        drop(expression);
        Ok(Self {
            environment,
            source: source.to_owned(),
        })
    }

    /// Whether the expression is true for an event. An undefined or null value counts as false; any
    /// other value that is neither true nor false is an error.
    pub fn is_true(&self, scope: &Scope<'_>) -> Result<bool, ExpressionError> {
        let value = self.evaluate(scope)?;
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
        let value = self.evaluate(scope)?;
        if value.is_undefined() || value.is_none() {
            return Ok(String::new());
        }
        let key = text(&value).map_err(|error| failed(render_error(error)))?;
        match key.len() > KEY_BYTES_MAX {
            true => Err(ExpressionError::KeyTooLong(key.len())),
            false => Ok(key),
        }
    }

    fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, ExpressionError> {
        let root = Arc::new(Root {
            values: values(scope),
            tracker: JsonTracker::default(),
            budget: Budget::start(),
        });
        let expression = self
            .environment
            .compile_expression_owned(self.source.clone())
            .map_err(|error| refused(check::expression_error(&self.source, &error)))?;
        expression
            .eval(Value::from_dyn_object(root))
            .map_err(|error| failed(render_error(error)))
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
