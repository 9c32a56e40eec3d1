//! Records what a script would register, without an agent.

use serde::Deserialize;
use serde_json::json;
use svc_core::registration::{CheckedRegistration, Registration};
use svc_protocol::{
    agent_api::{Registered, Unregistered},
    document,
    registration_file::{FileError, without_text},
};
use svc_script::{Exception, Host, Raise, Source, SpaceHost, Stream};

use crate::{
    commands::{
        methods::{Names, report_file_errors},
        own_script::print_to_stderr,
    },
    exit::Failure,
};

/// The script's last registration, and which of its methods the script unregistered afterwards.
pub struct RecordedRegistration {
    pub registration: Registration,
    /// In the order of the registration.
    methods: Vec<RecordedMethod>,
}

struct RecordedMethod {
    name: String,
    local_name: String,
    is_kept: bool,
}

impl RecordedRegistration {
    fn new(registration: Registration, names: &Names) -> Self {
        // An invalid registration keeps the names as written; its errors are reported later.
        let checked = registration.clone().check(&names.space, &names.owner);
        let recorded_method = |name: String, local_name: String| RecordedMethod {
            name,
            local_name,
            is_kept: true,
        };
        let methods = match checked {
            Ok(checked) => checked
                .methods
                .into_iter()
                .map(|method| recorded_method(method.name.to_string(), method.local_name))
                .collect(),
            Err(_) => registration
                .methods
                .iter()
                .map(|method| {
                    let local_name = method.local_name.as_ref().unwrap_or(&method.name);
                    recorded_method(method.name.clone(), local_name.clone())
                })
                .collect(),
        };
        Self {
            registration,
            methods,
        }
    }

    /// Checks the registration of a script. The result has no unregistered methods.
    pub fn check(&self, file: &str, names: &Names) -> Result<CheckedRegistration, Failure> {
        let checked = self.registration.clone().check(&names.space, &names.owner);
        let mut checked = checked.map_err(|violations| {
            let error = FileError {
                warnings: self.registration.misspelled_keywords(),
                ..without_text(file, &violations)
            };
            report_file_errors(file, &error)
        })?;
        self.retain(&mut checked.methods);
        Ok(checked)
    }

    /// Removes unregistered methods from `list`, which must be in the order of the registration.
    pub fn retain<T>(&self, list: &mut Vec<T>) {
        let mut kept = self.methods.iter().map(|method| method.is_kept);
        list.retain(|_| kept.next().unwrap_or(true));
    }

    fn names(&self) -> Vec<String> {
        let kept = self.methods.iter().filter(|method| method.is_kept);
        kept.map(|method| method.name.clone()).collect()
    }

    fn unregister(&mut self, local_name: Option<&str>) -> Result<Unregistered, Raise> {
        let mut removed = Vec::new();
        for method in &mut self.methods {
            if method.is_kept && local_name.is_none_or(|name| name == method.local_name) {
                method.is_kept = false;
                removed.push(method.name.clone());
            }
        }
        match local_name {
            Some(name) if removed.is_empty() => Err(Raise::runtime(format!(
                "no method with the local name `{name}` is registered"
            ))),
            _ => Ok(Unregistered {
                removed,
                remaining: self.names(),
            }),
        }
    }
}

/// Records registrations; every other operation behaves as outside of a space.
pub(super) struct RecordingHost<'a> {
    pub(super) host: SpaceHost,
    pub(super) names: &'a Names,
    pub(super) recorded: Option<RecordedRegistration>,
}

impl RecordingHost<'_> {
    fn register(&mut self, argument: &str) -> Result<String, Raise> {
        let registration = svc_script::read_registration(argument)?;
        let recorded = self
            .recorded
            .insert(RecordedRegistration::new(registration, self.names));
        let registered = Registered {
            methods: recorded.names(),
            warnings: Vec::new(),
        };
        Ok(json!(registered).to_string())
    }

    fn unregister(&mut self, argument: &str) -> Result<String, Raise> {
        #[derive(Deserialize)]
        struct Unregister {
            local_name: Option<String>,
        }
        let Unregister { local_name } = document::read_json(argument.as_bytes())
            .map_err(|error| Raise::new(Exception::ValueError, error.to_string()))?;
        let unregistered = match &mut self.recorded {
            Some(recorded) => recorded.unregister(local_name.as_deref())?,
            // Earlier registrations of a space are not known here.
            None => Unregistered {
                removed: Vec::new(),
                remaining: Vec::new(),
            },
        };
        Ok(json!(unregistered).to_string())
    }
}

impl Host for RecordingHost<'_> {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        self.host.library(module)
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        match operation {
            "register" => self.register(argument),
            "unregister" => self.unregister(argument),
            _ => self.host.call(operation, argument),
        }
    }

    fn print(&mut self, _: Stream, text: &str) {
        print_to_stderr(text);
    }
}
