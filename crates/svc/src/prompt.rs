//! Asks people, and only people: nothing here waits for an answer off a terminal.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::exit::{Exit, Failure};

/// Bytes a secret on stdin may have.
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

/// Asks for something that must not be seen.
pub fn ask_secret(question: &str) -> Result<String, Failure> {
    let echo = EchoOff::new()?;
    let answer = ask(question);
    drop(echo);
    eprintln!();
    answer
}

/// The terminal without echo; its former state comes back on drop.
struct EchoOff {
    former: Termios,
}

impl EchoOff {
    fn new() -> Result<Self, Failure> {
        let former = tcgetattr(io::stdin()).map_err(unreadable)?;
        let mut silent = former.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).map_err(unreadable)?;
        Ok(Self { former })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.former);
    }
}

/// A secret piped in: all of stdin but the end of its line.
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

/// All of stdin.
pub fn read_stdin() -> Result<String, Failure> {
    io::read_to_string(io::stdin().lock()).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failure, "cannot read from standard input").why(error)
}
