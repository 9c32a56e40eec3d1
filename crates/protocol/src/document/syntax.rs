//! Describes why a text is not JSON: the position of the fault, and what to write instead.

use crate::jsonrpc::is_too_deep;

/// Longest excerpt, in characters.
const EXCERPT_MAX: usize = 20;

/// A sentence about text that serde_json could not parse.
pub fn not_json(text: &[u8], error: &serde_json::Error) -> String {
    if text.trim_ascii().is_empty() {
        return "there is no JSON: the text is empty".to_owned();
    }
    if is_too_deep(error) {
        return "the JSON is nested too deeply".to_owned();
    }
    let Ok(text) = str::from_utf8(text) else {
        return "this is not valid JSON: it is not UTF-8 text".to_owned();
    };
    if error.is_eof() {
        let last = text
            .trim_end()
            .chars()
            .rev()
            .take(EXCERPT_MAX)
            .collect::<Vec<_>>();
        let last: String = last.into_iter().rev().collect();
        return format!(
            "this is not valid JSON: it ends after `{}`, where a value, a quotation mark or a bracket is missing",
            printable(&last)
        );
    }
    let line_start = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    // The column of a serde_json error is the number of bytes that were read in the line, so the
    // last of them is the fault.
    let mut at = (line_start + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let rest: String = text[at..].chars().take(EXCERPT_MAX).collect();
    let column = text[line_start..at].chars().count() + 1;
    let place = match text.trim_end().contains('\n') {
        true => format!("line {}, column {column}", error.line()),
        false => format!("column {column}"),
    };
    let advice =
        advice(&text[..at], &rest).map_or_else(String::new, |advice| format!("; {advice}"));
    format!(
        "this is not valid JSON at {place}: `{}`{advice}",
        printable(&rest)
    )
}

/// Advice for frequent mistakes.
fn advice(before: &str, rest: &str) -> Option<&'static str> {
    let comes_after_comma = before.trim_end().ends_with(',');
    let first = rest.chars().next()?;
    Some(match first {
        '\'' => "write strings in double quotation marks",
        '}' | ']' if comes_after_comma => "remove the comma before it",
        '/' | '#' => "JSON has no comments",
        'N' | 'I' if rest.starts_with("NaN") || rest.starts_with("Inf") => {
            "JSON has no NaN and no Infinity"
        }
        'T' | 'F' | 'N'
            if ["True", "False", "None"]
                .iter()
                .any(|w| rest.starts_with(w)) =>
        {
            "write `true`, `false` or `null`"
        }
        letter if letter.is_alphabetic() && !matches!(letter, 't' | 'f' | 'n') => {
            "write strings and names in double quotation marks"
        }
        _ => return None,
    })
}

fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
