//! The JSON Schema of the registration file, for editors. It is derived from the types that the
//! parser fills.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use super::Registration;
use crate::schema;

/// A canonical name before `{{space}}` is expanded.
pub(super) const NAME_PATTERN: &str =
    r"^([A-Za-z0-9_-]|\{\{space\}\})+(\.([A-Za-z0-9_-]|\{\{space\}\})+)*$";
/// An event pattern.
pub(super) const PATTERN_PATTERN: &str = r"^\s*([A-Za-z0-9_.-]+\*?|\*)\s*$";

/// The schema in draft 7, which editors support best. It accepts every file that
/// [`Registration::check`] accepts.
pub fn file_schema() -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<Registration>();
    schema.insert("title".to_owned(), "svc registration file".into());
    schema.to_value()
}

/// A JSON Schema as a value of a registration.
pub(super) struct AnySchema;

impl JsonSchema for AnySchema {
    fn schema_name() -> Cow<'static, str> {
        "JsonSchema".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let itself = format!("#{}/{}", definitions(generator), Self::schema_name());
        Schema::try_from(schema::outline(&itself)).unwrap_or_default()
    }
}

fn definitions(generator: &SchemaGenerator) -> String {
    generator.settings().definitions_path.to_string()
}
