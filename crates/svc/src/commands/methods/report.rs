//! Reports what a registration changed: the methods, their providers, and a call to try.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use svc_client::Client;
use svc_core::{SpaceId, schema::example};
use svc_protocol::{
    agent_api::Registered,
    api::{Method, MethodQuery},
};

use super::ALL_UNREGISTERED;
use crate::{
    commands::Shell,
    exit::Outcome,
    output::{Table, clean, quote},
};

/// The maximum number of characters of params in a call to try.
const PARAMS_MAX: usize = 500;
/// The maximum number of spaces or methods that a line names.
const NAMED_MAX: usize = 10;

/// The methods that a space offers, by name.
pub struct Published(BTreeMap<String, Method>);

impl Published {
    /// `None` if the server does not answer. Then the report only lists the registered methods.
    pub async fn read(api: &Client, space: SpaceId) -> Option<Self> {
        let query = MethodQuery {
            space: Some(space),
            ..MethodQuery::default()
        };
        let methods = api.methods(&query).await.ok()?.methods;
        let by_name = |method: Method| (method.name.clone(), method);
        Some(Self(methods.into_iter().map(by_name).collect()))
    }
}

/// The difference between the methods of a space before and after a registration.
pub struct Report {
    before: Published,
    after: Published,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Added,
    Changed,
    Removed,
    None,
}

impl Change {
    fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Changed => '~',
            Self::Removed => '-',
            Self::None => ' ',
        }
    }
}

/// Prints the registered methods and, if a report is possible, what has changed.
pub fn print(shell: &Shell, registered: &Registered, report: Option<&Report>) -> Outcome {
    let signed = report.and_then(|report| report.signed(&registered.methods));
    let (head, rows) = match signed {
        Some(rows) if !registered.methods.is_empty() => ("  METHOD", rows),
        _ => ("METHOD", registered.methods.clone()),
    };
    let table = Table::of(&[(head, String::clone)], ALL_UNREGISTERED, &rows);
    let outcome = shell.output.table(&table)?;
    if let Some(report) = report {
        for line in report.describe_providers() {
            eprintln!("note: {}", clean(&line));
        }
        if let Some(call) = report.call_to_try(&registered.methods) {
            eprintln!("try: {}", clean(&call));
        }
    }
    Ok(outcome)
}

impl Report {
    pub fn new(before: Option<Published>, after: Option<Published>) -> Option<Self> {
        Some(Self {
            before: before?,
            after: after?,
        })
    }

    fn change(&self, name: &str) -> Change {
        match (self.before.0.get(name), self.after.0.get(name)) {
            (None, Some(_)) => Change::Added,
            (Some(_), None) => Change::Removed,
            (Some(before), Some(after)) if definition(before) != definition(after) => {
                Change::Changed
            }
            _ => Change::None,
        }
    }

    /// The registered methods, then the removed ones, each after its sign. `None` if nothing has
    /// changed.
    fn signed(&self, registered: &[String]) -> Option<Vec<String>> {
        let removed = self.before.0.keys();
        let removed = removed.filter(|name| self.change(name) == Change::Removed);
        let names: Vec<_> = registered.iter().chain(removed).collect();
        let is_changed = names.iter().any(|name| self.change(name) != Change::None);
        let signed = |name: &String| format!("{} {name}", self.change(name).sign());
        is_changed.then(|| names.into_iter().map(signed).collect())
    }

    /// A line for each new set of several spaces that offer the same methods.
    fn describe_providers(&self) -> Vec<String> {
        let mut sets: BTreeMap<BTreeSet<&str>, Vec<&str>> = BTreeMap::new();
        for (name, method) in &self.after.0 {
            let spaces = spaces_of(method);
            let before = self.before.0.get(name).map(spaces_of);
            if spaces.len() > 1 && before.as_ref() != Some(&spaces) {
                sets.entry(spaces).or_default().push(name);
            }
        }
        let line = |(spaces, methods): (BTreeSet<&str>, Vec<&str>)| {
            let count = spaces.len();
            let spaces = listed(spaces.into_iter().map(str::to_owned));
            let named = listed(methods.iter().map(|name| format!("`{name}`")));
            let have = if methods.len() == 1 { "has" } else { "have" };
            format!("{named} now {have} {count} providers: {spaces}; each call goes to one of them")
        };
        sets.into_iter().map(line).collect()
    }

