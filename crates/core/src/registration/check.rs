//! Checks a registration and reports each violation with its path in the document. Duplicates are
//! reported only if there is no other violation.

mod method;
mod spelling;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use serde::Serialize;
use serde_json::Value;

use self::method::check_method;
use super::{Annotations, METHODS_MAX, Registration, ServerDefinition, TIMEOUT_RANGE};
use crate::{
    delivery_policy::Overflow,
    journal::{JournalLevel, JsonPointer},
    name::{CANONICAL_NAME_MAX, CanonicalName, SpaceName, UserName},
    pattern::Pattern,
    visibility::MethodScope,
};

/// One violation of a rule: the path to the value, and the message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    pub path: Vec<Step>,
    pub message: String,
}

/// One step of a path into the document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", show_path(&self.path), self.message)
    }
}

/// A path as text, such as `methods[0].name`.
pub fn show_path(path: &[Step]) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        for (index, step) in path.iter().enumerate() {
            match step {
                Step::Key(key) if index == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    })
}

/// Adds the name of a method to the message of a violation, unless the message contains it.
pub fn name_method(method: &str, message: String) -> String {
    let shown: String = method.chars().take(CANONICAL_NAME_MAX).collect();
    let name = format!("`{shown}`");
    match message.contains(&name) || shown.is_empty() {
        true => message,
        false => format!("method {name}: {message}"),
    }
}

/// Advice for the publisher; the registration is valid nevertheless.
pub type Warning = String;

/// A registration that meets every rule that can be checked without the data of the server, such
/// as its groups.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckedRegistration {
    pub server: ServerDefinition,
    pub methods: Vec<CheckedMethod>,
    pub warnings: Vec<Warning>,
}

/// A method with its name expanded. Its groups are still as written: the server resolves them to
/// make a [`Definition`](super::Definition).
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CheckedMethod {
    pub name: CanonicalName,
    pub local_name: String,
    pub title: Option<String>,
    pub description: String,
    pub keywords: Vec<String>,
    pub scope: MethodScope,
    pub groups: Vec<String>,
    pub mcp_tool: bool,
    pub annotations: Annotations,
    pub params_schema: Option<Value>,
    pub result_schema: Option<Value>,
    pub events: Vec<Pattern>,
    pub event_sinks: Vec<String>,
    #[serde(skip_serializing_if = "Overflow::is_drop")]
    pub event_overflow: Overflow,
    #[serde(skip_serializing_if = "JournalLevel::is_default")]
    pub journal: JournalLevel,
    /// Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub journal_redact: Vec<JsonPointer>,
}

impl Registration {
    /// Checks every rule that needs no data of the server.
    pub fn check(
        self,
        space: &SpaceName,
        owner: &UserName,
    ) -> Result<CheckedRegistration, Vec<Violation>> {
        let mut faults = Faults::default();
        if self.version != 1 {
            faults.at(
                &["version"],
                format!("version {} is not supported; use version 1", self.version),
            );
        }
        check_server(&self.server, &mut faults);
        match self.methods.len() {
            0 => faults.at(&["methods"], "a registration needs at least one method"),
            n if n > METHODS_MAX => {
                faults.at(
                    &["methods"],
                    format!("{n} methods; at most {METHODS_MAX} are allowed"),
                );
            }
            _ => {}
        }
        let mut warnings = self.misspelled_keywords();
        let methods: Vec<_> = self
            .methods
            .into_iter()
            .enumerate()
            .filter_map(|(index, method)| {
                check_method(index, method, space, owner, &mut faults, &mut warnings)
            })
            .collect();
        if faults.0.is_empty() {
            Ok(CheckedRegistration {
                server: self.server,
                methods: reject_duplicates(methods)?,
                warnings,
            })
        } else {
            Err(faults.0)
        }
    }
}

#[derive(Default)]
struct Faults(Vec<Violation>);

impl Faults {
    fn at(&mut self, path: &[&str], message: impl Into<String>) {
        let path = path
            .iter()
            .map(|key| Step::Key((*key).to_owned()))
            .collect();
        self.0.push(Violation {
            path,
            message: message.into(),
        });
    }
}

fn method_violation(index: usize, key: &str, message: String) -> Violation {
    let path = vec![
        Step::Key("methods".into()),
        Step::Index(index),
        Step::Key(key.to_owned()),
    ];
    Violation { path, message }
}

fn check_server(server: &ServerDefinition, faults: &mut Faults) {
    if server.command.is_empty() {
        faults.at(&["server", "command"], "the command is empty");
    }
    if !TIMEOUT_RANGE.contains(&server.timeout) {
        let (low, high) = (TIMEOUT_RANGE.start(), TIMEOUT_RANGE.end());
        faults.at(
            &["server", "timeout"],
            format!(
                "timeout {} is not between {low} and {high} seconds",
                server.timeout
            ),
        );
    }
    match server.max_in_flight {
        Some(0) => faults.at(
            &["server", "max_in_flight"],
            "max_in_flight 0 would block every call; use at least 1, or omit it for no limit",
        ),
        Some(most) if server.in_flight_max() != Some(most) => faults.at(
            &["server", "max_in_flight"],
            format!(
                "max_in_flight {most} does not fit mode \"serial\", which has 1 call in flight; use mode \"concurrent\""
            ),
        ),
        _ => {}
    }
    let has_nul = |text: &String| text.contains('\0');
    if has_nul(&server.command) || server.args.iter().any(has_nul) {
        faults.at(
            &["server", "command"],
            "command and args must not contain NUL bytes",
        );
    }
    for (name, value) in &server.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            faults.at(
                &["server", "env"],
                format!("`{name}` is not a usable environment variable"),
            );
        }
    }
}

/// Rejects a registration that uses a method name or a tool name twice.
fn reject_duplicates(methods: Vec<CheckedMethod>) -> Result<Vec<CheckedMethod>, Vec<Violation>> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tools: HashMap<String, &str> = HashMap::new();
    let mut faults = Vec::new();
    for (index, method) in methods.iter().enumerate() {
        if names.insert(&method.name, index).is_some() {
            faults.push(method_violation(
                index,
                "name",
                format!("method `{}` is defined twice", method.name),
            ));
        } else if method.mcp_tool
            && let Some(other) = tools.insert(method.name.tool_name(), &method.name)
        {
            faults.push(method_violation(
                index,
                "name",
                format!(
                    "methods `{other}` and `{}` would both be the MCP tool `{}`",
                    method.name,
                    method.name.tool_name()
                ),
            ));
        }
    }
    if faults.is_empty() {
        Ok(methods)
    } else {
        Err(faults)
    }
}

#[cfg(test)]
mod tests;
