//! Finds every fault of a registration file that cannot be read, also in the parts that can be
//! read.

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use svc_core::{
    SpaceName, UserName,
    registration::{
        MethodDefinition, Mode, Registration, ServerDefinition, ServerType, Step, TIMEOUT_DEFAULT,
        Violation, name_method,
    },
};

use super::{Fault, FileError, place};
use crate::document::{TomlError, TomlParts};

/// The file without its tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    version: Option<u32>,
    #[serde(rename = "server")]
    _server: IgnoredAny,
    #[serde(default, rename = "methods")]
    _methods: Vec<IgnoredAny>,
}

pub(super) fn find(file: &str, text: &str, space: &SpaceName, owner: &UserName) -> FileError {
    let parts = match TomlParts::parse(text) {
        Ok(parts) => parts,
        Err(error) => return place(file, text, error.span, &error.message).into(),
    };
    let mut search = Search {
        file,
        text,
        parts: &parts,
        faults: Vec::new(),
        left_out: Vec::new(),
    };
    let root = search.read::<Root>(&[]);
    let server = search.read::<ServerDefinition>(&[key("server")]);
    let count = parts.count(&[key("methods")]);
    let mut methods = Vec::new();
    let mut indexes = Vec::new();
    for index in 0..count {
        let read = search.read::<MethodDefinition>(&[key("methods"), Step::Index(index)]);
        if let Some(method) = read {
            methods.push(method);
            indexes.push(index);
        }
    }
    let registration = Registration {
        version: root.and_then(|root| root.version).unwrap_or(1),
        server: server.unwrap_or_else(any_server),
        methods,
    };
    let warnings = registration.misspelled_keywords();
    if let Err(violations) = registration.check(space, owner) {
        search.add_violations(violations, &indexes, count);
    }
    search.faults.sort_by_key(|fault| fault.position);
    FileError {
        faults: search.faults,
        warnings,
    }
}

struct Search<'a> {
    file: &'a str,
    text: &'a str,
    parts: &'a TomlParts<'a>,
    faults: Vec<Fault>,
    /// Paths to wrong members, which were left out.
    left_out: Vec<Vec<Step>>,
}

impl Search<'_> {
    fn read<T: DeserializeOwned>(&mut self, path: &[Step]) -> Option<T> {
        let part = self.parts.read::<T>(path);
        for TomlError {
            span,
            path,
            message,
        } in part.errors
        {
            let fault = place(self.file, self.text, span, &self.name(&path, message));
            // A number that JSON cannot hold is an error of each part that contains it.
            if !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
        self.left_out.extend(part.left_out);
        part.value
    }

    /// Adds the name of the method at a path to the message of a fault.
    fn name(&self, path: &[Step], message: String) -> String {
        let [Step::Key(_), Step::Index(_), ..] = path else {
            return message;
        };
        let name = [&path[..2], &[key("name")]].concat();
        match self.parts.text(&name) {
            Some(name) => name_method(name, message),
            None => message,
        }
    }

    /// Adds the violations of the readable parts. `indexes` has the index of each readable method in
    /// the file, which has `count` methods.
    fn add_violations(&mut self, violations: Vec<Violation>, indexes: &[usize], count: usize) {
        for mut violation in violations {
            if let [Step::Key(_), Step::Index(index), ..] = violation.path.as_mut_slice() {
                *index = indexes[*index];
            }
            let is_left_out = self
                .left_out
                .iter()
                .any(|left_out| violation.path.starts_with(left_out));
            let is_about_count = violation.path == [key("methods")];
            if is_left_out || is_about_count && indexes.len() < count {
                continue;
            }
            let span = self.parts.locate(&violation.path);
            let fault = place(self.file, self.text, span, &violation.message);
            self.faults.push(fault);
        }
    }
}

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// Replaces a table `server` that cannot be read.
fn any_server() -> ServerDefinition {
    ServerDefinition {
        r#type: ServerType::Stdio,
        command: "any".to_owned(),
        args: Vec::new(),
        timeout: TIMEOUT_DEFAULT,
        mode: Mode::default(),
        max_in_flight: None,
        trace: false,
        env: std::collections::BTreeMap::default(),
    }
}
