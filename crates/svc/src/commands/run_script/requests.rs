//! Requests from the agent: one JSON-RPC request per line.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
    time::Instant,
};

use serde::Deserialize;
use svc_core::TraceContext;
use svc_protocol::jsonrpc::{Body, Invalid, RpcError, error_response, parse_body};

use super::jobs::{Job, Jobs};

/// The member that holds the trace context of a request.
const META: &[u8] = br#""_meta""#;
/// How many bytes at the end of a line are searched for `_meta`.
const META_BYTES_MAX: usize = 2_048;
/// A line buffer that is larger than this is shrunk to this size before the next line is read.
const LINE_BUFFER_KEPT: usize = 64 * 1024;

/// Puts every request into the queue, until the input ends or the queue is closed.
pub fn read(
    input: &mut impl BufRead,
    line_bytes_max: usize,
    jobs: &Jobs,
    answer: impl Fn(Vec<u8>),
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        line.shrink_to(LINE_BUFFER_KEPT);
        let mut bounded = input.by_ref().take(line_bytes_max as u64 + 1);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() > line_bytes_max && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            eprintln!("discarded a line of more than {line_bytes_max} bytes");
            continue;
        }
        match parse_line(line.trim_ascii()) {
            InputLine::Job(job) => {
                if !jobs.put(job) {
                    return Ok(());
                }
            }
            InputLine::Rejected(line) => answer(line),
            InputLine::Ignored(why) => eprintln!("ignored a line on standard input: it is {why}"),
        }
    }
}

/// A line of the input.
enum InputLine {
    Job(Job),
    /// Not a valid request; the error response to send.
    Rejected(Vec<u8>),
    Ignored(&'static str),
}

fn parse_line(line: &[u8]) -> InputLine {
    if line.is_empty() {
        return InputLine::Ignored("empty");
    }
    match parse_body(line) {
        Ok(Body::Single(Ok(request))) => InputLine::Job(Job {
            method: request.method.into_owned(),
            params: request.params.map(str::to_owned),
            id: request.id.map(str::to_owned),
            trace: find_trace(line),
            arrived: Instant::now(),
        }),
        Ok(Body::Single(Err(Invalid { error, id }))) => refuse(&error, id),
        Ok(Body::Batch(_)) => {
            let why = "a method server takes no batches";
            refuse(&RpcError::InvalidRequest(why.into()), None)
        }
        Err(RpcError::Parse) => InputLine::Ignored("not JSON"),
        Err(error) => refuse(&error, None),
    }
}

/// The trace context in the member `_meta`. The server writes this member after the params.
fn find_trace(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Meta<'a>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow)]
        traceparent: Cow<'a, str>,
        #[serde(borrow, default)]
        tracestate: Option<Cow<'a, str>>,
    }
    let tail = &line[line.len().saturating_sub(META_BYTES_MAX)..];
    // Most lines have no `_meta`, and are not parsed a second time.
    if !tail.windows(META.len()).any(|bytes| bytes == META) {
        return None;
    }
    let Line { meta } = serde_json::from_slice(line).ok()?;
    let trace = TraceContext::parse(&meta.traceparent, meta.tracestate.as_deref())?;
    Some(trace.to_string())
}

fn refuse(error: &RpcError, id: Option<&str>) -> InputLine {
    let mut line = Vec::new();
    error_response(&mut line, &error.to_object().to_bytes(), id);
    line.push(b'\n');
    InputLine::Rejected(line)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Reads the input; returns the jobs as text, and the answers.
    fn talk(input: &str, line_bytes_max: usize) -> (Vec<String>, Vec<String>) {
        let jobs = Jobs::new(1_000_000, 100);
        let answers = RefCell::new(Vec::new());
        read(&mut input.as_bytes(), line_bytes_max, &jobs, |line| {
            let line = String::from_utf8(line).expect("UTF-8");
            answers.borrow_mut().push(line);
        })
        .expect("a text can be read");
        jobs.close();
        let runtime = crate::runtime::single().expect("a runtime");
        let mut methods = Vec::new();
        while let Some(job) = runtime.block_on(jobs.next()) {
            methods.push(format!("{} {:?} {:?}", job.method, job.params, job.id));
        }
        (methods, answers.into_inner())
    }

    #[test]
    fn requests_and_notifications_become_jobs_with_unchanged_bytes() {
        let input = concat!(
            r#"{"jsonrpc":"2.0","method":"a","params":{"b": 1.50},"id":9007199254740993}"#,
            "\r\n\n",
            r#"{"jsonrpc":"2.0","method":"n"}"#,
            "\nnoise\n",
            r#"{"jsonrpc":"2.0","method":"last","id":null}"#,
        );
        let (jobs, answers) = talk(input, 1_000);
        assert_eq!(
            jobs,
            [
                r#"a Some("{\"b\": 1.50}") Some("9007199254740993")"#,
                "n None None",
                r#"last None Some("null")"#
            ]
        );
        assert!(answers.is_empty(), "{answers:?}");
    }

    #[test]
    fn the_trace_of_a_request_is_read() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let trace_of = |meta: &str| {
            let line =
                format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{"_meta":1}}{meta},"id":1}}"#);
            find_trace(line.as_bytes())
        };
        let meta = format!(r#","_meta":{{"traceparent":"{parent}","tracestate":"a=\"1\""}}"#);
        assert_eq!(trace_of(&meta), Some(format!("{parent} a=\"1\"")));
        let meta = format!(r#","_meta":{{"traceparent":"{parent}"}}"#);
        assert_eq!(trace_of(&meta).as_deref(), Some(parent));
        for without in [
            "",
            r#","_meta":{}"#,
            r#","_meta":1"#,
            r#","_meta":{"traceparent":"x"}"#,
        ] {
            assert_eq!(trace_of(without), None, "{without}");
        }
    }

    #[test]
    fn an_invalid_request_gets_an_error_response() {
        let input = concat!(
            "[]\n",
            r#"[{"jsonrpc":"2.0","method":"a","id":1}]"#,
            "\n",
            r#"{"method":"a","id":7}"#,
            "\n",
        );
        let (jobs, answers) = talk(input, 1_000);
        assert!(jobs.is_empty());
        let ids: Vec<_> = answers
            .iter()
            .map(|line| {
                let answer: serde_json::Value = serde_json::from_str(line).expect(line);
                assert_eq!(answer["error"]["code"], -32600, "{line}");
                answer["id"].clone()
            })
            .collect();
        assert_eq!(serde_json::json!(ids), serde_json::json!([null, null, 7]));
    }

    #[test]
    fn only_the_line_that_is_too_long_is_discarded() {
        let long = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "x".repeat(200));
        let good = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let (jobs, _) = talk(&format!("{good}\n{long}\n{good}\n{long}"), 100);
        assert_eq!(jobs, ["a None None", "a None None"]);
    }
}
