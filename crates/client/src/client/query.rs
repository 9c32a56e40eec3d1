//! Query strings.

use std::fmt::Write;

/// Which part of a list to read.
#[derive(Clone, Debug, Default)]
pub struct Page {
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Which methods to list.
#[derive(Clone, Debug, Default)]
pub struct MethodFilter {
    /// Exactly this visible name.
    pub name: Option<String>,
    /// Text in name, description or keywords.
    pub q: Option<String>,
    /// All of them, unless it names a limit or a cursor.
    pub page: Page,
}

/// `path?name=value&…` of what is present.
pub(crate) fn with_query(path: &str, pairs: &[(&str, Option<&str>)]) -> String {
    let mut out = path.to_owned();
    let mut separator = '?';
    for (name, value) in pairs {
        if let Some(value) = value {
            out.push(separator);
            separator = '&';
            out.push_str(name);
            out.push('=');
            encode(&mut out, value);
        }
    }
    out
}

fn encode(out: &mut String, value: &str) {
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into());
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_present_is_asked_for_and_values_are_encoded() {
        assert_eq!(with_query("/a", &[("x", None)]), "/a");
        assert_eq!(
            with_query(
                "/a",
                &[("x", Some("a b&c=é")), ("y", None), ("z", Some("1"))]
            ),
            "/a?x=a%20b%26c%3D%C3%A9&z=1"
        );
    }
}
