//! A macro that defines the sections of the configuration: their settings, how they are read from a
//! file or from the environment, and how layers are merged.

use serde::Deserialize;
use svc_protocol::document;
use toml::Value;

use crate::{environment::Environment, exit::Failure};

/// `section: Name as WrittenName { key: Type = "VARIABLE", … } optional { … }`. `Name` is the
/// section of `Config`, `WrittenName` the section of one layer. The first keys have a default in
/// `config.default.toml`. The optional keys have none.
macro_rules! sections {
    ($($section:ident: $name:ident as $written:ident {
        $($key:ident: $kind:ty = $variable:expr,)*
    } optional {
        $($free:ident: $free_kind:ty = $free_variable:expr,)*
    })*) => {
        /// All settings, from every layer below the flags.
        #[derive(Clone, PartialEq, Debug)]
        pub struct Config {
            $(pub $section: $name,)*
            pub hidden: $crate::config::hidden::Hidden,
        }

        /// One layer, with only the keys that it sets.
        #[derive(Default, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Layer {
            $($section: $written,)*
        }

        impl Layer {
            fn of_environment(
                environment: &crate::environment::Environment,
            ) -> Result<Self, crate::exit::Failure> {
                use crate::config::section::read_variable;
                Ok(Self {
                    $($section: $written {
                        $($key: read_variable(environment, $variable)?,)*
                        $($free: read_variable(environment, $free_variable)?,)*
                    },)*
                })
            }

            fn over(self, below: Self) -> Self {
                Self {
                    $($section: $written {
                        $($key: self.$section.$key.or(below.$section.$key),)*
                        $($free: self.$section.$free.or(below.$section.$free),)*
                    },)*
                }
            }

            fn finish(self, hidden: $crate::config::hidden::Hidden) -> Config {
                Config {
                    hidden,
                    $($section: $name {
                        $($key: self.$section.$key.expect("config.default.toml has every key"),)*
                        $($free: self.$section.$free,)*
                    },)*
                }
            }
        }

        $(
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
        )*

        /// Every key with its environment variable.
        #[cfg(test)]
        const KEYS: &[(&str, &str)] = &[$(
            $((stringify!($key), $variable),)*
            $((stringify!($free), $free_variable),)*
        )*];
    };
}

pub(super) use sections;

/// `key: Type = "VARIABLE", …`: a struct `Hidden` whose values only variables set.
macro_rules! hidden {
    ($($key:ident: $kind:ty = $variable:expr,)*) => {
        #[derive(Clone, PartialEq, Debug)]
        pub struct Hidden {
            $(pub $key: Option<$kind>,)*
        }

        impl Hidden {
            pub(super) fn of_environment(
                environment: &crate::environment::Environment,
            ) -> Result<Self, crate::exit::Failure> {
                use crate::config::section::read_variable;
                Ok(Self {
                    $($key: read_variable(environment, $variable)?,)*
                })
            }
        }

        /// Every key with its environment variable.
        #[cfg(test)]
        pub(super) const KEYS: &[(&str, &str)] = &[$((stringify!($key), $variable),)*];
    };
}

pub(super) use hidden;

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
