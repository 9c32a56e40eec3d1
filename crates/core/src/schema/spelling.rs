//! Finds keywords of a schema that are probably misspelled. JSON Schema ignores unknown keywords,
//! so such a mistake has no other symptom.

use std::collections::HashSet;

use serde_json::Value;

use super::keyword::{Below, names, subschemas};

/// Keywords without a rule about their value.
const ANY_VALUE: [&str; 2] = ["const", "default"];
/// Keywords of OpenAPI that are similar to a keyword of JSON Schema, and are no mistake.
const FOREIGN: [&str; 1] = ["example"];
/// The maximum number of wrong, missing, additional or swapped characters of a misspelled keyword.
const MISTAKES_MAX: usize = 2;
/// A misspelled keyword has at most one mistake for each group of this many characters.
const CHARACTERS_PER_MISTAKE: usize = 4;
/// The maximum number of unknown keywords of one schema that are compared with the known ones.
/// Comparing takes time, and a schema may have thousands of them.
const COMPARED_MAX: usize = 20;

/// A keyword that is probably misspelled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MisspelledKeyword {
    /// The path to the keyword, which is its last step.
    pub path: Vec<String>,
    pub meant: &'static str,
}

/// Finds misspelled keywords in a schema, which may break other rules. Each misspelling is returned
/// once.
pub fn find_misspelled_keywords(schema: &Value) -> Vec<MisspelledKeyword> {
    let mut search = Search::default();
    search.schema(schema);
    search.found
}

#[derive(Default)]
struct Search<'a> {
    path: Vec<String>,
    /// The unknown keywords that were compared.
    compared: HashSet<&'a str>,
    found: Vec<MisspelledKeyword>,
}

impl<'a> Search<'a> {
    fn schema(&mut self, schema: &'a Value) {
        let Value::Object(members) = schema else {
            return;
        };
        for (keyword, value) in members {
            let depth = self.path.len();
            self.path.push(keyword.clone());
            if !is_known(keyword) {
                self.compare(keyword);
            }
            for (below, inner) in subschemas(keyword, value) {
                let depth = self.path.len();
                match below {
                    Below::Itself => {}
                    Below::Index(index) => self.path.push(index.to_string()),
                    Below::Name(name) => self.path.push(name.to_owned()),
                }
                self.schema(inner);
                self.path.truncate(depth);
            }
            self.path.truncate(depth);
        }
    }

    fn compare(&mut self, keyword: &'a str) {
        if keyword.starts_with("x-")
            || self.compared.len() == COMPARED_MAX
            || !self.compared.insert(keyword)
        {
            return;
        }
        if let Some(meant) = find_similar(keyword) {
            let path = self.path.clone();
            self.found.push(MisspelledKeyword { path, meant });
        }
    }
}

fn is_known(keyword: &str) -> bool {
    FOREIGN.contains(&keyword) || known().any(|known| known == keyword)
}

fn known() -> impl Iterator<Item = &'static str> {
    names().chain(ANY_VALUE)
}

/// The known keyword that is most similar to an unknown one, if it is similar enough.
fn find_similar(keyword: &str) -> Option<&'static str> {
    let found = simplify(keyword);
    let similar = known().filter_map(|name| {
        let known = simplify(name);
        let allowed = (name.len() / CHARACTERS_PER_MISTAKE).min(MISTAKES_MAX);
        // The number of mistakes is at least the difference of the lengths.
        if known.len().abs_diff(found.len()) > allowed {
            return None;
        }
        let mistakes = count_mistakes(&found, &known);
        (mistakes <= allowed).then_some((mistakes, name))
    });
    similar
        .min_by_key(|(mistakes, _)| *mistakes)
        .map(|(_, name)| name)
}

/// The characters without the differences that are easily mistaken: upper case, `-` and `_`.
fn simplify(keyword: &str) -> Vec<char> {
    let characters = keyword.chars().filter(|c| !matches!(c, '-' | '_'));
    characters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The least number of steps that make one text of the other. A step changes, removes or inserts one
/// character, or swaps two neighbours.
fn count_mistakes(a: &[char], b: &[char]) -> usize {
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, right) in b.iter().enumerate() {
            let changed = last[j] + usize::from(left != right);
            let mut steps = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *left == b[j - 1] && a[i - 1] == *right {
                steps = steps.min(before_last[j - 1] + 1);
            }
            row.push(steps);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, expected: &[(&str, &str)]) {
        let found: Vec<_> = find_misspelled_keywords(schema)
            .into_iter()
            .map(|found| (found.path.join("."), found.meant))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, meant)| ((*path).to_owned(), *meant))
            .collect();
        assert_eq!(found, expected, "{schema}");
    }

    #[test]
    fn a_misspelled_keyword_is_found_at_any_depth() {
        check(&json!({"requred": ["id"]}), &[("requred", "required")]);
        check(&json!({"tpye": "object"}), &[("tpye", "type")]);
        check(&json!({"min_length": 1}), &[("min_length", "minLength")]);
        check(&json!({"propertys": {}}), &[("propertys", "properties")]);
        check(
            &json!({"properties": {"a": {"items": {"ref": "#"}}}}),
            &[("properties.a.items.ref", "$ref")],
        );
        check(
            &json!({"anyOf": [true, {"enumm": [1]}], "defualt": 1}),
            &[("anyOf.1.enumm", "enum"), ("defualt", "default")],
        );
        // Once for each misspelling.
        check(
            &json!({"not": {"titel": "a"}, "titel": "b"}),
            &[("not.titel", "title")],
        );
    }

    #[test]
    fn other_unknown_keywords_and_names_of_members_are_no_mistakes() {
        for schema in [
            json!({"x-requred": 1, "unit": "s", "widget": "text", "nullable": true}),
            json!({"example": 1, "examples": [1], "discriminator": {"propertyName": "a"}}),
            json!({"properties": {"requred": {"type": "string"}}, "required": ["requred"]}),
            json!({"const": {"requred": 1}, "enum": [{"tpye": 1}], "default": {"titel": 1}}),
            json!(true),
        ] {
            check(&schema, &[]);
        }
    }

    #[test]
    fn only_some_unknown_keywords_of_a_schema_are_compared() {
        let mut schema: Value = (0..COMPARED_MAX)
            .map(|i| (format!("own{i}"), json!(1)))
            .collect();
        schema["requred"] = json!([]);
        check(&schema, &[]);
    }

    proptest! {
        #[test]
        fn the_number_of_mistakes_is_a_distance(
            a in prop::collection::vec(prop::sample::select(vec!['a', 'b', 'c']), 0..6),
            b in prop::collection::vec(prop::sample::select(vec!['a', 'b', 'c']), 0..6),
        ) {
            let mistakes = count_mistakes(&a, &b);
            prop_assert_eq!(mistakes, count_mistakes(&b, &a));
            prop_assert_eq!(mistakes == 0, a == b);
            prop_assert!(mistakes >= a.len().abs_diff(b.len()));
            prop_assert!(mistakes <= a.len().max(b.len()));
        }
    }
}
