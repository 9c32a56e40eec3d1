//! Writes a command's data to stdout: tables for people, JSON and YAML for programs.
//!
//! stdout is for data; everything else goes to stderr. Text of other users never reaches a terminal
//! with control characters.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;
use svc_core::text::is_unsafe;

use crate::{
    environment::Environment,
    exit::{Exit, Failure},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Yaml,
}

/// The format of a command's data, and the properties of stdout.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub format: Format,
    colour: bool,
    /// Columns of the terminal; `None` if stdout is not a terminal, where no line is cut.
    width: Option<usize>,
    terminal: bool,
}

impl Output {
    pub fn new(format: Format, environment: &Environment) -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal
            .then(|| rustix::termios::tcgetwinsize(io::stdout()).ok())
            .flatten()
            .map(|size| usize::from(size.ws_col))
            .filter(|&columns| columns > 0);
        Self {
            format,
            colour: terminal && environment.get("NO_COLOR").is_none(),
            width,
            terminal,
        }
    }

    /// Prints a document: as a table for people, complete for programs.
    pub fn document<T: Serialize>(
        &self,
        document: &T,
        table: impl FnOnce() -> Table,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Table => self.table(&table()),
            Format::Json => {
                let mut text = serde_json::to_string_pretty(document).map_err(unwritable)?;
                text.push('\n');
                write(text.as_bytes())
            }
            Format::Yaml => {
                // Through a JSON value: the YAML writer does not accept raw JSON text.
                let document = serde_json::to_value(document).map_err(unwritable)?;
                let mut text = serde_saphyr::to_string(&document).map_err(unwritable)?;
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                write(text.as_bytes())
            }
        }
    }

    pub fn table(&self, table: &Table) -> Result<(), Failure> {
        write(table.render(self.width, self.colour).as_bytes())
    }

    /// Prints one line.
    pub fn line(&self, text: impl AsRef<str>) -> Result<(), Failure> {
        write(format!("{}\n", text.as_ref()).as_bytes())
    }

    /// Prints one of many lines. `false` if stdout is closed.
    pub fn next_line(&self, text: impl AsRef<str>) -> Result<bool, Failure> {
        try_write(format!("{}\n", text.as_ref()).as_bytes())
    }

    /// Prints a text of several lines, and ends the last line.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        if self.terminal {
            self.raw(clean_text(text).as_bytes())
        } else {
            self.raw(text.as_bytes())
        }
    }

    /// Prints unchanged bytes, and ends the last line.
    pub fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = Vec::with_capacity(bytes.len() + 1);
        out.extend_from_slice(bytes);
        if out.last() != Some(&b'\n') {
            out.push(b'\n');
        }
        write(&out)
    }
}

fn unwritable(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failure, "cannot write the data in this format").why(error)
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    try_write(bytes).map(drop)
}

/// `false` if stdout is closed, as after `svc … | head`; that is not an error.
fn try_write(bytes: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(Failure::new(Exit::Failure, "cannot write to standard output").why(error))
        }
    }
}

/// Rows under a head, or the fields of one record.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Printed instead of an empty table.
    empty: Option<String>,
}

impl Table {
    pub fn new(head: &[&'static str]) -> Self {
        Self {
            head: head.to_vec(),
            rows: Vec::new(),
            empty: None,
        }
    }

    /// A record: name and value, one field per line.
    pub fn record(fields: Vec<(&'static str, String)>) -> Self {
        let rows = fields
            .into_iter()
            .map(|(name, value)| vec![format!("{name}:"), value])
            .collect();
        Self {
            head: Vec::new(),
            rows,
            empty: None,
        }
    }

    #[must_use]
    pub fn or_when_empty(mut self, text: impl Into<String>) -> Self {
        self.empty = Some(text.into());
        self
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn render(&self, width: Option<usize>, colour: bool) -> String {
        if self.rows.is_empty()
            && let Some(empty) = &self.empty
        {
            return format!("{empty}\n");
        }
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| clean(cell)).collect())
            .collect();
        let columns = rows
            .iter()
            .map(Vec::len)
            .chain([self.head.len()])
            .max()
            .unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let head = self.head.get(column).map_or(0, |head| head.chars().count());
                rows.iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| cell.chars().count())
                    .chain([head])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut out = String::new();
        if !self.head.is_empty() {
            let head: Vec<String> = self.head.iter().map(|head| (*head).to_owned()).collect();
            let line = cut(&pad(&head, &widths), width);
            out.push_str(&if colour {
                format!("\x1b[1m{line}\x1b[0m")
            } else {
                line
            });
            out.push('\n');
        }
        for row in &rows {
            let line = pad(row, &widths);
            // A value of a record is never cut.
            out.push_str(&if self.head.is_empty() {
                line
            } else {
                cut(&line, width)
            });
            out.push('\n');
        }
        out
    }
}

fn pad(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        line.push_str(cell);
        if index + 1 < cells.len() {
            let gap = width + 2 - cell.chars().count();
            line.extend(std::iter::repeat_n(' ', gap));
        }
    }
    line.trim_end().to_owned()
}

fn cut(line: &str, width: Option<usize>) -> String {
    match width {
        Some(width) if line.chars().count() > width => line
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        _ => line.to_owned(),
    }
}

/// Replaces characters that could move the cursor, change colours or reverse the text.
pub fn clean(cell: &str) -> String {
    let clean = |character| if is_unsafe(character) { ' ' } else { character };
    cell.chars().map(clean).collect()
}

/// As [`clean`], but keeps line breaks and tabs.
pub fn clean_text(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            _ if is_unsafe(character) => ' ',
            _ => character,
        })
        .collect()
}

/// `a, b`, or a dash for an empty list.
pub fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let text = items
        .into_iter()
        .map(|item| item.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

/// The value, or a dash for `None`.
pub fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

pub fn yes_no(value: bool) -> String {
    (if value { "yes" } else { "no" }).to_owned()
}

#[cfg(test)]
mod tests;
