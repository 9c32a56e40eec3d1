//! `$/ready`: the notification with which a method server reports that its start has succeeded.

use std::borrow::Cow;

use serde::Deserialize;

use super::is_object;

/// The line that a method server writes, without its line break.
pub const READY_LINE: &str = r#"{"jsonrpc":"2.0","method":"$/ready"}"#;

/// The method name of the notification.
const METHOD: &str = "$/ready";
/// A longer line is not parsed.
const LINE_BYTES_MAX: usize = 1024;

/// A message of a method server. A message with an `id` is a request and not a notification.
#[derive(Deserialize)]
struct Notification<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    id: Option<serde::de::IgnoredAny>,
}

/// Whether a line of a method server's stdout is the notification `$/ready`. `params` are ignored.
pub fn is_ready_line(line: &[u8]) -> bool {
    // The search is cheap and rejects most lines. It leaves out the `$`, because some languages
    // escape the slash: `$\/ready`.
    if line.len() > LINE_BYTES_MAX
        || memchr::memmem::find(line, br#"/ready""#).is_none()
        || !is_object(line)
    {
        return false;
    }
    serde_json::from_slice::<Notification<'_>>(line)
        .is_ok_and(|read| read.jsonrpc == "2.0" && read.method == METHOD && read.id.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ready_notification_is_recognised() {
        let padded = format!(
            r#"{{"jsonrpc":"2.0","method":"$/ready","x":"{:1000}"}}"#,
            ""
        );
        for (line, expected) in [
            (READY_LINE, true),
            (
                r#" {"method": "$\/ready", "params": {"a": 1}, "jsonrpc": "2.0"} "#,
                true,
            ),
            (r#"{"jsonrpc":"2.0","method":"$/ready","id":1}"#, false),
            (r#"{"jsonrpc":"1.0","method":"$/ready"}"#, false),
            (r#"{"method":"$/ready"}"#, false),
            (r#"{"jsonrpc":"2.0","method":"$/readyish"}"#, false),
            (
                r#"{"jsonrpc":"2.0","method":"x","params":"$/ready"}"#,
                false,
            ),
            (r#"["2.0","$/ready"]"#, false),
            ("the server is \"/ready\"", false),
            ("", false),
            (padded.as_str(), false),
        ] {
            assert_eq!(is_ready_line(line.as_bytes()), expected, "{line}");
        }
    }
}
