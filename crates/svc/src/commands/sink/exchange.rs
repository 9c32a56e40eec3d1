//! What one attempt sent and received, as text or as a curl command.

use std::fmt::Write;

use svc_client::Client;
use svc_protocol::api::{Attempt, DeliveryQuery, Exchange, Sink};

use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
    output::{Format, clean, joined, quote},
};

/// The server writes this in place of a secret in a header's value.
const MASK: &str = "********";
/// Headers that curl sets itself.
const SET_BY_CURL: [&str; 3] = ["connection", "content-length", "host"];

/// Selects an attempt of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttemptArg {
    /// The number of the delivery.
    n: u64,
    /// The number of the attempt; `None` for the last attempt.
    attempt: Option<usize>,
}

pub fn parse_attempt(text: &str) -> Result<AttemptArg, String> {
    let wrong = || "an attempt looks like `17`, or `17.2` for the second attempt".to_owned();
    let (n, attempt) = match text.split_once('.') {
        Some((n, attempt)) => {
            let attempt = attempt.parse().ok().filter(|attempt| *attempt > 0);
            (n, Some(attempt.ok_or_else(wrong)?))
        }
        None => (text, None),
    };
    let n = n.parse().map_err(|_| wrong())?;
    Ok(AttemptArg { n, attempt })
}

