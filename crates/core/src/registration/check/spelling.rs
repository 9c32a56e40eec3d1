//! Warns about keywords of schemas that are probably misspelled.

use crate::{
    registration::{Registration, Warning},
    schema::find_misspelled_keywords,
};

/// The maximum number of warnings about one registration.
const WARNINGS_MAX: usize = 20;
/// The maximum number of characters of a path in a warning.
const PATH_MAX: usize = 200;

impl Registration {
    /// Warnings about keywords that are probably misspelled. The registration may break rules.
    pub fn misspelled_keywords(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for method in &self.methods {
            for (key, schema) in [
                ("params_schema", &method.params_schema),
                ("result_schema", &method.result_schema),
            ] {
                for found in schema.iter().flat_map(find_misspelled_keywords) {
                    if warnings.len() == WARNINGS_MAX {
                        return warnings;
                    }
                    let (name, meant) = (&method.name, found.meant);
                    let path = shorten(&format!("{key}.{}", found.path.join(".")));
                    warnings.push(format!(
                        "`{name}`: `{path}` is not a keyword of JSON Schema and has no effect; did you mean `{meant}`?"
                    ));
                }
            }
        }
        warnings
    }
}

/// Keeps the end of a long path, which names the keyword.
fn shorten(path: &str) -> String {
    match path.char_indices().nth_back(PATH_MAX) {
        Some((start, _)) => format!("…{}", &path[start..]),
        None => path.to_owned(),
    }
}
