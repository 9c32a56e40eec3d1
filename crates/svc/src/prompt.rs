//! Asks the user on a terminal, reads secrets and texts from stdin, and parses texts of options.
//!
//! Check [`can_ask`] first: without a terminal no question may be asked.

use std::{
    io::{self, BufRead, IsTerminal, Read, Write},
    time::Duration,
};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::value::RawValue;
use svc_core::json_text::JsonText;
use svc_protocol::document::not_json;

use crate::{exit::Failure, runtime::INTERRUPTED};

/// The maximum size of stdin, if secrets are read from it.
const SECRET_BYTES_MAX: usize = 4_096;

pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn show(question: &str) -> Result<(), Failure> {
    eprint!("{question}: ");
    io::stderr().flush().map_err(unreadable)
}

/// Asks on stderr and reads a line.
pub fn ask(question: &str) -> Result<String, Failure> {
    show(question)?;
    let mut line = String::new();
    let mut stdin = io::stdin().lock();
    if stdin.read_line(&mut line).map_err(unreadable)? == 0 {
        return Err(Failure::usage(format!("no answer to `{question}`")));
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Asks for a secret, without echo.
pub fn ask_secret(question: &str) -> Result<String, Failure> {
    show(question)?;
    let no_echo = EchoOff::new()?;
    let typed = read_typed(io::stdin().lock().bytes());
    drop(no_echo);
    eprintln!();
    match typed.map_err(unreadable)? {
        TypedInput::Line(line) => Ok(line),
        TypedInput::Nothing => Err(Failure::usage(format!("no answer to `{question}`"))),
        TypedInput::Interrupted => std::process::exit(INTERRUPTED),
    }
}

/// What the user typed without echo.
#[derive(PartialEq, Eq, Debug)]
enum TypedInput {
    Line(String),
    /// The input ended.
    Nothing,
    /// Ctrl-C.
    Interrupted,
}

/// Reads a line from a terminal whose own line editing is off, and handles the editing keys here.
fn read_typed(keys: impl Iterator<Item = io::Result<u8>>) -> io::Result<TypedInput> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const CTRL_U: u8 = 21;
    const BACKSPACE: u8 = 8;
    const DELETE: u8 = 127;
    let mut line = Vec::new();
    for key in keys {
        match key? {
            b'\n' | b'\r' => {
                return String::from_utf8(line)
                    .map(TypedInput::Line)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            }
            CTRL_C => return Ok(TypedInput::Interrupted),
            CTRL_D if line.is_empty() => return Ok(TypedInput::Nothing),
            CTRL_D => {}
            CTRL_U => line.clear(),
            BACKSPACE | DELETE => {
                // Remove a whole character, which may have several bytes.
                while line.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
            }
            byte => line.push(byte),
        }
    }
    Ok(TypedInput::Nothing)
}

/// Turns echo, signals and line editing of the terminal off; the former state is restored on drop.
/// With signals off, Ctrl-C cannot end the process before the state is restored.
struct EchoOff {
    former: Termios,
}

impl EchoOff {
    fn new() -> Result<Self, Failure> {
        let former = tcgetattr(io::stdin()).map_err(unreadable)?;
        let mut no_echo = former.clone();
        no_echo
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ISIG | LocalModes::ICANON);
        tcsetattr(io::stdin(), OptionalActions::Drain, &no_echo).map_err(unreadable)?;
        Ok(Self { former })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.former);
    }
}

/// Reads a secret from stdin: its first line.
pub fn read_secret() -> Result<String, Failure> {
    read_secrets().map(|mut secrets| secrets.swap_remove(0))
}

/// Reads secrets from stdin: one on each line, at least one.
pub fn read_secrets() -> Result<Vec<String>, Failure> {
    let mut bytes = Vec::new();
    let mut bounded = io::stdin().lock().take(SECRET_BYTES_MAX as u64 + 1);
    bounded.read_to_end(&mut bytes).map_err(unreadable)?;
    parse_secrets(bytes)
}

