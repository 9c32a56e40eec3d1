//! JSON Schemas that do not depend on other schemas.

/// Implements `JsonSchema` for a type. If `inline` is true, the schema is repeated wherever the
/// type is used; otherwise it is defined once under its name.
macro_rules! fixed_schema {
    ($type:ident as $name:expr, inline: $inline:literal, $schema:tt) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                $inline
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(crate) use fixed_schema;
