//! Notes, one JSON object a line in a file.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub id: u64,
    pub text: String,
    pub tags: Vec<String>,
}

pub struct Notes {
    file: PathBuf,
    notes: Vec<Note>,
}

impl Notes {
    /// Reads what was kept before; a line that is no note is passed over.
    pub fn open(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let notes = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        Self { file, notes }
    }

    pub fn add(&mut self, text: String, tags: Vec<String>) -> io::Result<&Note> {
        let id = self.notes.iter().map(|note| note.id).max().unwrap_or(0) + 1;
        let note = Note { id, text, tags };
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file)?;
        writeln!(file, "{}", serde_json::to_string(&note)?)?;
        self.notes.push(note);
        Ok(&self.notes[self.notes.len() - 1])
    }

    pub fn list(&self) -> Vec<&Note> {
        self.notes.iter().collect()
    }

    pub fn search(&self, query: &str) -> Vec<&Note> {
        let query = query.to_lowercase();
        self.notes
            .iter()
            .filter(|note| {
                note.text.to_lowercase().contains(&query)
                    || note
                        .tags
                        .iter()
                        .any(|tag| tag.to_lowercase().contains(&query))
            })
            .collect()
    }
}
