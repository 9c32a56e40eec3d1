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
/// A local name: any text that does not begin with `$/`.
pub(super) const LOCAL_NAME_PATTERN: &str = r"^([^$]|\$[^/]|\$$)";
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn accepts(document: &Value) -> bool {
        let schema = jsonschema::draft7::new(&file_schema()).expect("a valid schema");
        schema.is_valid(document)
    }

    #[test]
    fn the_schema_is_one_of_draft_7_with_a_title_and_a_definition_of_schemas() {
        let schema = file_schema();
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        assert_eq!(schema["title"], "svc registration file");
        let any_schema = &schema["definitions"]["JsonSchema"];
        let itself = json!({"$ref": "#/definitions/JsonSchema"});
        assert_eq!(any_schema["type"], json!(["object", "boolean"]));
        assert_eq!(any_schema["properties"]["not"], itself);
    }

    #[test]
    fn the_schema_describes_the_file_down_to_the_schemas_of_its_methods() {
        let file = |key: &str, value: Value| {
            let mut method = json!({"name": "a", "local_name": "a", "description": "d"});
            method[key] = value;
            json!({"server": {"command": "x"}, "methods": [method]})
        };
        let with_schema = |schema: Value| file("params_schema", schema);
        for good in [
            file("name", json!("{{space}}.a")),
            file("local_name", json!("$a/b")),
            file("local_name", json!("$")),
            with_schema(json!({"properties": {"q": {"type": "string"}}, "required": ["q"]})),
            with_schema(json!({"not": {"items": [true, {"type": ["string", "null"]}]}})),
        ] {
            assert!(accepts(&good), "{good}");
        }
        for bad in [
            json!({}),
            json!({"server": {"command": "x"}, "methods": []}),
            file("name", json!("rpc.a")),
            file("local_name", json!("$/a")),
            file("colour", json!(1)),
            with_schema(json!(5)),
            with_schema(json!({"properties": {"q": {"type": "text"}}})),
            with_schema(json!({"not": {"items": [{"minLength": -1}]}})),
        ] {
            assert!(!accepts(&bad), "{bad}");
        }
    }
}
