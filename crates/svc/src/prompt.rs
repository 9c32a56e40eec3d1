//! Asks the user on a terminal, and reads secrets and texts from stdin.
//!
//! Check [`can_ask`] first: without a terminal no question may be asked.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::{
    exit::{Exit, Failure},
    runtime::INTERRUPTED,
};

/// The largest size of a secret on stdin.
const SECRET_BYTES_MAX: u64 = 4_096;

pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on stderr and reads a line.
pub fn ask(question: &str) -> Result<String, Failure> {
    eprint!("{question}: ");
    io::stderr().flush().map_err(unreadable)?;
    let mut line = String::new();
    let read = io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(unreadable)?;
    if read == 0 {
        return Err(Failure::usage(format!("no answer to `{question}`")));
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Asks for a secret, without echo.
pub fn ask_secret(question: &str) -> Result<String, Failure> {
    eprint!("{question}: ");
    io::stderr().flush().map_err(unreadable)?;
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

/// Reads a line from a terminal without line editing, and handles the editing keys.
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

/// Turns echo and signals of the terminal off; the former state is restored on drop. Without
/// signals, Ctrl-C cannot end the process before that.
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

/// Reads a secret from stdin: all of it without the final line break.
pub fn read_secret() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(SECRET_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Err(Failure::usage(
            "standard input is empty; a secret was expected there",
        ));
    }
    Ok(text.to_owned())
}

/// The text of an argument. `-`, or no argument with redirected stdin, reads stdin.
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

/// Reads all of stdin.
pub fn read_stdin() -> Result<String, Failure> {
    io::read_to_string(io::stdin().lock()).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failure, "cannot read from standard input").why(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_make_a_line() {
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