fn parse_secrets(bytes: Vec<u8>) -> Result<Vec<String>, Failure> {
    if bytes.len() > SECRET_BYTES_MAX {
        return Err(Failure::usage(format!(
            "standard input has more than {SECRET_BYTES_MAX} bytes; a secret was expected there"
        )));
    }
    let text = String::from_utf8(bytes).map_err(unreadable)?;
    if text.lines().next().unwrap_or_default().is_empty() {
        let what = "the first line of standard input is empty; a secret was expected there";
        return Err(Failure::usage(what));
    }
    Ok(text.lines().map(str::to_owned).collect())
}

/// The text of an argument. `-` means stdin. Without an argument, the text is stdin if stdin is
/// redirected, and empty if stdin is a terminal.
pub fn argument_or_stdin(argument: Option<String>) -> Result<String, Failure> {
    match argument {
        Some(text) if text != "-" => Ok(text),
        None if io::stdin().is_terminal() => Ok(String::new()),
        _ => read_stdin(),
    }
}

/// Asks for a new secret twice, without echo.
pub fn ask_twice(question: &str) -> Result<String, Failure> {
    let first = ask_secret(question)?;
    if ask_secret("once more")? == first {
        Ok(first)
    } else {
        Err(Failure::usage("the two passwords differ"))
    }
}

/// Parses a text that must be a JSON object; `what` is its name in messages.
pub fn parse_object(what: &str, text: &str) -> Result<Box<RawValue>, Failure> {
    let refuse = || Failure::usage(format!("{what} must be a JSON object"));
    let json = parse_json(text).map_err(|why| refuse().why(why))?;
    if json.is_object() {
        Ok(json.into_raw())
    } else {
        Err(refuse())
    }
}

/// Checks that a text is JSON. `what` is its name in messages; `command` reads the text.
pub fn check_json<'a>(what: &str, text: &'a str, command: &str) -> Result<&'a RawValue, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::usage(format!("{what} are not JSON"))
            .why(not_json(text.as_bytes(), &error))
            .hint(format!(
                "quote them for the shell: {command} '{{\"key\": \"value\"}}'"
            ))
    })
}

/// Parses a JSON text.
pub fn parse_json(text: &str) -> Result<JsonText, String> {
    if let Err(error) = serde_json::from_str::<&RawValue>(text) {
        return Err(not_json(text.as_bytes(), &error));
    }
    JsonText::parse(text).map_err(|error| error.to_string())
}

/// Parses a number of seconds, for an option.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "give a number of seconds, such as 30 or 0.5".to_owned())
}

/// Reads all of stdin.
pub fn read_stdin() -> Result<String, Failure> {
    io::read_to_string(io::stdin().lock()).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::failed("cannot read from standard input").why(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_the_lines_of_stdin() {
        let check = |text: &str, expected: &[&str]| {
            let secrets = parse_secrets(text.into()).expect(text);
            assert_eq!(secrets, expected, "{text:?}");
        };
        check("one", &["one"]);
        check("one\n", &["one"]);
        check("old\r\nnew\r\nmore\n", &["old", "new", "more"]);
        for empty in ["", "\n", "\r\n", "\none"] {
            let failure = parse_secrets(empty.into()).expect_err(empty).to_string();
            assert!(failure.contains("is empty"), "{failure}");
        }
    }

    #[test]
    fn a_secret_that_is_too_long_is_an_error_with_the_limit() {
        assert!(parse_secrets(vec![b'x'; SECRET_BYTES_MAX]).is_ok());
        let failure = parse_secrets(vec![b'x'; SECRET_BYTES_MAX + 1]).expect_err("too long");
        assert!(failure.to_string().contains("4096 bytes"), "{failure}");
    }

    #[test]
    fn editing_keys_change_the_typed_line() {
        let check = |keys: &[u8], expected: TypedInput| {
            let typed = read_typed(keys.iter().map(|key| Ok(*key))).expect("readable");
            assert_eq!(typed, expected, "{keys:?}");
        };
        let line = |text: &str| TypedInput::Line(text.to_owned());
        check(b"secret\n", line("secret"));
        check(b"secret\r", line("secret"));
        check(b"\n", line(""));
        check(b"sex\x7fcret\n", line("secret"));
        check("aé\x7f\x7f\x7fb\n".as_bytes(), line("b"));
        check(b"wrong\x15right\n", line("right"));
        check(b"wro\x03", TypedInput::Interrupted);
        check(b"\x04", TypedInput::Nothing);
        check(b"", TypedInput::Nothing);
    }
}
