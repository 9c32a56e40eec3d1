//! Which settings there are, and where they are named.

use std::{collections::BTreeSet, time::Duration};

use super::*;

#[test]
fn the_default_file_names_every_key_and_its_variable() {
    for (key, variable) in KEYS {
        let written = DEFAULTS.lines().any(|line| {
            let line = line.strip_prefix("# ").unwrap_or(line);
            line.split_once(" = ").is_some_and(|(name, _)| name == *key)
        });
        assert!(written, "`{key}` is missing");
        assert!(DEFAULTS.contains(variable), "`{variable}` is missing");
    }
    let written = variables_of(DEFAULTS);
    assert_eq!(written.difference(&known_variables()).next(), None);
    // Keys that are commented out must be valid too.
    let all: String = DEFAULTS
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if rest
                    .split_once(" = ")
                    .is_some_and(|(name, _)| !name.contains(' ')) =>
            {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(Layer::of_text("all", &all).is_ok());
}

/// Every name `SVC_…` in a text.
fn variables_of(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_uppercase() && c != '_')
        .filter(|word| word.starts_with("SVC_"))
        .collect()
}

/// The variables of all keys, and those that are no keys.
fn known_variables() -> BTreeSet<&'static str> {
    let keys = KEYS.iter().map(|(_, variable)| *variable);
    keys.chain([env::CONFIG, env::SECRET_KEY]).collect()
}

/// OPERATIONS.md has the tables of all settings. Only the settings of OAuth are in AUTH.md, without
/// their variables.
#[test]
fn the_documentation_names_exactly_the_settings() {
    let operations = include_str!("../../../../../docs/OPERATIONS.md");
    let auth = include_str!("../../../../../docs/AUTH.md");
    let tables: String = operations
        .lines()
        .skip_while(|line| *line != "## Configuration")
        .take_while(|line| *line != "## TLS and proxies")
        .collect();
    let named = variables_of(&tables);
    for (key, variable) in KEYS {
        let is_oauth = variable.starts_with("SVC_OAUTH");
        let text = if is_oauth { auth } else { &tables };
        let is_named = text.contains(&format!("`{key}`")) || text.contains(&format!(" {key}`"));
        assert!(is_named, "`{key}` is missing");
        assert!(is_oauth || named.contains(variable), "{variable}");
    }
    assert_eq!(named.difference(&known_variables()).next(), None);
}

/// An operator reads every setting before the first start. A value that the program can choose is a
/// constant, is computed from another setting, or is a hidden setting if tests need it.
#[test]
fn there_are_few_settings() {
    assert!(KEYS.len() <= 70, "{} settings: drop one", KEYS.len());
}

#[test]
fn hidden_settings_are_read_from_the_environment_only() {
    let manuals = [
        DEFAULTS,
        include_str!("../../../../../docs/OPERATIONS.md"),
        include_str!("../../../../../docs/EVENTS.md"),
        include_str!("../../../../../docs/SCALING.md"),
    ];
    for (key, variable) in hidden::KEYS {
        let named = manuals
            .iter()
            .any(|text| variables_of(text).contains(variable));
        assert!(!named, "{variable}");
        for section in ["server", "events", "scripts", "traces"] {
            let error = error_of(&format!("[{section}]\n{key} = 1\n"));
            assert!(error.contains(&format!("unknown field `{key}`")), "{error}");
        }
        let environment = Environment::of(Path::new("/nowhere"), &[(*variable, "0.001")]);
        let failure = Config::load(None, &environment).expect_err(variable);
        assert!(failure.what.contains(variable), "{failure}");
    }
    let variables = [
        ("SVC_WORKERS", "2"),
        (hidden::LEASE_SECONDS, "2"),
        (hidden::RETRY_FIRST_SECONDS, "0.05"),
    ];
    let environment = Environment::of(Path::new("/nowhere"), &variables);
    let hidden = Config::load(None, &environment).expect("valid").hidden;
    assert_eq!(hidden.workers.map(usize::from), Some(2));
    assert_eq!(
        hidden.lease_seconds.map(Duration::from),
        Some(Duration::from_secs(2))
    );
    let first = hidden.retry_first_seconds.map(Duration::from);
    assert_eq!(first, Some(Duration::from_millis(50)));
    assert_eq!(hidden.retry_second_seconds, None);
}
