//! Is what a person stores a script that can work? Everything is refused here, with the reason,
//! rather than found out when it runs. Compiles, runs nothing.

use std::thread;

use serde_json::Value;
use svc_core::{
    name::check_free_name,
    schema::{self, SchemaError},
};
use svc_protocol::api::ScriptKind;
use svc_script::{ScriptError, Source};

use tokio::sync::{Semaphore, oneshot};

use super::{ScriptsError, report::outline};

/// Bytes of a source.
pub const SOURCE_BYTES_MAX: usize = 256 * 1024;
/// A syntax tree is as deep as its longest chain (`1+1+1…`), and is taken down level by level:
/// room for a source that is nothing else. What is not used of it is never really taken.
const STACK_BYTES: usize = 256 * 1024 * 1024;
/// Characters of a description.
const DESCRIPTION_MAX: usize = 1_000;
/// Characters of a library's name.
const LIBRARY_NAME_MAX: usize = 64;

/// Modules that our own loader provides, or that stand for a script itself.
const RESERVED: &[&str] = &["svc", "subprocess", "sys", "__main__"];

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

pub fn name(kind: ScriptKind, name: &str) -> Result<(), ScriptsError> {
    match kind {
        ScriptKind::Library => library_name(name),
        ScriptKind::Startup | ScriptKind::Sink | ScriptKind::Tool => {
            Ok(check_free_name("script", name)?)
        }
    }
}

/// Others import a library by its name.
fn library_name(name: &str) -> Result<(), ScriptsError> {
    let refused = |why: &str| {
        let shown: String = name.chars().take(LIBRARY_NAME_MAX).collect();
        let message = format!("a library cannot be named `{shown}`: {why}");
        Err(ScriptsError::invalid("invalid_name", message))
    };
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let goes_on = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !starts || !goes_on || name.len() > LIBRARY_NAME_MAX || KEYWORDS.contains(&name) {
        return refused(
            "scripts import it by its name, so that must be a Python name of at most 64 letters, digits and `_`",
        );
    }
    if RESERVED.contains(&name) || svc_script::is_built_in(name) {
        return refused("a module of this name is built in, and would hide it");
    }
    Ok(())
}

pub fn description(text: &str) -> Result<(), ScriptsError> {
    let length = text.chars().count();
    if length <= DESCRIPTION_MAX {
        return Ok(());
    }
    Err(ScriptsError::invalid(
        "invalid",
        format!("the description has {length} characters; at most {DESCRIPTION_MAX} are allowed"),
    ))
}

/// What a tool's `main` takes; no other kind takes anything.
pub fn params_schema(kind: ScriptKind, params: Option<&Value>) -> Result<(), ScriptsError> {
    let Some(params) = params else {
        return Ok(());
    };
    let invalid = |message: String| Err(ScriptsError::invalid("invalid_schema", message));
    if kind != ScriptKind::Tool {
        return invalid("only a tool script has a `params_schema`".to_owned());
    }
    let checked = schema::check(params).and_then(|()| schema::check_tool_root(params));
    match checked {
        Ok(()) => Ok(()),
        Err(SchemaError::ToolRootNotObject) => invalid(
            "`params_schema`: the root type must be `object`, because a tool takes named arguments"
                .to_owned(),
        ),
        Err(error) => {
            let at: Vec<_> = std::iter::once("params_schema")
                .chain(error.steps())
                .collect();
            invalid(format!("`{}`: {error}", at.join(".")))
        }
    }
}

/// Compiles sources, a few at a time.
pub struct Checker {
    places: Semaphore,
}

impl Checker {
    /// `at_once`: a hostile source may take some hundred megabytes while it is looked at.
    pub fn new(at_once: usize) -> Self {
        Self {
            places: Semaphore::new(at_once),
        }
    }

    /// Refuses what the engine could not even begin to run; the text says where and what.
    pub async fn source(&self, file: String, text: String) -> Result<(), String> {
        if text.len() > SOURCE_BYTES_MAX {
            return Err(format!(
                "the source has {} bytes; at most {SOURCE_BYTES_MAX} are allowed",
                text.len()
            ));
        }
        let failed = "the source could not be checked; try again".to_owned();
        let Ok(_place) = self.places.acquire().await else {
            return Err(failed);
        };
        let script = Source { file, text };
        let (send, checked) = oneshot::channel();
        let spawned = thread::Builder::new()
            .name("check script".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                // Whoever asked may have gone.
                let _ = send.send(svc_script::check(&script));
            });
        match (spawned, checked.await) {
            (Ok(_), Ok(checked)) => checked.map_err(|error| refusal(&error)),
            _ => Err(failed),
        }
    }
}

/// `notes.py:3: SyntaxError: …: `def (:``, and the way out.
fn refusal(error: &ScriptError) -> String {
    let mut text = outline(error);
    if let Some(line) = error.place().and_then(|place| place.source_line.as_deref()) {
        let line: String = line.trim().chars().take(200).collect();
        text.push_str(&format!(": `{line}`"));
    }
    if let Some(hint) = &error.hint {
        text.push_str(&format!("; {hint}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// The longest source there may be, all nesting or chaining: it is refused or taken, and the
    /// process that looked at it lives on.
    #[tokio::test]
    async fn a_source_that_is_all_depth_harms_nobody() {
        let many = |piece: &str| piece.repeat(SOURCE_BYTES_MAX / piece.len() - 16);
        let half = |piece: &str| piece.repeat(SOURCE_BYTES_MAX / 2 / piece.len() - 16);
        let ladder = || -> String {
            let steps = (0..700).map(|depth| format!("{}if x:\n", " ".repeat(depth)));
            steps.collect::<String>() + &" ".repeat(700) + "pass\n"
        };
        let sources = [
            many("("),
            many("["),
            many("{"),
            many("f("),
            many("{1:"),
            many("-"),
            many("not "),
            many("~"),
            many("lambda:"),
            many("await "),
            many("*"),
            format!("x = {}1", many("-")),
            format!("x = {}1", many("not ")),
            format!("x = {}1", many("lambda: ")),
            format!("x = 1{}", many("+1")),
            format!("x = __file__{}", many("+1")),
            format!("x = __file__{}", many(".a")),
            format!("x = 1{}", many("**1")),
            format!("x = a{}", many(".a")),
            format!("x = a{}", many("[0]")),
            format!("x = a{}", many("()")),
            format!("x = 1{}", many(" if 1 else 1")),
            format!("x = 1{}", many(" and 1")),
            format!("x = 1{}", many(" < 1")),
            format!("x = {}1{}", half("("), half(")")),
            format!("x = {}1{}", half("["), half("]")),
            format!("x = {}1{}", half("f("), half(")")),
            format!("x = f'{}1{}'", half("{"), half("}")),
            format!("{}x = 1", many("x = ")),
            format!("if x:\n pass\n{}", many("elif x:\n pass\n")),
            format!("x: {}int{}", half("list["), half("]")),
            format!("match x:\n case {}1{}:\n  pass\n", half("["), half("]")),
            format!("def f(a={}1{}): pass", half("("), half(")")),
            ladder(),
            many("@a\n"),
            many("\\\n"),
            many("\0"),
            many("\u{feff}"),
        ];
        let checker = Checker::new(1);
        for text in sources {
            let began = Instant::now();
            let start: String = text.chars().take(20).collect();
            let _ = checker.source("deep.py".to_owned(), text).await;
            let took = began.elapsed();
            assert!(took < Duration::from_secs(10), "{start:?} took {took:?}");
        }
    }
}
