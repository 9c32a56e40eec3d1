//! Options whose values are the variants of an enum.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parses the name that a variant has in JSON. Each value is a name, or `name: description` for the
/// help. The descriptions are for users of the command, so they are not on the enum itself.
pub fn choice<T>(values: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let values = values.iter().map(|text| match text.split_once(": ") {
        Some((name, description)) => PossibleValue::new(name).help(description),
        None => PossibleValue::new(*text),
    });
    PossibleValuesParser::new(values)
        .try_map(|name| serde_json::from_value::<T>(Value::String(name)))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser, error::ErrorKind};

    use crate::cli::Cli;

    /// The options with values to choose from, and their commands.
    fn options(command: &clap::Command, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
        for argument in command.get_arguments() {
            let Some(option) = argument.get_long() else {
                continue;
            };
            for value in argument.get_possible_values() {
                found.push((path.to_vec(), format!("--{option}={}", value.get_name())));
            }
        }
        for command in command.get_subcommands() {
            let path = [path, &[command.get_name().to_owned()]].concat();
            options(command, &path, found);
        }
    }

    #[test]
    fn every_value_that_the_help_names_is_read() {
        let mut found = Vec::new();
        options(&Cli::command(), &["svc".to_owned()], &mut found);
        assert!(found.len() > 40, "{found:?}");
        for (path, option) in found {
            let words = path.iter().chain([&option]);
            // Other arguments may be missing. Values are read before that is checked.
            let refused = Cli::command().try_get_matches_from(words).err();
            let kind = refused.map(|error| error.kind());
            let unread = [ErrorKind::InvalidValue, ErrorKind::ValueValidation];
            assert!(!unread.map(Some).contains(&kind), "{path:?} {option}");
        }
    }

    #[test]
    fn a_value_becomes_its_variant() {
        let words = ["svc", "sink", "deliveries", "s", "--state", "dead"];
        let cli = Cli::try_parse_from(words).expect("accepted");
        let shown = format!("{:?}", cli.command);
        assert!(shown.contains("state: Some(Dead)"), "{shown}");
    }
}
