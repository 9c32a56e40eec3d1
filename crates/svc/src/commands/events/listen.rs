//! `svc events listen`: posts events to a program under development. It has no queue and never
//! retries.

use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;
use svc_client::{Client, Policy, Target};
use svc_core::event::default_body;
use svc_protocol::api::EventRecord;

use super::{EventSource, parse_patterns};
use crate::{
    commands::{
        Shell,
        tail::{POLICY, Tail},
    },
    exit::{Exit, Failure, Outcome},
};

/// Time for the answer, and for connecting. A webhook delivery has the same time for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Post new events to a local address, for development
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc events listen --forward-to http://127.0.0.1:3000/hook --pattern 'custom.*'",
    after_help = "Each event is posted once, in the default form and unsigned. For deliveries that are queued,\nsigned and retried, create a sink: svc sink create."
)]
pub struct Args {
    /// Address to post each event to
    #[arg(long, value_name = "URL")]
    forward_to: String,
    /// Only types that match one of these patterns, separated by commas
    #[arg(long, visible_alias = "type", value_name = "PATTERNS", value_parser = parse_patterns)]
    pattern: Option<String>,
}

pub async fn run(shell: &Shell, args: &Args) -> Outcome {
    let receiver = Receiver::new(&args.forward_to)?;
    let client = shell.client()?;
    let mut tail = Tail::open(&client, EventSource(args.pattern.as_deref()), POLICY).await?;
    loop {
        let event = tail.next().await?;
        let forwarded = receiver.forward(&event).await;
        if !print(shell, &event, &forwarded)? {
            return Ok(Exit::Ok);
        }
    }
}

/// The program that gets the events.
struct Receiver {
    client: Client,
    /// The end of the path of each request, with the query. The client adds the path of its target
    /// in front of this text.
    path: String,
}

/// The result of posting one event.
struct ForwardResult {
    /// The HTTP status, or why there is none.
    answer: Result<u16, String>,
    ms: u128,
}

impl Receiver {
    fn new(url: &str) -> Result<Self, Failure> {
        let (address, query) = match url.split_once('?') {
            Some((address, query)) => (address, Some(query)),
            None => (url, None),
        };
        let target = Target::parse(address, None)
            .map_err(|error| Failure::usage(format!("`--forward-to`: {error}")))?;
        let path = match (query, target.path("").is_empty()) {
            (Some(query), true) => format!("/?{query}"),
            (Some(query), false) => format!("?{query}"),
            (None, true) => "/".to_owned(),
            (None, false) => String::new(),
        };
        let policy = Policy {
            answer_timeout: ANSWER_TIMEOUT,
            connect_timeout: ANSWER_TIMEOUT,
            answer_bytes_max: 1024 * 1024,
            ..Policy::default()
        };
        Ok(Self {
            client: Client::with_policy(target, policy),
            path,
        })
    }

    async fn forward(&self, event: &EventRecord) -> ForwardResult {
        let body = default_body(
            event.event_id,
            &event.event_type,
            event.event_ts,
            &event.data,
        );
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-service-event-id", event.event_id.to_string()),
            ("x-service-event-type", event.event_type.clone()),
            ("x-service-event-ts", event.event_ts.to_string()),
        ] {
            headers.extend(
                HeaderValue::try_from(value).map(|value| (HeaderName::from_static(name), value)),
            );
        }
        let begun = Instant::now();
        let (client, body) = (&self.client, Some(body.into_bytes()));
        let posted = client.send_raw(Method::POST, &self.path, headers, body, None);
        let answer = posted.await.map(|answer| answer.status.as_u16());
        ForwardResult {
            answer: answer.map_err(|error| error.to_string()),
            ms: begun.elapsed().as_millis(),
        }
    }
}

fn print(shell: &Shell, event: &EventRecord, forwarded: &ForwardResult) -> Result<bool, Failure> {
    let record = json!({
        "event_id": event.event_id,
        "event_type": event.event_type,
        "status": forwarded.answer.as_ref().ok(),
        "error": forwarded.answer.as_ref().err(),
        "ms": forwarded.ms,
    });
    shell.output.next_record(&record, || {
        let answer = match &forwarded.answer {
            Ok(status) => status.to_string(),
            Err(error) => format!("failed: {error}"),
        };
        format!(
            "{} {} {} -> {answer} ({} ms)",
            event.event_ts, event.event_type, event.event_id, forwarded.ms
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_query_of_the_address_are_kept() {
        let check = |url: &str, expected: &str| {
            let receiver = Receiver::new(url).expect(url);
            assert_eq!(receiver.client.target().path(&receiver.path), expected);
        };
        check("http://127.0.0.1:3000", "/");
        check("http://127.0.0.1:3000/", "/");
        check("http://127.0.0.1:3000/hook", "/hook");
        check("http://127.0.0.1:3000/hook?a=b&c", "/hook?a=b&c");
        check("http://127.0.0.1:3000?a=b", "/?a=b");
        for bad in ["", "127.0.0.1:3000", "ftp://x"] {
            let failure = Receiver::new(bad).err().expect(bad);
            assert_eq!(failure.exit, Exit::Usage);
        }
    }
}
