//! Turns the engine's exceptions into errors with the author's files and lines.

use std::time::Duration;

use monty_types::{ExcType, MontyException, StackFrame, StringRepr};

use super::{Evaluator, texts::Text};
use crate::{
    ErrorKind, Flavour, Frame, Host, ScriptError, Stream, modules::built_in_names,
    rewrite::UNSUPPORTED,
};

/// Frames kept at each end of a long traceback.
const FRAMES_KEPT: usize = 10;

/// The maximum number of bytes kept of a message. Scripts choose the texts of their exceptions, so
/// these texts can be large.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// The maximum number of bytes kept of a source line.
const LINE_BYTES_MAX: usize = 400;

/// The engine's error for a call of `input()`.
const NO_INPUT: &str = "name 'input' is not defined";

const INPUT: &str = "the embedded engine has no `input()`: a handler or tool gets its params, a \
                     script its arguments (`sys.argv`)";

const UNSUPPORTED_ON_SERVER: &str = "because there is no other engine on the server";

/// The end of the engine's message when a function that the engine itself calls, such as a sort
/// key, calls the host.
const SYNCHRONOUS: &str = "cannot suspend in this synchronous context";

const CALLED_BY_ENGINE: &str = "a function that the engine itself calls (`key=…`, `__str__`, `__next__`, \
                                …) cannot use files, processes or `svc`: get the values before, in a loop";

const INCOMPLETE: &str = "the embedded engine does not have all of Python; docs/SCRIPTS.md has a table of \
                          what to write instead";

const NO_EMIT: &str = "sink scripts receive events and cannot emit";

/// An error of the compiler. `text` is the author's source.
pub fn of_compilation(file: &str, text: &str, exception: &MontyException) -> ScriptError {
    let frames = exception.traceback().iter().map(|frame| {
        let line = frame.start.line;
        let source_line = text.lines().nth(line.saturating_sub(1) as usize);
        to_frame(frame, file, line, source_line)
    });
    let frames = frames.collect();
    let (kind, hint) = match exception.exc_type() {
        ExcType::SyntaxError => (ErrorKind::Syntax, None),
        _ => (ErrorKind::Unsupported, Some(rewrite_or_run())),
    };
    ScriptError {
        kind,
        message: message_of(exception),
        frames,
        hint,
    }
}

impl Evaluator {
    /// Turns the engine's exception into the error of the run.
    pub(super) fn failed(
        &mut self,
        exception: &MontyException,
        host: &mut dyn Host,
    ) -> ScriptError {
        let mut error = ScriptError {
            kind: ErrorKind::Exception,
            message: message_of(exception),
            frames: self.frames(exception),
            hint: None,
        };
        if let Some(why) = self.pending.stopped.take() {
            error.message = self.limit_message(&why);
            error.kind = why;
        } else if let Some(kind) = limit_of(exception) {
            error.message = self.limit_message(&kind);
            error.kind = kind;
        } else if exception.exc_type() == ExcType::SystemExit {
            error.kind = ErrorKind::Exit(exit_code(exception, host));
        } else if let Some(fault) = self.pending.library.take()
            && fault.message == error.message
        {
            error.kind = fault.kind;
            error.frames.extend(fault.frames);
            error.hint = fault.hint;
        } else if let Some(fault) = self.pending.rpc.take()
            && exception.exc_type() == ExcType::RuntimeError
            && exception.message() == Some(fault.message.as_str())
        {
            error.kind = ErrorKind::Rpc(Box::new(fault));
        } else {
            self.explain(exception, &mut error);
        }
        self.adapt_hint(&mut error);
        error
    }

    /// The error for a limit that was reached at an unknown line.
    pub(super) fn limit_reached(&self, limit: &ErrorKind) -> ScriptError {
        ScriptError::bare(limit.clone(), self.limit_message(limit))
    }

    pub(super) fn adapt_hint(&self, error: &mut ScriptError) {
        if self.setting.flavour != Flavour::Space {
            adapt_hint_to_server(error);
        }
    }