    /// A call of the first new or changed method for which an example of the params can be made.
    fn call_to_try(&self, registered: &[String]) -> Option<String> {
        let of = |change: Change| {
            registered
                .iter()
                .filter(move |name| self.change(name) == change)
        };
        let mut methods = of(Change::Added).chain(of(Change::Changed));
        methods.find_map(|name| {
            let params = match &self.after.0.get(name)?.params_schema {
                Some(schema) => example(schema).filter(Value::is_object)?.to_string(),
                None => "{}".to_owned(),
            };
            let is_short = params.chars().count() <= PARAMS_MAX;
            is_short.then(|| format!("svc method call {name} {}", quote(&params)))
        })
    }
}

/// What a caller or the owner sees of a method, without its providers.
fn definition(method: &Method) -> Value {
    let providers = Vec::new();
    let method = Method {
        provider_count: 0,
        providers,
        ..method.clone()
    };
    serde_json::to_value(method).unwrap_or_default()
}

/// The names of the spaces that offer a method.
fn spaces_of(method: &Method) -> BTreeSet<&str> {
    let providers = method.providers.iter();
    providers.map(|provider| provider.space.as_str()).collect()
}

/// The first entries of a list, and the number of the others.
fn listed(entries: impl Iterator<Item = String>) -> String {
    let mut entries: Vec<_> = entries.collect();
    let more = entries.len().saturating_sub(NAMED_MAX);
    entries.truncate(NAMED_MAX);
    if more > 0 {
        entries.push(format!("{more} more"));
    }
    entries.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn method(name: &str, description: &str, spaces: &[&str]) -> Value {
        let id = "01a1dd5c-7e2f-7c3a-9b61-2f6d5a0c4e11";
        let provider = |space: &&str| json!({"space_id": id, "space": space, "in_flight": 0, "state": "ready"});
        let providers: Vec<_> = spaces.iter().map(provider).collect();
        json!({
            "name": name, "description": description, "keywords": [], "scope": "private",
            "mcp_tool": false, "mcp_tool_name": null, "params_schema": null,
            "result_schema": null, "owner_id": id, "owner": "ann",
            "provider_count": spaces.len(), "local_name": name, "groups": [], "events": [],
            "event_sinks": [], "providers": providers,
        })
    }

    fn published(methods: Vec<Value>) -> Published {
        let methods = methods.into_iter().map(|method| {
            let method: Method = serde_json::from_value(method).expect("a method");
            (method.name.clone(), method)
        });
        Published(methods.collect())
    }

    fn report(before: Vec<Value>, after: Vec<Value>) -> Report {
        Report {
            before: published(before),
            after: published(after),
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_method_has_the_sign_of_its_change() {
        let lab = &["lab"][..];
        let before = vec![
            method("a", "d", lab),
            method("b", "d", lab),
            method("c", "d", lab),
        ];
        let mut after = vec![
            method("d", "d", lab),
            method("b", "other", lab),
            method("a", "d", &["lab", "go"]),
        ];
        let changed = report(before.clone(), after.clone());
        let rows = changed.signed(&names(&["d", "b", "a"]));
        assert_eq!(rows, Some(names(&["+ d", "~ b", "  a", "- c"])));
        let call = changed.call_to_try(&names(&["b", "d", "a"]));
        assert_eq!(call.as_deref(), Some("svc method call d '{}'"));

        let same = report(before.clone(), before);
        assert_eq!(same.signed(&names(&["b", "a", "c"])), None);
        assert_eq!(same.call_to_try(&names(&["b", "a", "c"])), None);

        // No example can be made for the first method, so the second one is called.
        after[0]["params_schema"] = json!({"not": {}});
        after[1]["params_schema"] = json!({"required": ["it's"]});
        let changed = report(Vec::new(), after);
        let call = changed.call_to_try(&names(&["d", "b"]));
        let expected = r#"svc method call b '{"it'\''s":"…"}'"#;
        assert_eq!(call.as_deref(), Some(expected));
    }

    #[test]
    fn new_sets_of_several_providers_are_reported_once() {
        let before = vec![
            method("a", "d", &["go", "lab"]),
            method("b", "d", &["go"]),
            method("e", "d", &["go", "lab"]),
        ];
        let after = vec![
            method("a", "d", &["lab", "go"]),
            method("b", "d", &["lab", "go"]),
            method("c", "d", &["lab"]),
            method("d", "d", &["lab", "go"]),
            method("e", "d", &["lab", "go", "rust"]),
        ];
        assert_eq!(
            report(before, after).describe_providers(),
            [
                "`b`, `d` now have 2 providers: go, lab; each call goes to one of them",
                "`e` now has 3 providers: go, lab, rust; each call goes to one of them",
            ]
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let entries = (1..=12).map(|n| n.to_string());
        assert_eq!(listed(entries), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2 more");
    }
}
