//! Progress reports: notifications that a method server may write between a request and its answer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Number, value::RawValue};

use super::{is_object, response::read_id};

/// The method name of the notification.
const METHOD: &str = "$/progress";

/// One progress report of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Progress {
    pub progress: Number,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Deserialize)]
struct Notification<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// The id of the call. It is in `params`, beside the members of the report.
#[derive(Deserialize)]
struct CallId<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
}

impl Progress {
    /// Parses a report in the form in which it crosses the link.
    pub fn parse(json: &[u8]) -> Option<Self> {
        // serde also accepts an array of the members.
        if !is_object(json) {
            return None;
        }
        serde_json::from_slice(json).ok()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a report is always JSON")
    }
}

/// Parses a line of a method server's stdout; `None` if the line is not a progress report.
pub fn parse_progress_line(line: &[u8]) -> Option<(u64, Progress)> {
    // The search is cheap and rejects most lines. It leaves out the `$`, because some languages
    // escape the slash: `$\/progress`.
    memchr::memmem::find(line, br#"/progress""#)?;
    if !is_object(line) {
        return None;
    }
    let read: Notification<'_> = serde_json::from_slice(line).ok()?;
    if read.method != METHOD {
        return None;
    }
    let progress = Progress::parse(read.params.get().as_bytes())?;
    let call: CallId<'_> = serde_json::from_str(read.params.get()).ok()?;
    Some((read_id(call.id.get())?, progress))
}

/// The line that reports the progress of the request with this id.
pub fn progress_line(progress: &Progress, id: &str) -> Vec<u8> {
    let mut line = br#"{"jsonrpc":"2.0","method":"$/progress","params":{"id":"#.to_vec();
    line.extend_from_slice(id.as_bytes());
    line.push(b',');
    // The members of the report, without the opening brace.
    line.extend_from_slice(&progress.to_bytes()[1..]);
    line.extend_from_slice(b"}\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_lines_are_parsed_and_other_lines_are_not() {
        let check = |line: &str, expected: Option<(u64, &str)>| {
            let read = parse_progress_line(line.as_bytes());
            let read = read.map(|(id, progress)| (id, progress.to_bytes()));
            let expected = expected.map(|(id, json)| (id, json.as_bytes().to_vec()));
            assert_eq!(read, expected, "{line}");
        };
        let wrap = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"$/progress","params":{params}}}"#)
        };
        check(
            &wrap(r#"{"id":7,"progress":1.5,"total":9007199254740993,"message":"half"}"#),
            Some((
                7,
                r#"{"progress":1.5,"total":9007199254740993,"message":"half"}"#,
            )),
        );
        check(
            &wrap(r#"{"progress":-1,"total":null,"message":null,"id":7.0,"more":[]}"#),
            Some((7, r#"{"progress":-1}"#)),
        );
        check(
            r#"{"method":"$\/progress","params":{"id":7,"progress":1}}"#,
            Some((7, r#"{"progress":1}"#)),
        );
        for noise in [
            "".to_owned(),
            "/progress\"".to_owned(),
            r#"["$/progress"]"#.to_owned(),
            r#"{"method":"$/progress"}"#.to_owned(),
            r#"{"method":"/progress","params":{"id":7,"progress":1}}"#.to_owned(),
            wrap("[7,1]"),
            wrap(r#"{"progress":1}"#),
            wrap(r#"{"id":7}"#),
            wrap(r#"{"id":"7","progress":1}"#),
            wrap(r#"{"id":7,"progress":"1"}"#),
            wrap(r#"{"id":7,"progress":1e999}"#),
            wrap(r#"{"id":7,"progress":1,"total":"2"}"#),
            wrap(r#"{"id":7,"progress":1,"message":2}"#),
        ] {
            check(&noise, None);
        }
    }

    #[test]
    fn a_written_progress_line_is_parsed_back() {
        let json = r#"{"progress":3,"total":4,"message":"ü\n"}"#;
        let progress = Progress::parse(json.as_bytes()).expect("a report");
        let line = progress_line(&progress, "12");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(parse_progress_line(&line), Some((12, progress)));
        assert_eq!(Progress::parse(b"[1,2]"), None);
    }
}
