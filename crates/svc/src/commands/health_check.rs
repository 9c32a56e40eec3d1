//! Parses `--health-check`: short forms, or JSON for all settings.

use serde_json::{Value, json};
use svc_core::space::HealthCheck;
use svc_protocol::document;

use crate::exit::Failure;

/// The accepted forms, for error messages.
pub const FORMS: &str = "none, tcp:<port>, http://<address>, command:<shell command>, or JSON \
     such as {\"type\":\"tcp\",\"port\":3000,\"interval_seconds\":30}";

/// Returns `None` for the text `null`. Then the check of the space's template applies, or the
/// default.
pub fn parse(text: &str) -> Result<Option<HealthCheck>, Failure> {
    let refuse = |why: String| {
        Failure::usage(format!("health check `{text}` is not valid"))
            .why(why)
            .hint(format!("the forms are {FORMS}"))
    };
    let trimmed = text.trim();
    let written = match trimmed.split_once(':') {
        _ if trimmed.starts_with('{') || trimmed == "null" => {
            document::read_json(trimmed.as_bytes()).map_err(|error| refuse(error.to_string()))?
        }
        None if trimmed == "none" => json!({"type": "none"}),
        Some(("tcp", text)) => {
            let port = text.parse::<u16>();
            let port = port.map_err(|_| refuse(format!("`{text}` is not a port number")))?;
            json!({"type": "tcp", "port": port})
        }
        Some(("http" | "https", _)) => json!({"type": "http", "url": trimmed}),
        Some(("command", command)) => json!({"type": "command", "command": command.trim()}),
        _ => return Err(refuse("it has none of the accepted forms".to_owned())),
    };
    match written {
        Value::Null => Ok(None),
        written => document::read_value(written)
            .map(Some)
            .map_err(|error| refuse(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use svc_core::space::Probe;

    use super::*;

    #[test]
    fn every_form_is_accepted() {
        let check = |text: &str, probe: Probe| {
            let parsed = parse(text).expect("valid").expect("a check");
            assert_eq!(parsed.probe, probe, "{text}");
        };
        check("none", Probe::None);
        check("tcp:8080", Probe::Tcp { port: 8080 });
        let url = "http://127.0.0.1:3000/healthz".to_owned();
        check("http://127.0.0.1:3000/healthz", Probe::Http { url });
        let command = "test -f ready: now".to_owned();
        check("command:test -f ready: now", Probe::Command { command });
        check(r#"{"type":"tcp","port":1}"#, Probe::Tcp { port: 1 });
        assert_eq!(parse("null").expect("valid"), None);
        let slow = parse(r#"{"type":"none","interval_seconds":60}"#).expect("valid");
        assert_eq!(slow.map(|check| check.interval_seconds), Some(60));
    }

    #[test]
    fn an_invalid_check_is_refused_with_the_accepted_forms() {
        for text in [
            "",
            "nothing",
            "tcp",
            "tcp:",
            "tcp:0",
            "tcp:99999",
            "https://127.0.0.1",
            "http://",
            "command:",
            "{",
            "7",
            r#"{"type":"udp"}"#,
        ] {
            let failure = parse(text).expect_err(text).to_string();
            assert!(failure.contains("tcp:<port>"), "{failure}");
            assert!(failure.contains(&format!("`{text}`")), "{failure}");
        }
    }
}
