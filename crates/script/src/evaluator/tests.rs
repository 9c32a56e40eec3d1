//! Runs scripts and checks their results and errors.

mod calls;
mod documented;
mod engine;
mod errors;
mod files;
mod imports;
mod library;
mod limits;
mod programs;

use std::collections::HashMap;

use super::{Evaluator, check};
use crate::{
    Abilities, ErrorKind, Exception, Flavour, Host, Limits, Raise, ScriptError, Setting, Source,
    Stream,
};

/// A host that answers from tables and records all requests.
#[derive(Default)]
struct TestHost {
    libraries: HashMap<String, String>,
    answers: HashMap<String, Result<String, Raise>>,
    asked: Vec<(String, String)>,
    stdout: String,
    stderr: String,
}

impl TestHost {
    fn with(libraries: &[(&str, &str)]) -> Self {
        Self {
            libraries: libraries
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
            ..Self::default()
        }
    }

    fn answering(mut self, operation: &str, answer: &str) -> Self {
        let answer = Ok(answer.to_owned());
        self.answers.insert(operation.to_owned(), answer);
        self
    }
}

impl Host for TestHost {
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise> {
        self.asked.push(("library".to_owned(), module.to_owned()));
        Ok(self.libraries.get(module).map(|text| Source {
            file: format!("{}.py", module.replace('.', "/")),
            text: text.clone(),
        }))
    }

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise> {
        self.asked.push((operation.to_owned(), argument.to_owned()));
        self.answers.get(operation).cloned().unwrap_or_else(|| {
            Err(Raise::new(
                Exception::RuntimeError,
                format!("no answer to `{operation}`"),
            ))
        })
    }

    fn print(&mut self, stream: Stream, text: &str) {
        match stream {
            Stream::Stdout => self.stdout.push_str(text),
            Stream::Stderr => self.stderr.push_str(text),
        }
    }
}

fn setting(flavour: Flavour) -> Setting {
    Setting {
        flavour,
        abilities: Abilities::None,
        limits: Limits::SANDBOX,
        args: vec!["script.py".to_owned(), "one".to_owned()],
    }
}

fn source(text: &str) -> Source {
    Source {
        file: "script.py".to_owned(),
        text: text.to_owned(),
    }
}

fn run_as(flavour: Flavour, text: &str, host: &mut TestHost) -> Result<(), ScriptError> {
    Evaluator::new(&setting(flavour)).run(&source(text), host)
}

/// The output of a script that must succeed.
fn printed(text: &str, host: &mut TestHost) -> String {
    match run_as(Flavour::Space, text, host) {
        Ok(()) => std::mem::take(&mut host.stdout),
        Err(error) => panic!("{error}\nhint: {:?}", error.hint),
    }
}

fn fails(text: &str, host: &mut TestHost) -> ScriptError {
    run_as(Flavour::Space, text, host).expect_err("the script must fail")
}

/// The innermost frame, as `file:line in function: source`.
fn place(error: &ScriptError) -> String {
    let frame = error.place().expect("the error has a frame");
    let source = frame.source_line.as_deref().unwrap_or_default().trim();
    format!(
        "{}:{} in {}: {source}",
        frame.file, frame.line, frame.function
    )
}
