//! The whole output of a command as text that is the same in every run, for snapshots.

use std::fmt::Write;

use crate::program::Output;

/// Values that differ between runs: `x` is a hexadecimal digit, `9` a decimal digit, all other
/// characters are literal. A value is replaced by its shape, so that tables keep their columns.
const SHAPES: [&str; 3] = [
    "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
    "9999-99-99T99:99:99.999Z",
    "127.0.0.1:99999",
];

/// The prefixes of secrets. Each character after the prefix is replaced.
const SECRETS: [&str; 3] = ["svc_pat_", "svc_agt_", "whsec_"];

impl Output {
    /// The command line, stdout, stderr and the exit code, with stable values.
    pub fn transcript(&self, args: &[&str]) -> String {
        let mut text = String::from("$ svc");
        for arg in args {
            text.push(' ');
            text.push_str(&quoted(arg));
        }
        text.push('\n');
        text.push_str(&stable(&self.stdout));
        if !self.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&stable(&self.stderr));
        }
        let _ = writeln!(text, "--- exit {}", self.code);
        text
    }
}

/// The text with ids, times, ports and secrets replaced by placeholders of the same width.
fn stable(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let length = if let Some(shape) = SHAPES.iter().find(|shape| has_shape(rest, shape)) {
            out.push_str(shape);
            shape.len()
        } else if let Some(start) = SECRETS.iter().find(|start| rest.starts_with(**start)) {
            let secret = rest[start.len()..].bytes().take_while(is_of_secret).count();
            out.push_str(start);
            out.extend(std::iter::repeat_n('x', secret));
            start.len() + secret
        } else {
            out.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    out
}

fn has_shape(text: &str, shape: &str) -> bool {
    let same = |(byte, shape): (u8, u8)| match shape {
        b'x' => byte.is_ascii_hexdigit(),
        b'9' => byte.is_ascii_digit(),
        literal => byte == literal,
    };
    text.len() >= shape.len() && text.bytes().zip(shape.bytes()).all(same)
}

/// Whether the byte can be part of a secret, which is hexadecimal or base 64.
fn is_of_secret(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// An argument as a person would type it in a shell.
fn quoted(arg: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@=".contains(&byte);
    if !arg.is_empty() && arg.bytes().all(plain) {
        arg.to_owned()
    } else {
        format!("'{arg}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_times_ports_and_secrets_keep_their_width() {
        let check = |text, expected: &str| assert_eq!(stable(text), expected);
        check(
            "id: 01a1e1aa-cdac-77c7-97d2-9ed387e04faa!",
            "id: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx!",
        );
        check("2026-11-16T00:03:52.794Z", "9999-99-99T99:99:99.999Z");
        check("http://127.0.0.1:46527/api", "http://127.0.0.1:99999/api");
        check("svc_pat_59604f …", "svc_pat_xxxxxx …");
        check("whsec_a+b/c= é", "whsec_xxxxxx é");
    }

    #[test]
    fn text_of_no_known_shape_is_unchanged() {
        for text in ["127.0.0.1:9", "2026-11-16", "01a1e1aa", "é ü", ""] {
            assert_eq!(stable(text), text);
        }
    }

    #[test]
    fn a_transcript_has_the_command_the_output_and_the_exit_code() {
        let output = Output {
            code: 2,
            stdout: "out\n".to_owned(),
            stderr: "error: no\n".to_owned(),
        };
        assert_eq!(
            output.transcript(&["method", "call", "{}"]),
            "$ svc method call '{}'\nout\n--- stderr\nerror: no\n--- exit 2\n"
        );
    }
}
