//! The public definition of a method, and when two spaces may publish the same method (D1).

use std::sync::Arc;

use serde_json::Value;

use super::{Annotations, CheckedMethod};
use crate::{
    delivery_policy::Overflow, id::GroupId, journal::MethodJournal, name::CanonicalName,
    pattern::Pattern, subscription::Subscription, visibility::MethodScope,
};

/// Everything that discovery shows of a method, with its groups resolved. The local name is not
/// part of it: each space chooses its own.
///
/// D1: several spaces of one owner may register the same name if their definitions are equal.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    pub name: CanonicalName,
    pub title: Option<String>,
    pub description: String,
    pub keywords: Vec<String>,
    pub scope: MethodScope,
    /// Sorted. `None` if the method was published without a list of groups.
    pub groups: Option<Vec<GroupId>>,
    pub tool_name: Option<String>,
    pub annotations: Annotations,
    pub params_schema: Option<Value>,
    pub result_schema: Option<Value>,
    pub events: Vec<Pattern>,
    pub event_sinks: Vec<String>,
    pub event_overflow: Overflow,
    pub journal: MethodJournal,
    /// Approximate size in bytes, in memory and in a list of methods.
    pub bytes: usize,
}

impl Definition {
    /// Returns the definition of a checked method with these groups, and the method's local name.
    pub fn new(method: CheckedMethod, groups: Option<Vec<GroupId>>) -> (Arc<Self>, String) {
        let definition = Self {
            bytes: size_of_definition(&method),
            tool_name: method.mcp_tool.then(|| method.name.tool_name()),
            name: method.name,
            title: method.title,
            annotations: method.annotations,
            description: method.description,
            keywords: method.keywords,
            scope: method.scope,
            groups,
            params_schema: method.params_schema,
            result_schema: method.result_schema,
            events: method.events,
            event_sinks: method.event_sinks,
            event_overflow: method.event_overflow,
            journal: MethodJournal {
                level: method.journal,
                redact: method.journal_redact.into(),
            },
        };
        (Arc::new(definition), method.local_name)
    }

    /// `None` if the method receives no events.
    pub fn subscription(&self) -> Option<Subscription> {
        let holds = self.event_overflow == Overflow::Hold;
        Subscription::new(&self.name, &self.events, &self.event_sinks, holds)
    }
}

fn size_of_definition(method: &CheckedMethod) -> usize {
    let schemas = [&method.params_schema, &method.result_schema];
    let schemas = schemas.into_iter().flatten().map(json_bytes);
    let words = method.keywords.iter().chain(&method.event_sinks);
    let words = words.chain(&method.title);
    let words = words.map(String::len);
    let pointers = method.journal_redact.iter();
    let words = words.chain(pointers.map(|pointer| pointer.to_string().len()));
    method.name.len() + method.description.len() + words.sum::<usize>() + schemas.sum::<usize>()
}

fn json_bytes(value: &Value) -> usize {
    /// Counts the bytes that are written to it.
    struct Counter(usize);

    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    // Cannot fail: the counter accepts every write, and a `Value` is always valid JSON.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::journal::{JournalLevel, JsonPointer};

    fn definition() -> Definition {
        let method = CheckedMethod {
            name: CanonicalName::parse("notes.search").expect("valid"),
            local_name: "search".to_owned(),
            title: Some("Search notes".to_owned()),
            description: "searches".to_owned(),
            keywords: vec!["find".to_owned()],
            scope: MethodScope::Shared,
            groups: vec!["ops".to_owned()],
            mcp_tool: true,
            annotations: Annotations {
                read_only: Some(true),
                ..Annotations::default()
            },
            params_schema: Some(json!({"type": "object", "title": "a"})),
            result_schema: Some(json!(true)),
            events: Pattern::parse_list("custom.*").expect("valid"),
            event_sinks: vec!["brief".to_owned()],
            event_overflow: Overflow::Drop,
            journal: JournalLevel::Payloads,
            journal_redact: vec![JsonPointer::parse("/pin").expect("valid")],
        };
        let (definition, local_name) = Definition::new(method, Some(vec![GroupId::NIL]));
        assert_eq!(local_name, "search");
        Arc::unwrap_or_clone(definition)
    }

    #[test]
    fn d1_definitions_are_identical_in_all_that_discovery_shows() {
        type Change = fn(&mut Definition);
        let changes: [(&str, Change); 15] = [
            ("name", |d| {
                d.name = CanonicalName::parse("notes.find").expect("valid")
            }),
            ("title", |d| d.title = None),
            ("description", |d| d.description.push('!')),
            ("keywords", |d| d.keywords.clear()),
            ("scope", |d| d.scope = MethodScope::Private),
            ("groups", |d| d.groups = None),
            ("mcp_tool", |d| d.tool_name = None),
            ("annotations", |d| d.annotations.read_only = Some(false)),
            ("params_schema", |d| d.params_schema = None),
            ("result_schema", |d| d.result_schema = Some(json!(false))),
            ("events", |d| d.events.clear()),
            ("event_sinks", |d| d.event_sinks.clear()),
            ("event_overflow", |d| d.event_overflow = Overflow::Hold),
            ("journal", |d| d.journal.level = JournalLevel::Outcome),
            ("journal_redact", |d| d.journal.redact = [].into()),
        ];
        for (field, change) in changes {
            let mut other = definition();
            change(&mut other);
            assert_ne!(definition(), other, "{field}");
        }
    }

    #[test]
    fn d1_the_order_of_keys_in_a_schema_does_not_matter() {
        let mut other = definition();
        other.params_schema = Some(json!({"title": "a", "type": "object"}));
        assert_eq!(definition(), other);
    }
    #[test]
    fn the_size_of_a_definition_counts_its_texts_its_redactions_and_its_schemas() {
        let words = "notes.searchsearchesfindbriefSearch notes/pin";
        let schemas = r#"{"type":"object","title":"a"}true"#;
        assert_eq!(definition().bytes, words.len() + schemas.len());
        assert_eq!(definition().bytes, 78);
    }

    #[test]
    fn s6_4_a_method_with_events_subscribes_and_holds_them_only_if_it_says_so() {
        let mut method = definition();
        let expected = |holds| Subscription {
            method: method.name.clone(),
            patterns: vec![Pattern::Prefix("custom.".to_owned())],
            formatters: vec!["brief".to_owned()],
            holds,
        };
        let (drops, holds) = (expected(false), expected(true));
        assert_eq!(method.subscription(), Some(drops));
        method.event_overflow = Overflow::Hold;
        assert_eq!(method.subscription(), Some(holds));
        method.events.clear();
        assert_eq!(method.subscription(), None);
    }
}
