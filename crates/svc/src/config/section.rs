//! A macro that defines one section of the configuration: its settings, how they are read from a
//! file or from the environment, and how layers are merged.

use serde::Deserialize;
use svc_protocol::document;
use toml::Value;

use crate::{environment::Environment, exit::Failure};

/// `Name as WrittenName { key: Type = "VARIABLE", … } optional { … }`: the first keys have a
/// default in `config.default.toml`, the optional ones have none.
macro_rules! section {
    ($name:ident as $written:ident {
        $($key:ident: $kind:ty = $variable:expr,)*
    } optional {
        $($free:ident: $free_kind:ty = $free_variable:expr,)*
    }) => {
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $(pub $key: $kind,)*
            $(pub $free: Option<$free_kind>,)*
        }

        #[derive(Default, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct $written {
            $($key: Option<$kind>,)*
            $($free: Option<$free_kind>,)*
        }

        impl $written {
            /// Every key with its environment variable.
            #[cfg(test)]
            const KEYS: &'static [(&'static str, &'static str)] = &[
                $((stringify!($key), $variable),)*
                $((stringify!($free), $free_variable),)*
            ];

            fn of_environment(
                environment: &crate::environment::Environment,
            ) -> Result<Self, crate::exit::Failure> {
                Ok(Self {
                    $($key: crate::config::section::read_variable(environment, $variable)?,)*
                    $($free: crate::config::section::read_variable(environment, $free_variable)?,)*
                })
            }

            fn over(self, below: Self) -> Self {
                Self {
                    $($key: self.$key.or(below.$key),)*
                    $($free: self.$free.or(below.$free),)*
                }
            }

            fn finish(self) -> $name {
                $name {
                    $($key: self.$key.expect("config.default.toml gives it"),)*
                    $($free: self.$free,)*
                }
            }
        }
    };
}

pub(super) use section;

/// Reads a variable: as text if the setting accepts text, else as a TOML value, else as a list
/// separated by commas.
pub(super) fn read_variable<T: for<'de> Deserialize<'de>>(
    environment: &Environment,
    variable: &str,
) -> Result<Option<T>, Failure> {
    let Some(text) = environment.get(variable) else {
        return Ok(None);
    };
    if let Ok(value) = T::deserialize(Value::String(text.to_owned())) {
        return Ok(Some(value));
    }
    let written = toml::from_str::<toml::Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"));
    let list = Value::Array(
        text.split(',')
            .map(|item| Value::String(item.trim().to_owned()))
            .collect(),
    );
    written
        .into_iter()
        .chain([list])
        .find_map(|value| T::deserialize(value).ok())
        .map(Some)
        .ok_or_else(|| {
            Failure::usage(format!(
                "{variable} is `{text}`, which is not a valid value"
            ))
            .why(document::explain_word::<T>(text))
        })
}
