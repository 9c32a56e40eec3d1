//! Checks a registration and reports every violation with its path in the document.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use serde::Serialize;
use serde_json::Value;

use super::{METHODS_MAX, MethodDefinition, Mode, Registration, ServerDefinition, TIMEOUT_RANGE};
use crate::{
    name::{CanonicalName, SpaceName, TOOL_NAME_ADVISED, TOOL_NAME_MAX, UserName, tool_name},
    pattern::Pattern,
    schema,
    visibility::{MethodScope, shared_name},
};

const DESCRIPTION_MAX: usize = 4_096;
const WORD_MAX: usize = 128;
const WORDS_MAX: usize = 100;
const LOCAL_NAME_MAX: usize = 256;

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
        for (index, step) in self.path.iter().enumerate() {
            match step {
                Step::Key(key) if index == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        write!(f, ": {}", self.message)
    }
}

/// Advice for the publisher; the registration is valid nevertheless.
pub type Warning = String;

/// A registration that meets every rule except those that need a look-up.
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
    pub description: String,
    pub keywords: Vec<String>,
    pub scope: MethodScope,
    pub groups: Vec<String>,
    pub mcp_tool: bool,
    pub params_schema: Option<Value>,
    pub result_schema: Option<Value>,
    pub events: Vec<Pattern>,
    pub event_sinks: Vec<String>,
}

impl Registration {
    /// Checks every rule that needs no look-up.
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
        let mut warnings = Vec::new();
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

    fn in_method(&mut self, index: usize, key: &str, message: impl Into<String>) {
        self.0.push(method_violation(index, key, message.into()));
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
    match (server.mode, server.max_in_flight) {
        (_, Some(0)) => faults.at(
            &["server", "max_in_flight"],
            "max_in_flight 0 would block every call; use at least 1, or omit it for no limit",
        ),
        (Mode::Serial, Some(most)) if most > 1 => faults.at(
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

fn check_method(
    index: usize,
    method: MethodDefinition,
    space: &SpaceName,
    owner: &UserName,
    faults: &mut Faults,
    warnings: &mut Vec<Warning>,
) -> Option<CheckedMethod> {
    let before = faults.0.len();
    let name = match CanonicalName::expand(&method.name, space) {
        Ok(name) => Some(name),
        Err(error) => {
            faults.in_method(index, "name", error.to_string());
            None
        }
    };
    check_texts(index, &method, faults);
    check_schemas(index, &method, faults);
    let events = check_events(index, &method.events, faults);
    let local_name = local_name(index, &method, name.as_ref(), faults);
    let name = name?;
    if method.mcp_tool {
        check_tool(index, &method, &name, owner, faults, warnings);
    }
    if method.scope == MethodScope::Private && !method.groups.is_empty() {
        warnings.push(format!(
            "`{name}` is private, so its `groups` have no effect"
        ));
    }
    (faults.0.len() == before).then_some(CheckedMethod {
        name,
        local_name,
        description: method.description,
        keywords: method.keywords,
        scope: method.scope,
        groups: method.groups,
        mcp_tool: method.mcp_tool,
        params_schema: method.params_schema,
        result_schema: method.result_schema,
        events,
        event_sinks: method.event_sinks,
    })
}

/// The method's name in its method server. Defaults to the canonical name for a method with events.
fn local_name(
    index: usize,
    method: &MethodDefinition,
    name: Option<&CanonicalName>,
    faults: &mut Faults,
) -> String {
    match (&method.local_name, name) {
        (Some(local), _) => local.clone(),
        (None, Some(name)) if !method.events.is_empty() => name.to_string(),
        (None, _) => {
            let text = format!(
                "method `{}` has no `local_name`, its name in the method server; only a method with `events` may omit it",
                method.name
            );
            faults.in_method(index, "local_name", text);
            String::new()
        }
    }
}

fn check_schemas(index: usize, method: &MethodDefinition, faults: &mut Faults) {
    for (key, schema) in [
        ("params_schema", &method.params_schema),
        ("result_schema", &method.result_schema),
    ] {
        if let Some(Err(error)) = schema.as_ref().map(schema::check) {
            let mut violation = method_violation(index, key, error.to_string());
            violation
                .path
                .extend(error.steps().map(|step| Step::Key(step.to_owned())));
            faults.0.push(violation);
        }
    }
}

fn check_texts(index: usize, method: &MethodDefinition, faults: &mut Faults) {
    if method.description.trim().is_empty() {
        faults.in_method(index, "description", "the description is empty");
    } else if method.description.len() > DESCRIPTION_MAX {
        faults.in_method(
            index,
            "description",
            format!(
                "the description has {} bytes; at most {DESCRIPTION_MAX} are allowed",
                method.description.len()
            ),
        );
    }
    if let Some(local) = &method.local_name
        && (local.is_empty() || local.len() > LOCAL_NAME_MAX)
    {
        faults.in_method(
            index,
            "local_name",
            format!(
                "`local_name` must have 1 to {LOCAL_NAME_MAX} bytes, not {}",
                local.len()
            ),
        );
    }
    let lists = [
        ("keywords", &method.keywords),
        ("groups", &method.groups),
        ("events", &method.events),
        ("event_sinks", &method.event_sinks),
    ];
    for (key, words) in lists {
        if words.len() > WORDS_MAX {
            faults.in_method(
                index,
                key,
                format!("{} entries; at most {WORDS_MAX} are allowed", words.len()),
            );
        }
        if let Some(word) = words
            .iter()
            .find(|word| word.trim().is_empty() || word.len() > WORD_MAX)
        {
            let shown: String = word.chars().take(40).collect();
            faults.in_method(
                index,
                key,
                format!("entry `{shown}` must have 1 to {WORD_MAX} bytes"),
            );
        }
    }
}

fn check_events(index: usize, events: &[String], faults: &mut Faults) -> Vec<Pattern> {
    events
        .iter()
        .enumerate()
        .filter_map(|(entry, text)| match Pattern::parse(text, entry + 1) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                faults.in_method(index, "events", error.to_string());
                None
            }
        })
        .collect()
}

fn check_tool(
    index: usize,
    method: &MethodDefinition,
    name: &CanonicalName,
    owner: &UserName,
    faults: &mut Faults,
    warnings: &mut Vec<Warning>,
) {
    if let Some(Err(error)) = method.params_schema.as_ref().map(schema::check_tool_root) {
        faults.in_method(index, "params_schema", error.to_string());
    }
    // The longest name that any user sees must fit.
    let tool = match method.scope {
        MethodScope::Private => name.tool_name(),
        MethodScope::Shared => tool_name(&shared_name(owner, name)),
    };
    if tool.len() > TOOL_NAME_MAX {
        faults.in_method(
            index,
            "name",
            format!(
                "its tool name `{tool}` has {} characters; at most {TOOL_NAME_MAX} are allowed",
                tool.len()
            ),
        );
    } else if tool.len() > TOOL_NAME_ADVISED {
        warnings.push(format!(
            "tool name `{tool}` has {} characters; many MCP clients allow 64, their own prefix included, so use at most {TOOL_NAME_ADVISED}",
            tool.len()
        ));
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