pub async fn show(
    shell: &Shell,
    client: &Client,
    sink: &Sink,
    which: AttemptArg,
    as_curl: bool,
) -> Outcome {
    let query = DeliveryQuery {
        limit: Some(1),
        cursor: Some(which.n.saturating_add(1).to_string()),
        exchanges: true,
        ..DeliveryQuery::default()
    };
    let found = client.deliveries(sink.id, &query).await?.deliveries.pop();
    let delivery = found.filter(|delivery| delivery.n == which.n);
    let (n, name) = (which.n, &sink.name);
    let delivery = delivery.ok_or_else(|| {
        Failure::not_found(format!("sink `{name}` has no delivery {n}"))
            .hint(format!("svc sink deliveries {name}"))
    })?;
    let number = which.attempt.unwrap_or(delivery.attempts.len());
    let attempt = number
        .checked_sub(1)
        .and_then(|at| delivery.attempts.get(at));
    let attempt = attempt.ok_or_else(|| {
        Failure::not_found(match delivery.attempts.len() {
            0 => format!("delivery {n} has no attempts"),
            made => format!("delivery {n} has no attempt {number}; the last is {n}.{made}"),
        })
    })?;
    if shell.output.format != Format::Table && !as_curl {
        return shell.output.data(attempt);
    }
    let exchange = attempt.exchange.as_ref().ok_or_else(|| {
        let gain = "stores the requests of later attempts";
        Failure::not_found(format!(
            "attempt {n}.{number} was stored without its request"
        ))
        .hint(format!(
            "svc sink update {name} --delivery keep_exchanges=true {gain}"
        ))
    })?;
    let text = match as_curl {
        true => curl_command(exchange),
        false => describe(attempt, exchange),
    };
    let (stored, sent) = (exchange.request.body.len(), exchange.request.body_bytes);
    if (stored as u64) < sent {
        eprintln!("the body is cut: {stored} of {sent} bytes are stored");
    }
    shell.output.raw(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// The request, the answer and the times, in the style of `curl -v`.
fn describe(attempt: &Attempt, exchange: &Exchange) -> String {
    let mut lines = vec![format!("* {}", attempt.at)];
    let timing = &exchange.timing;
    let parts = [
        ("DNS", timing.dns),
        ("connect", timing.connect),
        ("TLS", timing.tls),
        ("first byte", timing.first_byte),
        ("total", Some(timing.total)),
    ]
    .into_iter();
    let parts = parts.filter_map(|(name, time)| Some(format!("{name} {:.1} ms", time?)));
    lines.push(format!("* {}", joined(parts)));
    if let Some(address) = &exchange.remote_address {
        lines.push(format!("* sent to {address}"));
    }
    if let Some(error) = &attempt.error {
        lines.push(format!("* failed: {error}"));
    }
    let request = &exchange.request;
    lines.push(format!("> {}", request.line));
    let fields = request.headers.iter();
    lines.extend(fields.map(|field| format!("> {}: {}", field.name, field.value)));
    lines.push(">".to_owned());
    lines.push(request.body.clone());
    if let Some(response) = &exchange.response {
        lines.push(format!("< {}", response.status));
        let fields = response.headers.iter();
        lines.extend(fields.map(|field| format!("< {}: {}", field.name, field.value)));
        lines.push("<".to_owned());
        lines.extend(attempt.output.clone());
    }
    // Each part may have several lines. `clean` removes control characters, so that the text of a
    // receiver cannot control the terminal.
    let lines = lines.iter().flat_map(|part| part.lines());
    lines.map(|line| clean(line) + "\n").collect()
}

fn curl_command(exchange: &Exchange) -> String {
    let request = &exchange.request;
    let mut command = format!("curl -sS -i -X POST {}", quote(&request.url));
    for field in &request.headers {
        if SET_BY_CURL.contains(&field.name.as_str()) {
            continue;
        }
        let placeholder = format!("<{}>", field.name.to_ascii_uppercase());
        let value = field.value.replace(MASK, &placeholder);
        let header = quote(&format!("{}: {value}", field.name));
        write!(command, " \\\n  -H {header}").expect("writing to a string never fails");
    }
    write!(command, " \\\n  --data-raw {}\n", quote(&request.body))
        .expect("writing to a string never fails");
    command
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attempt() -> Attempt {
        serde_json::from_value(json!({
            "at": "2026-11-16T00:00:00.000Z", "status": 503, "ms": 12,
            "error": "the receiver answered 503", "output": "busy\u{1b}[31m\nlater",
            "exchange": {
                "request": {
                    "url": "https://example.org/hook?a=it's",
                    "line": "POST /hook?a=it's HTTP/1.1",
                    "headers": [
                        {"name": "host", "value": "example.org"},
                        {"name": "content-type", "value": "application/json"},
                        {"name": "authorization", "value": "********"},
                        {"name": "webhook-signature", "value": "v1,********"},
                    ],
                    "body": "{\"text\":\"it's\"}", "body_bytes": 15,
                },
                "response": {"status": 503, "headers": [{"name": "retry-after", "value": "5"}]},
                "timing": {"dns": 0.4, "connect": 1.0, "first_byte": 9.5, "total": 11.2},
                "remote_address": "192.0.2.1:443",
            },
        }))
        .expect("an attempt")
    }

    #[test]
    fn a_selection_is_a_delivery_number_with_an_optional_attempt_number() {
        let parsed = |n, attempt| Ok(AttemptArg { n, attempt });
        assert_eq!(parse_attempt("17"), parsed(17, None));
        assert_eq!(parse_attempt("17.2"), parsed(17, Some(2)));
        for bad in ["", "x", "17.", "17.0", ".1", "-1", "1.2.3"] {
            assert!(parse_attempt(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_exchange_is_shown_without_control_characters() {
        let attempt = attempt();
        let text = describe(&attempt, attempt.exchange.as_ref().expect("kept"));
        for line in [
            "* DNS 0.4 ms, connect 1.0 ms, first byte 9.5 ms, total 11.2 ms",
            "* sent to 192.0.2.1:443",
            "* failed: the receiver answered 503",
            "> POST /hook?a=it's HTTP/1.1",
            "> authorization: ********",
            "{\"text\":\"it's\"}",
            "< 503",
            "< retry-after: 5",
            "later",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}:\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_curl_command_is_quoted_and_has_placeholders_for_secrets() {
        let attempt = attempt();
        let command = curl_command(attempt.exchange.as_ref().expect("kept"));
        let expected = r#"curl -sS -i -X POST 'https://example.org/hook?a=it'\''s' \
  -H 'content-type: application/json' \
  -H 'authorization: <AUTHORIZATION>' \
  -H 'webhook-signature: v1,<WEBHOOK-SIGNATURE>' \
  --data-raw '{"text":"it'\''s"}'
"#;
        assert_eq!(command, expected);
    }
}