    fn explain(&self, exception: &MontyException, error: &mut ScriptError) {
        let message = exception.message().unwrap_or_default();
        match exception.exc_type() {
            // The engine refuses code that CPython would run.
            ExcType::NotImplementedError if message.starts_with(PARSER) => {
                error.kind = ErrorKind::Unsupported;
                error.hint = Some(rewrite_or_run());
            }
            ExcType::RuntimeError if message.starts_with(INTERNAL) => {
                error.kind = ErrorKind::Unsupported;
                error.hint = Some(rewrite_or_run());
            }
            ExcType::NotImplementedError if message.ends_with(SYNCHRONOUS) => {
                error.hint = Some(CALLED_BY_ENGINE.to_owned());
            }
            ExcType::NameError if message == NO_INPUT => {
                error.hint = Some(INPUT.to_owned());
            }
            ExcType::NameError if names_missing_built_in(message) => {
                error.hint = Some(format!("{INCOMPLETE}, {UNSUPPORTED}"));
            }
            ExcType::AttributeError | ExcType::ImportError if names_built_in_object(message) => {
                error.hint = Some(format!("{INCOMPLETE}, {UNSUPPORTED}"));
            }
            ExcType::AttributeError | ExcType::ImportError
                if self.setting.flavour == Flavour::Sink && names_emit(message) =>
            {
                error.hint = Some(NO_EMIT.to_owned());
            }
            ExcType::ModuleNotFoundError if message.ends_with('\'') => {
                error.hint = Some(self.where_modules_are());
            }
            _ => {}
        }
    }

    fn where_modules_are(&self) -> String {
        let names = built_in_names().join(", ");
        match self.setting.flavour {
            Flavour::Space => format!(
                "the embedded engine has {names}, subprocess and svc; a library of yours is a file \
                 beside the script, or a stored library script (`svc script list`); for any \
                 other module use `command = \"python3\"` for the method server"
            ),
            Flavour::Tool | Flavour::Sink => format!(
                "scripts on the server have {names}, svc.event and svc.api, and stored library \
                 scripts (`svc script list`)"
            ),
        }
    }

    fn limit_message(&self, kind: &ErrorKind) -> String {
        let limits = &self.setting.limits;
        match kind {
            ErrorKind::TimeLimit => format!(
                "the script ran longer than {}",
                format_duration(limits.time.unwrap_or_default())
            ),
            ErrorKind::MemoryLimit => format!(
                "the script used more than {} MiB",
                limits.memory_bytes.unwrap_or_default() / (1024 * 1024)
            ),
            ErrorKind::HostCallLimit => format!(
                "the script made more than {} calls to its host",
                limits.host_calls
            ),
            _ => "the script waits for a future that never completes".to_owned(),
        }
    }

    fn frames(&self, exception: &MontyException) -> Vec<Frame> {
        let mut frames: Vec<Frame> = exception
            .traceback()
            .iter()
            .filter_map(|frame| self.frame(frame))
            .collect();
        let left_out = frames.len().saturating_sub(2 * FRAMES_KEPT);
        if left_out > 1 {
            let gap = Frame {
                file: String::new(),
                line: 0,
                column: 0,
                function: format!("{left_out} more calls"),
                source_line: None,
            };
            frames.splice(FRAMES_KEPT..FRAMES_KEPT + left_out, [gap]);
        }
        frames
    }

    /// Returns `None` for a frame of code that the author did not write.
    fn frame(&self, frame: &StackFrame) -> Option<Frame> {
        let name = frame.filename.as_str();
        match self.texts.find(name, frame.start.line) {
            Some((Text { hidden: true, .. }, _)) => None,
            Some((text, line)) => Some(to_frame(frame, &text.file, line, text.line(line))),
            // Also hide code that the evaluator adds around a call, and modules of the engine that
            // are written in Python.
            None if name != "<string>" => None,
            None => Some(to_frame(frame, name, frame.start.line, None)),
        }
    }
}

/// Adapts the hint to the server, which has no other engine.
pub fn adapt_hint_to_server(error: &mut ScriptError) {
    if let Some(hint) = &mut error.hint {
        *hint = hint.replace(UNSUPPORTED, UNSUPPORTED_ON_SERVER);
    }
}

