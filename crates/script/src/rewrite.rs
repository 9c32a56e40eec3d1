//! Rewrites the text of scripts and libraries for the engine. Imports of modules that the engine
//! does not have become calls of the loader.
//!
//! The engine runs a library's text with a dict as its namespace, and does not know that the
//! library is a module. Therefore this module rewrites imports, assignments to a `global` name in a
//! library's function, and assignments to attributes of an imported library. `os.environ` is
//! rewritten because the engine makes a new dict at each use, and `raise` because an exception of
//! the engine holds only one text. Lines keep their numbers, so tracebacks need no line map. This
//! module looks only at the syntax tree and never runs anything. [`language`] replaces parts of
//! Python that the engine lacks or does differently, and [`refuse`] and [`keys`] find the
//! code that cannot be rewritten.

mod environment;
mod keys;
mod language;
mod names;
mod refuse;
mod scopes;
mod statements;

use ruff_python_ast::{
    Expr,
    visitor::{Visitor, walk_expr},
};
use ruff_python_parser::parse_module;
use ruff_text_size::{Ranged, TextRange, TextSize};

use self::refuse::Refusal;
use crate::{ErrorKind, Frame, ScriptError};

/// The end of hints about code that CPython runs and the embedded engine refuses.
pub const UNSUPPORTED: &str =
    "or run it on CPython: `command = \"python3\"` for a method server, `python3` for a script";

/// The maximum size of a script or library.
pub const SOURCE_BYTES_MAX: usize = 1024 * 1024;

/// Longer sources are scanned for nesting before they are parsed. A shorter source cannot make the
/// parser recurse too deep.
const NESTING_SCAN_BYTES: usize = 4 * 1024;

/// The role of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role<'a> {
    /// The script itself. Its globals are the globals of the engine. `path` is its `__file__`.
    Main { path: &'a str },
    /// A library. Its namespace is a dict, of which scripts see a copy: the module object.
    Library,
    /// A library that is part of `svc`. It is written for the engine, so [`refuse`] and
    /// [`language`] are not applied.
    Own,
}

/// The text with `\n` line ends and without a byte order mark. Line numbers refer to this text.
pub fn normalize(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.to_owned()
    }
}

/// The text to run instead of `text`, which must be normalized.
pub fn rewrite(file: &str, text: &str, role: Role<'_>) -> Result<String, ScriptError> {
    if text.len() > SOURCE_BYTES_MAX {
        let mut error = ScriptError::bare(
            ErrorKind::Unsupported,
            format!(
                "NotImplementedError: `{file}` is larger than {} KiB",
                SOURCE_BYTES_MAX / 1024
            ),
        );
        error.hint = Some("split it into libraries".to_owned());
        return Err(error);
    }
    if !monty::source_within_nesting_bound(text, NESTING_SCAN_BYTES) {
        return Err(ScriptError::bare(
            ErrorKind::Syntax,
            format!("SyntaxError: `{file}` is too deeply nested"),
        ));
    }
    let parsed = parse_module(text).map_err(|error| {
        syntax_error(file, text, error.location.start(), &error.error.to_string())
    })?;
    let mut edits = Vec::new();
    let mut later = Vec::new();
    if role != Role::Own {
        let refused = refuse::find(parsed.suite()).or_else(|| keys::find(text, parsed.suite()));
        let found = match refused {
            Some(refusal) => Err(refusal),
            None => language::edits(text, parsed.suite()),
        };
        let found = found.map_err(|refusal| unsupported(file, text, &refusal))?;
        (edits, later) = (found.closing, found.others);
    }
    edits.extend(statements::edits(text, role, parsed.suite()));
    edits.append(&mut later);
    if let Role::Main { path } = role
        && text.contains("__file__")
    {
        let mut file = FileName {
            path,
            edits: &mut edits,
        };
        Visitor::visit_body(&mut file, parsed.suite());
    }
    environment::edit(text, parsed.suite(), &mut edits);
    Ok(apply(text, edits))
}

/// Whether rewritten code needs the functions of `modules::LANGUAGE`.
pub fn needs_language(code: &str) -> bool {
    code.contains(language::PREFIX)
}

fn syntax_error(file: &str, text: &str, at: TextSize, message: &str) -> ScriptError {
    ScriptError {
        kind: ErrorKind::Syntax,
        message: format!("SyntaxError: {message}"),
        frames: vec![frame_at(file, text, at)],
        hint: None,
    }
}

fn unsupported(file: &str, text: &str, refusal: &Refusal) -> ScriptError {
    ScriptError {
        kind: ErrorKind::Unsupported,
        message: format!(
            "NotImplementedError: the embedded engine does not support {}",
            refusal.what
        ),
        frames: vec![frame_at(file, text, refusal.at)],
        hint: Some(format!("{}, {UNSUPPORTED}", refusal.instead)),
    }
}

fn frame_at(file: &str, text: &str, at: TextSize) -> Frame {
    let before = &text[..at.to_usize().min(text.len())];
    let line_start = before.rfind('\n').map_or(0, |index| index + 1);
    let line = before.matches('\n').count() + 1;
    let column = before[line_start..].chars().count() + 1;
    Frame {
        file: file.to_owned(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        function: "<module>".to_owned(),
        source_line: text.lines().nth(line - 1).map(str::to_owned),
    }
}

fn apply(text: &str, mut edits: Vec<(TextRange, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start(), range.end()));
    let mut out = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for (range, new) in edits {
        out.push_str(&text[done..range.start().to_usize()]);
        out.push_str(&new);
        done = range.end().to_usize();
    }
    out.push_str(&text[done..]);
    out
}

/// Replaces `__file__` with the path of the script, which the engine does not know.
struct FileName<'a> {
    path: &'a str,
    edits: &'a mut Vec<(TextRange, String)>,
}

impl<'a> Visitor<'a> for FileName<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.id.as_str() == "__file__" && name.ctx.is_load() => {
                self.edits.push((name.range(), python_text(self.path)));
            }
            _ => walk_expr(self, expr),
        }
    }
}

fn python_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
