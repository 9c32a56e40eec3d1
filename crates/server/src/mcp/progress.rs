//! A call with progress: a stream of reports that ends with the answer.
//!
//! The stream starts with the first report. A call that is answered before its first report has no
//! stream, so an early error keeps its HTTP status. The call is cancelled when the stream is
//! dropped, and within a second after the caller was revoked. If the caller may no longer see the
//! method, no further report is sent, and the answer is the error for an unknown tool.

use std::{collections::VecDeque, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::HeaderMap;
use svc_protocol::jsonrpc::{Body, Progress, fold_lines, parse_body};
use tokio::time::{Instant, Interval};

use super::{Exchange, Mcp, McpResponse, Mode, read_message};
use crate::{
    identity::{Caller, Directory},
    limits::AnswerHold,
    live::{Listener, Reports},
    methods::calls::Served,
    streams::recheck_interval,
};

/// Owned copies of the request: the call outlives the HTTP handler.
pub struct CallRequest {
    pub caller: Caller,
    pub headers: HeaderMap,
    pub mode: Mode,
    pub arrived: Instant,
    /// A single `tools/call`. It has already been parsed once, without an error.
    pub body: Bytes,
    /// The progress token as JSON.
    pub token: String,
    pub hold: Arc<AnswerHold>,
}

pub struct ProgressStream {
    /// `None` only in tests.
    call: Option<(Arc<Mcp>, Arc<Served>)>,
    answering: Pin<Box<dyn Future<Output = McpResponse> + Send>>,
    caller_watch: CallerWatch,
    reports: Listener,
    token: String,
    /// The value of the last report sent; a report with a lower or equal value is dropped.
    last: Option<f64>,
    /// Messages to send.
    waiting: VecDeque<String>,
    is_answered: bool,
}

/// Checks regularly whether the caller is still admitted.
struct CallerWatch {
    directory: Arc<Directory>,
    caller: Caller,
    recheck: Interval,
}

impl CallerWatch {
    fn new(directory: Arc<Directory>, caller: Caller) -> Self {
        Self {
            directory,
            caller,
            recheck: recheck_interval(),
        }
    }

    fn is_revoked(&self) -> bool {
        self.directory.has_changed_since(&self.caller) && self.is_rejected()
    }

    fn is_rejected(&self) -> bool {
        let readmitted = self.directory.readmit(&self.caller, svc_clock::now());
        readmitted.is_err()
    }

    /// Waits until the caller is revoked.
    async fn revoked(&mut self) {
        loop {
            self.recheck.tick().await;
            if self.is_rejected() {
                return;
            }
        }
    }
}

impl ProgressStream {
    pub fn new(mcp: Arc<Mcp>, request: CallRequest) -> Self {
        let (reports, listener) = Reports::new();
        let token = request.token.clone();
        let caller_watch = CallerWatch::new(mcp.directory.clone(), request.caller.clone());
        let served = Arc::new(Served::default());
        Self {
            caller_watch,
            call: Some((mcp.clone(), served.clone())),
            answering: Box::pin(async move { answer(&mcp, request, reports, &served).await }),
            reports: listener,
            token,
            last: None,
            waiting: VecDeque::new(),
            is_answered: false,
        }
    }

    /// Returns the answer if it comes before the first report, else the stream.
    pub async fn begin(mut self) -> McpResponse {
        match self.advance().await {
            Some(answer) if self.waiting.is_empty() => answer,
            answer => {
                self.finish(answer);
                McpResponse::Progress(Box::new(self))
            }
        }
    }

    /// The next message as JSON; `None` after the answer.
    pub async fn next(&mut self) -> Option<String> {
        if self.waiting.is_empty() && !self.is_answered {
            let answer = self.advance().await;
            self.finish(answer);
        }
        self.waiting.pop_front()
    }

    /// Waits for a report to send, or for the answer. Reports that arrived before the answer are
    /// sent before it.
    async fn advance(&mut self) -> Option<McpResponse> {
        while self.waiting.is_empty() {
            let answer = tokio::select! {
                biased;
                () = self.caller_watch.revoked() => return Some(McpResponse::Revoked),
                report = self.reports.next() => {
                    self.push_report(&report);
                    continue;
                }
                answer = &mut self.answering => answer,
            };
            while let Some(report) = self.reports.find_next() {
                self.push_report(&report);
            }
            // A revoked caller must not get the answer.
            return Some(match self.caller_watch.is_revoked() {
                true => McpResponse::Revoked,
                false => answer,
            });
        }
        None
    }

    fn push_report(&mut self, report: &[u8]) {
        let caller = &self.caller_watch.caller;
        let is_hidden = self
            .call
            .as_ref()
            .is_some_and(|(mcp, served)| !served.may_release(&mcp.calls, caller));
        let Some(progress) = Progress::parse(report).filter(|_| !is_hidden) else {
            return;
        };
        let Some(value) = progress.progress.as_f64() else {
            return;
        };
        if self.last.is_some_and(|last| value <= last) {
            return;
        }
        self.last = Some(value);
        self.waiting.push_back(notification(&self.token, &progress));
    }

    fn finish(&mut self, answer: Option<McpResponse>) {
        let Some(answer) = answer else { return };
        self.is_answered = true;
        if let McpResponse::Json(_, chunks) = answer {
            let mut message = Vec::with_capacity(chunks.len());
            for chunk in &chunks.0 {
                fold_lines(&mut message, chunk);
            }
            // Never fails: the link passes only JSON, which is UTF-8.
            let message = String::from_utf8(message)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            self.waiting.push_back(message);
        }
    }
}

async fn answer(mcp: &Mcp, request: CallRequest, reports: Reports, served: &Served) -> McpResponse {
    let exchange = Exchange {
        caller: &request.caller,
        headers: &request.headers,
        mode: request.mode,
        arrived: request.arrived,
        reports: Some(&reports),
        served: Some(served),
        hold: &request.hold,
    };
    let message = match parse_body(&request.body) {
        Ok(Body::Single(message)) => read_message(message),
        // Cannot happen: the same body was parsed before.
        _ => return McpResponse::Accepted,
    };
    match message {
        Ok(Some(message)) => mcp.answer_message(&exchange, &message).await,
        _ => McpResponse::Accepted,
    }
}

fn notification(token: &str, progress: &Progress) -> String {
    let members = progress.to_bytes();
    let members = String::from_utf8_lossy(&members);
    // The members of the report with the closing brace, without the opening one.
    let members = members.strip_prefix('{').unwrap_or_default();
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},{members}}}"#
    )
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::{Value, json};

    use super::*;
    use crate::mcp::testing::caller;

    fn progress_stream(reports: &[&'static str], result: &'static str) -> ProgressStream {
        let (sender, listener) = Reports::new();
        for report in reports {
            sender.put(Bytes::from_static(report.as_bytes()));
        }
        ProgressStream {
            call: None,
            answering: Box::pin(async move {
                let _sender = sender;
                McpResponse::Json(StatusCode::OK, result.as_bytes().to_vec().into())
            }),
            caller_watch: CallerWatch::new(Arc::new(Directory::empty()), caller("ada")),
            reports: listener,
            token: r#""t""#.to_owned(),
            last: None,
            waiting: VecDeque::new(),
            is_answered: false,
        }
    }

    #[tokio::test]
    async fn only_higher_values_are_reported_and_the_answer_comes_last() {
        let reports = [
            r#"{"progress":1,"total":3,"message":"a"}"#,
            r#"{"progress":1}"#,
            r#"{"progress":0.5}"#,
            "[2]",
            "{",
            r#"{"progress":3}"#,
        ];
        let McpResponse::Progress(mut stream) =
            progress_stream(&reports, "{\r\n\"id\":1}").begin().await
        else {
            panic!("expected a stream of reports");
        };
        let mut messages = Vec::new();
        while let Some(message) = stream.next().await {
            assert!(!message.contains(['\r', '\n']), "{message}");
            messages.push(serde_json::from_str::<Value>(&message).expect("JSON"));
        }
        let notification = |params: Value| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        assert_eq!(
            messages,
            [
                notification(
                    json!({"progressToken": "t", "progress": 1, "total": 3, "message": "a"})
                ),
                notification(json!({"progressToken": "t", "progress": 3})),
                json!({"id": 1}),
            ]
        );
    }

    #[tokio::test]
    async fn a_call_without_a_report_has_no_stream() {
        for reports in [&[][..], &["not a report"]] {
            let answer = progress_stream(reports, "{}").begin().await;
            assert!(matches!(answer, McpResponse::Json(StatusCode::OK, _)));
        }
    }
}
