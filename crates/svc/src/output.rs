//! Writes a command's data to stdout: tables for people, JSON and YAML for programs.
//!
//! stdout is for data; everything else goes to stderr. In tables, and in texts for a terminal,
//! characters that could control the terminal are replaced.

mod record;

pub(crate) use record::fields;
pub use record::{Fields, present};

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use clap::ValueEnum;
use serde::Serialize;
use svc_core::text::is_unsafe;

use crate::{
    columns,
    environment::Environment,
    exit::{Exit, Failure, Outcome},
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
    /// Columns of the terminal. `None` if stdout is not a terminal, or its size is unknown: then no
    /// line is cut.
    width: Option<usize>,
    /// Lines of the terminal. `None` if stdout is not a terminal, or its size is unknown.
    pub height: Option<usize>,
    pub is_terminal: bool,
}

impl Output {
    pub fn new(format: Format, environment: &Environment) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let size = is_terminal
            .then(|| rustix::termios::tcgetwinsize(io::stdout()).ok())
            .flatten();
        let known = |length: u16| Some(usize::from(length)).filter(|&length| length > 0);
        Self {
            format,
            colour: is_terminal && environment.get("NO_COLOR").is_none(),
            width: size.and_then(|size| known(size.ws_col)),
            height: size.and_then(|size| known(size.ws_row)),
            is_terminal,
        }
    }

    /// Replaces everything on the terminal with this text.
    pub fn screen(&self, text: &str) -> Result<(), Failure> {
        write(format!("\x1b[H\x1b[2J{text}").as_bytes())
    }

    /// A table as text for this output.
    pub fn table_text(&self, table: &Table) -> String {
        table.render(self.width, self.colour)
    }

    /// Prints a table in the format for people, and the complete document in a format for programs.
    pub fn document(&self, document: &impl Serialize, table: impl FnOnce() -> Table) -> Outcome {
        match self.format {
            Format::Table => self.table(&table()),
            Format::Json | Format::Yaml => self.data(document),
        }
    }

    /// Prints the fields of a record, or the record for programs.
    pub fn record(&self, record: &impl Serialize, fields: impl FnOnce() -> Fields) -> Outcome {
        self.document(record, || Table::record(fields()))
    }

    /// Prints a table with a row for each item, or the document for programs. `empty` is printed
    /// instead of a table without rows.
    pub fn list<T>(
        &self,
        document: &impl Serialize,
        empty: impl Into<String>,
        items: &[T],
        columns: &[Column<T>],
    ) -> Outcome {
        self.document(document, || Table::of(columns, empty, items))
    }

    /// In the table format, prints only this line, so that a shell can use it in `$(…)`. In the
    /// other formats, prints the document.
    pub fn line_or_data(&self, line: &str, document: &impl Serialize) -> Outcome {
        match self.format {
            Format::Table => self.line(line).map(|()| Exit::Ok),
            Format::Json | Format::Yaml => self.data(document),
        }
    }

    /// Prints a document for programs: as YAML, or as JSON.
    pub fn data(&self, document: &impl Serialize) -> Outcome {
        self.raw(to_text(self.format, document)?.as_bytes())?;
        Ok(Exit::Ok)
    }

    pub fn table(&self, table: &Table) -> Outcome {
        match &table.empty {
            Some(empty) if table.rows.is_empty() => eprintln!("{empty}"),
            _ => write(table.render(self.width, self.colour).as_bytes())?,
        }
        Ok(Exit::Ok)
    }

    /// Prints one line.
    pub fn line(&self, text: impl AsRef<str>) -> Result<(), Failure> {
        write(format!("{}\n", text.as_ref()).as_bytes())
    }

    /// Prints one of many lines. Returns `false` if stdout is closed.
    pub fn next_line(&self, text: impl AsRef<str>) -> Result<bool, Failure> {
        try_write(format!("{}\n", text.as_ref()).as_bytes())
    }

    /// Prints one of many records on a line: as a text without control characters, or as JSON.
    /// Returns `false` if stdout is closed.
    pub fn next_record(
        &self,
        record: &impl Serialize,
        line: impl FnOnce() -> String,
    ) -> Result<bool, Failure> {
        match self.format {
            Format::Table => self.next_line(clean(&line())),
            Format::Json | Format::Yaml => {
                self.next_line(serde_json::to_string(record).map_err(unwritable)?)
            }
        }
    }

    /// Prints a text of several lines, and ends the last line. For a terminal, the text is cleaned.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        if self.is_terminal {
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

