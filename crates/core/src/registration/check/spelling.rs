//! Warns about keywords of schemas that are probably misspelled.

use crate::{
    registration::{Registration, Warning},
    schema::find_misspelled_keywords,
};

impl Registration {
    /// A warning for each keyword that is probably misspelled. The registration may break rules.
    pub fn misspelled_keywords(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for method in &self.methods {
            for (key, schema) in [
                ("params_schema", &method.params_schema),
                ("result_schema", &method.result_schema),
            ] {
                let found = schema.iter().flat_map(find_misspelled_keywords);
                warnings.extend(found.map(|found| {
                    let (name, path, meant) = (&method.name, found.path.join("."), found.meant);
                    format!(
                        "`{name}`: `{key}.{path}` is not a keyword of JSON Schema and has no effect; did you mean `{meant}`?"
                    )
                }));
            }
        }
        warnings
    }
}
