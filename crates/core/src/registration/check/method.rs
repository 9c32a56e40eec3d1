//! Checks one method of a registration.

use super::{CheckedMethod, Faults, Step, Violation, Warning, method_violation, name_method};
use crate::{
    delivery_policy::Overflow,
    journal::{JournalLevel, JsonPointer, POINTERS_MAX},
    name::{CanonicalName, SpaceName, TOOL_NAME_ADVISED, TOOL_NAME_MAX, UserName, tool_name},
    pattern::Pattern,
    registration::{
        DESCRIPTION_MAX, LOCAL_NAME_MAX, MethodDefinition, RESERVED_PREFIX, WORD_MAX, WORDS_MAX,
        check_title,
    },
    schema,
    visibility::{MethodScope, shared_name},
};

/// The violations of one method.
struct MethodFaults {
    /// The index of the method.
    index: usize,
    found: Vec<Violation>,
}

impl MethodFaults {
    fn add(&mut self, key: &str, message: impl Into<String>) {
        let violation = method_violation(self.index, key, message.into());
        self.found.push(violation);
    }
}

/// Adds the violations of a method to `faults`. Returns the method if there are none.
pub(super) fn check_method(
    index: usize,
    method: MethodDefinition,
    space: &SpaceName,
    owner: &UserName,
    faults: &mut Faults,
    warnings: &mut Vec<Warning>,
) -> Option<CheckedMethod> {
    let written = method.name.clone();
    let found = Vec::new();
    let mut of_method = MethodFaults { index, found };
    let checked = check_fields(method, space, owner, &mut of_method, warnings);
    let checked = checked.filter(|_| of_method.found.is_empty());
    for violation in &mut of_method.found {
        violation.message = name_method(&written, std::mem::take(&mut violation.message));
    }
    faults.0.append(&mut of_method.found);
    checked
}

/// Returns `None` if the name is invalid.
fn check_fields(
    method: MethodDefinition,
    space: &SpaceName,
    owner: &UserName,
    faults: &mut MethodFaults,
    warnings: &mut Vec<Warning>,
) -> Option<CheckedMethod> {
    let name = match CanonicalName::expand(&method.name, space) {
        Ok(name) => Some(name),
        Err(error) => {
            faults.add("name", error.to_string());
            None
        }
    };
    check_texts(&method, faults);
    check_schemas(&method, faults);
    let events = check_events(&method.events, faults);
    let journal_redact = check_pointers(&method.journal_redact, faults);
    let local_name = local_name(&method, name.as_ref(), faults);
    let name = name?;
    if method.mcp_tool {
        check_tool(&method, &name, owner, faults, warnings);
    }
    if method.scope == MethodScope::Private && !method.groups.is_empty() {
        warnings.push(format!(
            "`{name}` is private, so its `groups` have no effect"
        ));
    }
    if method.events.is_empty() && method.event_overflow == Overflow::Hold {
        warnings.push(format!(
            "`{name}` has no `events`, so its `event_overflow` has no effect"
        ));
    }
    if !journal_redact.is_empty() && method.journal != JournalLevel::Payloads {
        warnings.push(format!(
            "`{name}` has not `journal = \"payloads\"`, so its `journal_redact` has no effect"
        ));
    }
    Some(CheckedMethod {
        name,
        local_name,
        title: method.title,
        description: method.description,
        keywords: method.keywords,
        scope: method.scope,
        groups: method.groups,
        mcp_tool: method.mcp_tool,
        annotations: method.annotations,
        params_schema: method.params_schema,
        result_schema: method.result_schema,
        events,
        event_sinks: method.event_sinks,
        event_overflow: method.event_overflow,
        journal: method.journal,
        journal_redact,
    })
}

/// The method's name in its method server. Defaults to the canonical name for a method with events.
fn local_name(
    method: &MethodDefinition,
    name: Option<&CanonicalName>,
    faults: &mut MethodFaults,
) -> String {
    match (&method.local_name, name) {
        (Some(local), _) => local.clone(),
        (None, Some(name)) if !method.events.is_empty() => name.to_string(),
        (None, _) => {
            let text = format!(
                "method `{}` has no `local_name`, its name in the method server; only a method with `events` may omit it",
                method.name
            );
            faults.add("local_name", text);
            String::new()
        }
    }
}