/// A document as YAML, or as JSON.
fn to_text(format: Format, document: &impl Serialize) -> Result<String, Failure> {
    if format != Format::Yaml {
        return serde_json::to_string_pretty(document).map_err(unwritable);
    }
    // Convert to a JSON value first: the YAML writer does not accept raw JSON text.
    let document = serde_json::to_value(document).map_err(unwritable)?;
    serde_saphyr::to_string(&document).map_err(unwritable)
}

fn unwritable(error: impl Display) -> Failure {
    Failure::failed("cannot write the data in this format").why(error)
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    try_write(bytes).map(drop)
}

/// Returns `false` if stdout is closed, as after `svc … | head`, which is not an error.
fn try_write(bytes: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::failed("cannot write to standard output").why(error)),
    }
}

/// The head of a column, and the cell of an item.
pub type Column<T> = (&'static str, fn(&T) -> String);

/// Rows under a head, or the fields of one record.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Printed to stderr instead of an empty table.
    empty: Option<String>,
}

impl Table {
    /// A row for each item.
    pub fn list<T>(
        head: &[&'static str],
        empty: impl Into<String>,
        items: impl IntoIterator<Item = T>,
        row: impl Fn(T) -> Vec<String>,
    ) -> Self {
        Self {
            head: head.to_vec(),
            rows: items.into_iter().map(row).collect(),
            empty: Some(empty.into()),
        }
    }

    /// A row for each item, one cell for each column.
    pub fn of<T>(columns: &[Column<T>], empty: impl Into<String>, items: &[T]) -> Self {
        let head: Vec<_> = columns.iter().map(|(head, _)| *head).collect();
        let row = |item| columns.iter().map(|(_, cell)| cell(item)).collect();
        Self::list(&head, empty, items, row)
    }

    /// A record: name and value, one field per line.
    pub fn record(fields: Fields) -> Self {
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

    fn render(&self, width: Option<usize>, colour: bool) -> String {
        let has_head = !self.head.is_empty();
        let mut lines: Vec<Vec<String>> = Vec::new();
        if has_head {
            lines.push(self.head.iter().map(ToString::to_string).collect());
        }
        for row in &self.rows {
            lines.push(row.iter().map(|cell| clean(cell)).collect());
        }
        let mut widths: Vec<usize> = Vec::new();
        for line in &lines {
            widths.resize(line.len().max(widths.len()), 0);
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = columns::width(cell).max(*width);
            }
        }
        // A value of a record is never cut.
        let width = width.filter(|_| has_head);
        let mut out = String::new();
        for (index, line) in lines.iter().enumerate() {
            let mut line = pad(line, &widths);
            if let Some(width) = width {
                line = columns::cut(&line, width);
            }
            if index == 0 && has_head && colour {
                out.push_str(&format!("\x1b[1m{line}\x1b[0m\n"));
            } else {
                out.push_str(&format!("{line}\n"));
            }
        }
        out
    }
}

fn pad(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        match index + 1 < cells.len() {
            true => line.push_str(&columns::padded(cell, width + 2)),
            false => line.push_str(cell),
        }
    }
    line.trim_end().to_owned()
}

/// Replaces characters that could move the cursor, change colours or reverse the text.
pub fn clean(cell: &str) -> String {
    clean_except(cell, &[])
}

/// As [`clean`], but keeps line breaks and tabs.
pub fn clean_text(text: &str) -> String {
    clean_except(text, &['\n', '\t'])
}

/// As [`clean`], but keeps the characters `kept`.
pub fn clean_except(text: &str, kept: &[char]) -> String {
    let is_replaced = |character| is_unsafe(character) && !kept.contains(&character);
    text.replace(is_replaced, " ")
}

/// `a, b`, or a dash for an empty list.
pub fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    or_dash(Some(texts.join(", ")).filter(|text| !text.is_empty()))
}

/// `a=1, b=2`, or a dash for an empty list.
pub fn joined_pairs<N: Display, V: Display>(pairs: impl IntoIterator<Item = (N, V)>) -> String {
    let pairs = pairs.into_iter();
    joined(pairs.map(|(name, value)| format!("{name}={value}")))
}

/// The value, or a dash for `None`.
pub fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The text, quoted for a shell.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The name that a value has in JSON.
pub fn json_name(value: impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

pub fn yes_no(value: bool) -> String {
    (if value { "yes" } else { "no" }).to_owned()
}

#[cfg(test)]
mod tests;
