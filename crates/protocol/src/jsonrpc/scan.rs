//! A fast parser for JSON of the usual shape: one pass, which only records where values begin and
//! end.
//!
//! For unusual text (unknown or repeated members, escaped names, deep nesting, anything that is not
//! JSON) this parser returns `None`, and serde decides. It accepts less than serde, and reads every
//! text that it accepts in the same way as serde. A property test compares both.

use svc_core::json_string::string_end;

/// Deepest nesting of a value that this parser accepts: [`OPEN_MAX`] levels, and an empty object or
/// array in the innermost level. [`members`] does not count the object around the members.
pub const DEPTH_MAX: usize = 1 + OPEN_MAX as usize;
/// The maximum number of open levels: each level has one bit of a 64-bit word.
const OPEN_MAX: u32 = 64;

/// The values of an object's members, in the order of `names`, without the white space around them.
/// `None` if a member has another name or occurs twice, or for other unusual text.
pub fn members<'a, const N: usize>(
    json: &'a [u8],
    names: [&str; N],
) -> Option<[Option<&'a str>; N]> {
    let text = str::from_utf8(json).ok()?;
    let mut found = [None; N];
    let mut at = skip_space(json, 0);
    if json.get(at) != Some(&b'{') {
        return None;
    }
    at = skip_space(json, at + 1);
    loop {
        let rest = json.get(at..)?.strip_prefix(b"\"")?;
        let is_here =
            |name: &&str| rest.get(name.len()) == Some(&b'"') && rest.starts_with(name.as_bytes());
        let index = names.iter().position(is_here)?;
        let start = value_of_member(json, at + names[index].len() + 2)?;
        let end = value_end(json, start)?;
        if found[index].replace(text.get(start..end)?).is_some() {
            return None;
        }
        at = skip_space(json, end);
        match json.get(at)? {
            b',' => at = skip_space(json, at + 1),
            b'}' if skip_space(json, at + 1) == json.len() => return Some(found),
            _ => return None,
        }
    }
}

/// The JSON value without the white space around it.
pub fn value(json: &[u8]) -> Option<&str> {
    let start = skip_space(json, 0);
    let end = value_end(json, start)?;
    if skip_space(json, end) != json.len() {
        return None;
    }
    str::from_utf8(&json[start..end]).ok()
}

/// The end of the value that begins at `at`.
fn value_end(json: &[u8], mut at: usize) -> Option<usize> {
    // One bit per level: 1 for an object, 0 for an array.
    let (mut objects, mut depth) = (0_u64, 0);
    loop {
        at = match json.get(at)? {
            b'"' => string_end(json, at + 1)?,
            b'-' | b'0'..=b'9' => number_end(json, at)?,
            b'n' => literal_end(json, at, b"null")?,
            b't' => literal_end(json, at, b"true")?,
            b'f' => literal_end(json, at, b"false")?,
            &open @ (b'{' | b'[') => {
                let inside = skip_space(json, at + 1);
                if json.get(inside)? == &closing(open == b'{') {
                    inside + 1
                } else if depth == OPEN_MAX {
                    return None;
                } else {
                    objects = objects << 1 | u64::from(open == b'{');
                    depth += 1;
                    at = next_value(json, inside, open == b'{')?;
                    continue;
                }
            }
            _ => return None,
        };
        loop {
            if depth == 0 {
                return Some(at);
            }
            let is_object = objects & 1 == 1;
            at = skip_space(json, at);
            match json.get(at)? {
                b',' => {
                    at = next_value(json, skip_space(json, at + 1), is_object)?;
                    break;
                }
                byte if *byte == closing(is_object) => {
                    objects >>= 1;
                    depth -= 1;
                    at += 1;
                }
                _ => return None,
            }
        }
    }
}

fn closing(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

/// The start of the next value. In an object, this is after the member's name and colon.
fn next_value(json: &[u8], at: usize, is_object: bool) -> Option<usize> {
    if !is_object {
        return Some(at);
    }
    match json.get(at)? {
        b'"' => value_of_member(json, string_end(json, at + 1)?),
        _ => None,
    }
}

/// The start of the value whose name ends at `name_end`.
fn value_of_member(json: &[u8], name_end: usize) -> Option<usize> {
    let colon = skip_space(json, name_end);
    match json.get(colon)? {
        b':' => Some(skip_space(json, colon + 1)),
        _ => None,
    }
}

fn skip_space(json: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = json.get(at) {
        at += 1;
    }
    at
}

fn literal_end(json: &[u8], at: usize, literal: &[u8]) -> Option<usize> {
    json.get(at..)?
        .starts_with(literal)
        .then_some(at + literal.len())
}

fn number_end(json: &[u8], mut at: usize) -> Option<usize> {
    if json.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match json.get(at)? {
        b'0' => at + 1,
        _ => some_digits_end(json, at)?,
    };
    if json.get(at) == Some(&b'.') {
        at = some_digits_end(json, at + 1)?;
    }
    if let Some(b'e' | b'E') = json.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = json.get(at) {
            at += 1;
        }
        at = some_digits_end(json, at)?;
    }
    // Rejects leading zeros, and letters after a number.
    match json.get(at) {
        Some(byte) if byte.is_ascii_alphanumeric() => None,
        _ => Some(at),
    }
}

/// The position after one or more digits.
fn some_digits_end(json: &[u8], start: usize) -> Option<usize> {
    let digits = json.get(start..)?.iter();
    let count = digits.take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(start + count)
}

#[cfg(test)]
mod tests;