fn check_schemas(method: &MethodDefinition, faults: &mut MethodFaults) {
    for (key, schema) in [
        ("params_schema", &method.params_schema),
        ("result_schema", &method.result_schema),
    ] {
        for error in schema.iter().flat_map(schema::find_errors) {
            let mut violation = method_violation(faults.index, key, error.to_string());
            violation
                .path
                .extend(error.steps().map(|step| Step::Key(step.to_owned())));
            faults.found.push(violation);
        }
    }
}

fn check_texts(method: &MethodDefinition, faults: &mut MethodFaults) {
    // Characters, not bytes: the JSON Schema of the registration file counts characters too.
    let length = |text: &str| text.chars().count();
    let described = length(&method.description);
    if method.description.trim().is_empty() {
        faults.add("description", "the description is empty");
    } else if described > DESCRIPTION_MAX {
        let message = format!(
            "the description has {described} characters; at most {DESCRIPTION_MAX} are allowed"
        );
        faults.add("description", message);
    }
    if let Some(Err(why)) = method.title.as_deref().map(check_title) {
        faults.add("title", why);
    }
    if let Some(local) = &method.local_name
        && !(1..=LOCAL_NAME_MAX).contains(&length(local))
    {
        let message = format!(
            "`local_name` must have 1 to {LOCAL_NAME_MAX} characters, not {}",
            length(local)
        );
        faults.add("local_name", message);
    }
    if let Some(local) = &method.local_name
        && local.starts_with(RESERVED_PREFIX)
    {
        let shown: String = local.chars().take(40).collect();
        let message = format!(
            "`local_name` is `{shown}`; names that begin with `{RESERVED_PREFIX}` are reserved for messages of svc, so use another name"
        );
        faults.add("local_name", message);
    }
    let lists = [
        ("keywords", &method.keywords),
        ("groups", &method.groups),
        ("events", &method.events),
        ("event_sinks", &method.event_sinks),
    ];
    for (key, words) in lists {
        if words.len() > WORDS_MAX {
            let message = format!("{} entries; at most {WORDS_MAX} are allowed", words.len());
            faults.add(key, message);
        }
        if let Some(word) = words
            .iter()
            .find(|word| word.trim().is_empty() || length(word) > WORD_MAX)
        {
            let fault = match length(word) > WORD_MAX {
                true => {
                    let shown: String = word.chars().take(40).collect();
                    format!("entry `{shown}…` must have at most {WORD_MAX} characters")
                }
                false => "an entry is empty".to_owned(),
            };
            faults.add(key, fault);
        }
    }
}

fn check_events(events: &[String], faults: &mut MethodFaults) -> Vec<Pattern> {
    events
        .iter()
        .enumerate()
        .filter_map(|(entry, text)| match Pattern::parse(text, entry + 1) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                faults.add("events", error.to_string());
                None
            }
        })
        .collect()
}

/// The pointers, sorted and without duplicates: two lists of the same pointers must be equal.
fn check_pointers(texts: &[String], faults: &mut MethodFaults) -> Vec<JsonPointer> {
    let key = "journal_redact";
    if texts.len() > POINTERS_MAX {
        let count = texts.len();
        let message = format!("{count} entries; at most {POINTERS_MAX} are allowed");
        faults.add(key, message);
    }
    let mut pointers = Vec::with_capacity(texts.len());
    for text in texts {
        match JsonPointer::parse(text) {
            Ok(pointer) => pointers.push(pointer),
            Err(error) => faults.add(key, error.to_string()),
        }
    }
    pointers.sort_unstable();
    pointers.dedup();
    pointers
}

fn check_tool(
    method: &MethodDefinition,
    name: &CanonicalName,
    owner: &UserName,
    faults: &mut MethodFaults,
    warnings: &mut Vec<Warning>,
) {
    if let Some(Err(error)) = method.params_schema.as_ref().map(schema::check_tool_root) {
        faults.add("params_schema", error.to_string());
    }
    // The longest name that any user sees must fit.
    let tool = match method.scope {
        MethodScope::Private => name.tool_name(),
        MethodScope::Shared => tool_name(&shared_name(owner, name)),
    };
    if tool.len() > TOOL_NAME_MAX {
        let message = format!(
            "its tool name `{tool}` has {} characters; at most {TOOL_NAME_MAX} are allowed",
            tool.len()
        );
        faults.add("name", message);
    } else if tool.len() > TOOL_NAME_ADVISED {
        warnings.push(format!(
            "tool name `{tool}` has {} characters; many MCP clients allow 64, their own prefix included, so use at most {TOOL_NAME_ADVISED}",
            tool.len()
        ));
    }
}