/// Start of the compiler's messages about unsupported code.
const PARSER: &str = "The monty syntax parser does not yet support";

/// Start of the engine's messages about internal errors.
const INTERNAL: &str = "Internal error in monty";

/// Whether the message is about the `emit` that `svc.event` lacks in a sink. The first of the two
/// messages names no module, but no other module has an `emit`.
fn names_emit(message: &str) -> bool {
    message == "'module' object has no attribute 'emit'"
        || message == "cannot import name 'emit' from 'svc.event'"
}

/// Built-in functions of Python that the engine lacks.
const MISSING: &str = "aiter anext ascii breakpoint bytearray classmethod compile delattr dir globals \
                       help issubclass memoryview staticmethod super vars";

/// Types of the engine whose methods and attributes are not complete.
const TYPES: &str = "bytes datetime.date datetime.datetime datetime.timedelta dict float frozenset \
                     function int list re.Match re.Pattern set str tuple PosixPath";

fn rewrite_or_run() -> String {
    format!("rewrite it, {UNSUPPORTED}")
}

fn names_missing_built_in(message: &str) -> bool {
    let mut names = MISSING.split_ascii_whitespace();
    names.any(|name| message == format!("name '{name}' is not defined"))
}

/// Whether the message is about an attribute of a built-in type or module.
fn names_built_in_object(message: &str) -> bool {
    if message.starts_with("module '") || message.starts_with("cannot import name '") {
        let names = built_in_names();
        return names
            .iter()
            .any(|name| message.contains(&format!("'{name}'")));
    }
    let mut types = TYPES.split_ascii_whitespace();
    types.any(|name| {
        message.starts_with(&format!("'{name}' object has no attribute"))
            || message.starts_with(&format!("type object '{name}' has no attribute"))
    })
}

fn to_frame(frame: &StackFrame, file: &str, line: u32, source_line: Option<&str>) -> Frame {
    Frame {
        file: file.to_owned(),
        line,
        column: frame.start.column,
        function: frame
            .frame_name
            .clone()
            .unwrap_or_else(|| "<module>".to_owned()),
        source_line: source_line.map(|line| cut(line.trim_end(), LINE_BYTES_MAX)),
    }
}

fn message_of(exception: &MontyException) -> String {
    let message = match (exception.exc_type(), exception.message()) {
        // Quoted as in Python, because a key may be empty or contain spaces.
        (ExcType::KeyError, Some(key)) => format!("KeyError: {}", StringRepr(key)),
        _ => exception.summary(),
    };
    let message = message
        .replace(PARSER, "the embedded engine does not support")
        .replace(INTERNAL, "the embedded engine gave up");
    cut(&message, MESSAGE_BYTES_MAX)
}

fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes_max)])
}

/// Recognises the engine's own limits, which no script can catch.
fn limit_of(exception: &MontyException) -> Option<ErrorKind> {
    let message = exception.message().unwrap_or_default();
    match exception.exc_type() {
        ExcType::TimeoutError if message.contains("time limit exceeded: ") => {
            Some(ErrorKind::TimeLimit)
        }
        ExcType::MemoryError if message.starts_with("memory limit exceeded: ") => {
            Some(ErrorKind::MemoryLimit)
        }
        _ => None,
    }
}

/// As in CPython: no value is success, a number is the exit code, and any other value is printed to
/// stderr and gives exit code 1.
fn exit_code(exception: &MontyException, host: &mut dyn Host) -> i32 {
    match exception.message().unwrap_or("None") {
        "None" | "False" => 0,
        "True" => 1,
        text => text.parse().unwrap_or_else(|_| {
            host.print(Stream::Stderr, &format!("{text}\n"));
            1
        }),
    }
}

fn format_duration(time: Duration) -> String {
    let millis = time.as_millis();
    if millis.is_multiple_of(1_000) {
        format!("{} s", millis / 1_000)
    } else {
        format!("{millis} ms")
    }
}
