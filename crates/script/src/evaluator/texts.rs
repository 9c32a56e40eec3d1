//! Which text a frame of a traceback speaks of.
//!
//! The engine names what it is fed `<python-input-N>`, and all that is `exec`uted `<string>`: a
//! library is therefore executed with as many newlines before it as give it lines of its own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Lines that `exec` of a script's own may have before they could be taken for a library's.
const FIRST_LINE: u32 = 1_000;

/// Cheap to clone: snapshots are thawed for every request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Texts {
    known: Arc<Vec<Text>>,
    next_line: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Text {
    pub file: String,
    /// As its author wrote it.
    text: String,
    place: Place,
    /// Ours, and no concern of a script's author.
    pub hidden: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Place {
    /// Fed under this name.
    Fed(String),
    /// Executed; its first line is the one after this.
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
        self.add(file, text, Place::Fed(name), false);
    }

    /// Gives what to execute: `code`, moved down to lines of its own.
    pub fn add_executed(&mut self, file: &str, text: &str, code: &str, hidden: bool) -> String {
        let before = self.next_line;
        let lines = u32::try_from(code.matches('\n').count()).unwrap_or(u32::MAX);
        self.next_line = before.saturating_add(lines).saturating_add(2);
        self.add(file, text, Place::Executed(before), hidden);
        let mut moved = "\n".repeat(before as usize);
        moved.push_str(code);
        moved
    }

    fn add(&mut self, file: &str, text: &str, place: Place, hidden: bool) {
        Arc::make_mut(&mut self.known).push(Text {
            file: file.to_owned(),
            text: text.to_owned(),
            place,
            hidden,
        });
    }

    /// The text behind a frame, and the line in it.
    pub fn find(&self, name: &str, line: u32) -> Option<(&Text, u32)> {
        if name != "<string>" {
            let fed = |text: &&Text| matches!(&text.place, Place::Fed(fed) if fed == name);
            return self.known.iter().find(fed).map(|text| (text, line));
        }
        // Places only grow, so the last that starts before the line is the one.
        self.known.iter().rev().find_map(|text| match text.place {
            Place::Executed(before) if before < line => Some((text, line - before)),
            _ => None,
        })
    }

    /// Does a text of an author's have this word anywhere?
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
