//! Maps a frame of a traceback to its source text.
//!
//! In tracebacks, the engine uses the name `<python-input-N>` for code that is fed to it, and
//! `<string>` for all code of `exec`. Therefore every library is executed with enough leading
//! newlines to have unique line numbers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Line numbers up to this one belong to a script's own `exec`.
const FIRST_LINE: u32 = 1_000;

/// Must be cheap to clone: each request restores a snapshot, which clones this value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Texts {
    known: Arc<Vec<Text>>,
    next_line: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Text {
    pub file: String,
    /// The text as its author wrote it.
    text: String,
    origin: TextOrigin,
    /// Whether the text is part of `svc`. Its frames are then hidden from the script's author.
    pub hidden: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum TextOrigin {
    /// Fed to the engine. The engine gives the code this name.
    Fed(String),
    /// Run by `exec`, with this many empty lines before its first line.
    Executed(u32),
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            known: Arc::default(),
            next_line: FIRST_LINE,
        }
    }
}

impl Texts {
    pub fn add_fed(&mut self, name: String, file: &str, text: &str) {
        self.add(file, text, TextOrigin::Fed(name), false);
    }

    /// Returns the text for `exec`: `code`, moved down to unique line numbers.
    pub fn add_executed(&mut self, file: &str, text: &str, code: &str, hidden: bool) -> String {
        let before = self.next_line;
        let lines = u32::try_from(code.matches('\n').count()).unwrap_or(u32::MAX);
        self.next_line = before.saturating_add(lines).saturating_add(2);
        self.add(file, text, TextOrigin::Executed(before), hidden);
        let mut moved = "\n".repeat(before as usize);
        moved.push_str(code);
        moved
    }

    fn add(&mut self, file: &str, text: &str, origin: TextOrigin, hidden: bool) {
        Arc::make_mut(&mut self.known).push(Text {
            file: file.to_owned(),
            text: text.to_owned(),
            origin,
            hidden,
        });
    }

    /// The text of a frame, and the line in that text.
    pub fn find(&self, name: &str, line: u32) -> Option<(&Text, u32)> {
        if name != "<string>" {
            let fed = |text: &&Text| matches!(&text.origin, TextOrigin::Fed(fed) if fed == name);
            return self.known.iter().find(fed).map(|text| (text, line));
        }
        // Texts are in the order of their first lines: take the last text that starts at `line` or
        // before it.
        self.known.iter().rev().find_map(|text| match text.origin {
            TextOrigin::Executed(before) if before < line => Some((text, line - before)),
            _ => None,
        })
    }

    /// Whether a text of an author contains this word.
    pub fn mention(&self, word: &str) -> bool {
        let mut texts = self.known.iter().filter(|text| !text.hidden);
        texts.any(|text| text.text.contains(word))
    }

    pub fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = self
            .known
            .iter()
            .filter(|text| !text.hidden)
            .map(|text| text.file.clone())
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

impl Text {
    pub fn line(&self, number: u32) -> Option<&str> {
        self.text.lines().nth(number.checked_sub(1)? as usize)
    }
}
