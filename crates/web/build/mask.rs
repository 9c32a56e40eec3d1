//! Finds the comments and the literals of JavaScript, so that the rest can be searched for words.

use std::ops::Range;

/// Words after which `/` begins a regular expression.
const BEFORE_REGEX: [&str; 9] = [
    "return", "typeof", "case", "in", "of", "delete", "void", "throw", "await",
];

/// Replaces each byte of a literal in the masked code.
pub const LITERAL: u8 = b'"';

/// An offset in the text, and what is wrong there.
pub type Fault = (usize, String);

pub struct Masked {
    /// The text with blanks in place of comments, and with [`LITERAL`] in place of each byte of a
    /// string, a template or a regular expression. Its length and its lines are those of the text.
    pub code: String,
    pub comments: Vec<Range<usize>>,
}

pub fn mask(text: &str) -> Result<Masked, Fault> {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut comments = Vec::new();
    // For each open brace: whether it belongs to a `${` of a template.
    let mut braces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(rest) = text.get(at..) else {
            // Inside of a character that is not ASCII.
            at += 1;
            continue;
        };
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').or(Some(rest.len())),
            b'/' if rest.starts_with("/*") => rest[2..].find("*/").map(|end| end + 4),
            b'/' if begins_regex(&code[..at]) => literal_length(rest, &["/"]),
            b'\'' => literal_length(rest, &["'"]),
            b'"' => literal_length(rest, &["\""]),
            b'`' => literal_length(rest, &["`", "${"]),
            b'{' => {
                braces.push(false);
                Some(0)
            }
            b'}' if braces.pop() == Some(true) => literal_length(rest, &["`", "${"]),
            _ => Some(0),
        };
        let Some(length) = length else {
            return Err((at, "this comment, text or expression has no end".to_owned()));
        };
        if length == 0 {
            at += 1;
            continue;
        }
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        let mask = if is_comment { b' ' } else { LITERAL };
        for byte in code[at..at + length].iter_mut() {
            *byte = if *byte == b'\n' { b'\n' } else { mask };
        }
        if is_comment {
            comments.push(at..at + length);
        } else if matches!(bytes[at], b'`' | b'}') && rest[..length].ends_with("${") {
            braces.push(true);
            // An expression begins after `${`. A comma in place of the brace makes `begins_regex`
            // treat a following slash as the start of a regular expression.
            code[at + length - 1] = b',';
        }
        at += length;
    }
    let code = String::from_utf8(code).expect("whole characters were replaced by ASCII");
    Ok(Masked { code, comments })
}

/// The length of a literal up to the first of `ends` that is not escaped. With only one text in
/// `ends`, the literal must end on the line on which it begins; only templates have two.
fn literal_length(text: &str, ends: &[&str]) -> Option<usize> {
    let bytes = text.as_bytes();
    // A slash inside of brackets does not end a regular expression.
    let mut in_class = false;
    let mut at = 1;
    while at < bytes.len() {
        let end = ends
            .iter()
            .find(|end| bytes[at..].starts_with(end.as_bytes()));
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' if ends.len() == 1 => return None,
            b'[' if ends == ["/"] => in_class = true,
            b']' => in_class = false,
            _ => {
                if let Some(end) = end.filter(|_| !in_class) {
                    return Some(at + end.len());
                }
            }
        }
        at += 1;
    }
    None
}

/// Whether a slash after this code begins a regular expression; otherwise it divides.
fn begins_regex(code: &[u8]) -> bool {
    let code = code.trim_ascii_end();
    let Some(last) = code.last() else {
        return true;
    };
    if !is_word_byte(*last) {
        return !matches!(*last, b')' | b']' | b'}' | LITERAL);
    }
    let start = code.iter().rposition(|byte| !is_word_byte(*byte));
    let word = &code[start.map_or(0, |at| at + 1)..];
    BEFORE_REGEX.iter().any(|known| known.as_bytes() == word)
}

/// Whether a byte may be part of a name.
pub fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}
