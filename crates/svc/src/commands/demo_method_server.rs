//! The method server of `svc up`'s demo space: JSON-RPC over stdio, a line each way.
//!
//! It is an ordinary method server with no door of its own into svc, so that it can be read as an
//! example. Notes live in a file of its working folder, which is the space's.

mod notes;

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{json, value::RawValue};
use svc_protocol::env;

use crate::exit::{Exit, Failure, Outcome};
use notes::Notes;

/// The demo's method server; `svc up` starts it
#[derive(clap::Args, Debug)]
pub struct Args {}

const PARSE_ERROR: i64 = -32700;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

pub fn run() -> Outcome {
    let space = std::env::var(env::SPACE_NAME).unwrap_or_else(|_| "nowhere".to_owned());
    let mut demo = Demo {
        notes: Notes::open("notes.jsonl".into()),
        space,
    };
    demo.serve(io::stdin().lock(), io::stdout().lock())
        .map_err(|error| Failure::new(Exit::Failure, "cannot talk over stdio").why(error))?;
    Ok(Exit::Ok)
}

struct Demo {
    notes: Notes,
    space: String,
}

#[derive(Deserialize)]
struct Request<'a> {
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

/// A JSON-RPC error: code and message.
struct Error(i64, String);

impl Demo {
    /// Answers every line until stdin ends.
    fn serve(&mut self, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
        for line in input.lines() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            if let Some(answer) = self.answer(&line) {
                writeln!(output, "{answer}")?;
                output.flush()?;
            }
        }
        Ok(())
    }

    /// The answer to a line; none to a notification.
    fn answer(&mut self, line: &str) -> Option<String> {
        let request: Request<'_> = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(error) => return Some(error_line(&Error(PARSE_ERROR, error.to_string()), "null")),
        };
        let params = request.params.map_or("{}", RawValue::get);
        let answer = self.call(&request.method, params);
        let id = request.id?.get();
        Some(match answer {
            Ok(result) => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#),
            Err(error) => error_line(&error, id),
        })
    }

    /// The result as JSON text.
    fn call(&mut self, method: &str, params: &str) -> Result<String, Error> {
        match method {
            "add_note" => {
                let NewNote { text, tags } = read(params)?;
                if text.trim().is_empty() {
                    return Err(Error(INVALID_PARAMS, "`text` is empty".to_owned()));
                }
                self.notes
                    .add(text, tags)
                    .map(|note| json!(note).to_string())
                    .map_err(|error| Error(INTERNAL_ERROR, error.to_string()))
            }
            "list_notes" => {
                let NoParams {} = read(params)?;
                Ok(listing(&self.notes.list()))
            }
            "search_notes" => {
                let Search { query } = read(params)?;
                Ok(listing(&self.notes.search(&query)))
            }
            "add" => {
                let Sum { a, b } = read(params)?;
                add(&a, &b)
            }
            "hello" => {
                let Hello { name } = read(params)?;
                let name = name.as_deref().unwrap_or("you");
                Ok(json!(format!("Hello {name}, this is {}!", self.space)).to_string())
            }
            other => Err(Error(METHOD_NOT_FOUND, format!("no method `{other}` here"))),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParams {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewNote {
    text: String,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    a: Box<RawValue>,
    b: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    #[serde(default)]
    name: Option<String>,
}

fn read<'de, T: Deserialize<'de>>(params: &'de str) -> Result<T, Error> {
    serde_json::from_str(params).map_err(|error| Error(INVALID_PARAMS, error.to_string()))
}

fn listing(notes: &[&notes::Note]) -> String {
    json!({ "count": notes.len(), "notes": notes }).to_string()
}

/// Integers are added exactly, anything else as floating point.
fn add(a: &RawValue, b: &RawValue) -> Result<String, Error> {
    let integers = (a.get().parse::<i128>(), b.get().parse::<i128>());
    if let (Ok(a), Ok(b)) = integers
        && let Some(sum) = a.checked_add(b)
    {
        return Ok(format!(r#"{{"sum":{sum}}}"#));
    }
    let number = |raw: &RawValue| {
        serde_json::from_str::<f64>(raw.get())
            .map_err(|_| Error(INVALID_PARAMS, format!("`{}` is not a number", raw.get())))
    };
    Ok(json!({ "sum": number(a)? + number(b)? }).to_string())
}

fn error_line(error: &Error, id: &str) -> String {
    let Error(code, message) = error;
    let object = json!({ "code": code, "message": message });
    format!(r#"{{"jsonrpc":"2.0","error":{object},"id":{id}}}"#)
}

#[cfg(test)]
mod tests;
