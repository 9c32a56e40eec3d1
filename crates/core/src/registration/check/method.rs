//! Checks one method of a registration.

use super::{CheckedMethod, Faults, Step, Warning, method_violation, name_method};
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

/// Adds the violations of a method to `faults`. Returns the method if there are none.
pub(super) fn check_method(
    index: usize,
    method: MethodDefinition,
    space: &SpaceName,
    owner: &UserName,
    faults: &mut Faults,
    warnings: &mut Vec<Warning>,
) -> Option<CheckedMethod> {
    let before = faults.0.len();
    let written = method.name.clone();
    let checked = check_fields(index, method, space, owner, faults, warnings);
    for violation in &mut faults.0[before..] {
        violation.message = name_method(&written, std::mem::take(&mut violation.message));
    }
    checked.filter(|_| faults.0.len() == before)
}

/// Returns `None` if the name is invalid.
fn check_fields(
    index: usize,
    method: MethodDefinition,
    space: &SpaceName,
    owner: &UserName,
    faults: &mut Faults,
    warnings: &mut Vec<Warning>,
) -> Option<CheckedMethod> {
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
    let journal_redact = check_pointers(index, &method.journal_redact, faults);
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
        for error in schema.iter().flat_map(schema::find_errors) {
            let mut violation = method_violation(index, key, error.to_string());
            violation
                .path
                .extend(error.steps().map(|step| Step::Key(step.to_owned())));
            faults.0.push(violation);
        }
    }
}

fn check_texts(index: usize, method: &MethodDefinition, faults: &mut Faults) {
    // Characters, not bytes: the JSON Schema of the registration file counts characters too.
    let length = |text: &str| text.chars().count();
    let described = length(&method.description);
    if method.description.trim().is_empty() {
        faults.in_method(index, "description", "the description is empty");
    } else if described > DESCRIPTION_MAX {
        faults.in_method(
            index,
            "description",
            format!(
                "the description has {described} characters; at most {DESCRIPTION_MAX} are allowed"
            ),
        );
    }
    if let Some(Err(why)) = method.title.as_deref().map(check_title) {
        faults.in_method(index, "title", why);
    }
    if let Some(local) = &method.local_name
        && !(1..=LOCAL_NAME_MAX).contains(&length(local))
    {
        faults.in_method(
            index,
            "local_name",
            format!(
                "`local_name` must have 1 to {LOCAL_NAME_MAX} characters, not {}",
                length(local)
            ),
        );
    }
    if let Some(local) = &method.local_name
        && local.starts_with(RESERVED_PREFIX)
    {
        let shown: String = local.chars().take(40).collect();
        faults.in_method(
            index,
            "local_name",
            format!(
                "`local_name` is `{shown}`; names that begin with `{RESERVED_PREFIX}` are reserved for messages of svc, so use another name"
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
            .find(|word| word.trim().is_empty() || length(word) > WORD_MAX)
        {
            let fault = match length(word) > WORD_MAX {
                true => {
                    let shown: String = word.chars().take(40).collect();
                    format!("entry `{shown}…` must have at most {WORD_MAX} characters")
                }
                false => "an entry is empty".to_owned(),
            };
            faults.in_method(index, key, fault);
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

/// The pointers, sorted and without duplicates: two lists of the same pointers must be equal.
fn check_pointers(index: usize, texts: &[String], faults: &mut Faults) -> Vec<JsonPointer> {
    let key = "journal_redact";
    if texts.len() > POINTERS_MAX {
        let count = texts.len();
        faults.in_method(
            index,
            key,
            format!("{count} entries; at most {POINTERS_MAX} are allowed"),
        );
    }
    let mut pointers = Vec::with_capacity(texts.len());
    for text in texts {
        match JsonPointer::parse(text) {
            Ok(pointer) => pointers.push(pointer),
            Err(error) => faults.in_method(index, key, error.to_string()),
        }
    }
    pointers.sort_unstable();
    pointers.dedup();
    pointers
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
