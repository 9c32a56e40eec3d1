//! Strings in JSON text: where a string ends, which text it encodes, and which parts of a text are
//! inside a string. All readers of raw JSON find the strings with these functions.
//!
//! `#[inline]`: the parser of calls is in another crate and finds several strings in each call.

use std::borrow::Cow;

/// The number of bytes of a long string that are tested at once.
const BLOCK: usize = 64;

/// The position after the closing quotation mark of a string whose content begins at `at`. `None` if
/// the string does not end, or is not valid JSON.
#[inline]
pub fn string_end(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = skip_plain(json, at);
        match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match json.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' => {
                    let digits = json.get(at + 2..at + 6)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    at += 6;
                }
                _ => return None,
            },
            // A control character.
            _ => return None,
        }
    }
}

/// The position after the string whose content begins at `at`, in valid JSON.
#[inline]
pub fn valid_string_end(json: &[u8], at: usize) -> usize {
    string_end(json, at).unwrap_or(json.len())
}

/// The text that a string token encodes, borrowed unless the token has escapes. The token has
/// quotation marks, the text has none. `None` if the token is not a string, or its escapes do not
/// encode text.
pub fn string_text(token: &str) -> Option<Cow<'_, str>> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    match inner.contains('\\') {
        true => serde_json::from_str(token).ok().map(Cow::Owned),
        false => Some(Cow::Borrowed(inner)),
    }
}

/// Where a point of a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Position {
    #[default]
    Outside,
    InString,
    /// In a string, after a backslash.
    InEscape,
}

impl Position {
    /// The position after these bytes of the text, which may be any part of a JSON text.
    pub fn after(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        loop {
            match self {
                Self::Outside => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let Some(quote) = rest.iter().position(|byte| *byte == b'"') else {
                        return self;
                    };
                    at += quote;
                    self = Self::InString;
                }
                Self::InString => {
                    at = skip_plain(bytes, at);
                    match bytes.get(at) {
                        Some(b'"') => self = Self::Outside,
                        Some(b'\\') => self = Self::InEscape,
                        Some(_) => {}
                        None => return self,
                    }
                }
                Self::InEscape if at < bytes.len() => self = Self::InString,
                Self::InEscape => return self,
            }
            at += 1;
        }
    }
}

/// Position of the first byte at or after `start` that is a quotation mark, a backslash or a
/// control character. Other bytes are called plain. Most bytes of most payloads are in strings, so
/// they are tested eight at a time, and in a long string a block at a time.
#[inline]
fn skip_plain(json: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(bytes) = json.get(at..).and_then(|rest| rest.first_chunk()) {
        let special = special_bytes(*bytes);
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
        if at - start == BLOCK {
            at = skip_plain_blocks(json, at);
        }
    }
    let rest = json.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| is_plain(**byte)).count()
}

/// Skips blocks of plain bytes. Returns the position after them.
fn skip_plain_blocks(json: &[u8], mut at: usize) -> usize {
    // No early exit within a block, so that the compiler can vectorise the comparison.
    let is_plain_block = |block: &[u8; BLOCK]| {
        block
            .iter()
            .fold(true, |plain, byte| plain & is_plain(*byte))
    };
    while let Some(block) = json.get(at..).and_then(|rest| rest.first_chunk())
        && is_plain_block(block)
    {
        at += BLOCK;
    }
    at
}

fn is_plain(byte: u8) -> bool {
    (byte >= 0x20) & (byte != b'"') & (byte != b'\\')
}

/// Sets the high bit of each byte that is not plain. After the first byte that is not plain, the
/// high bit of a plain byte may be set too.
fn special_bytes(bytes: [u8; 8]) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let word = u64::from_le_bytes(bytes);
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zeros(word ^ (ONES * u64::from(b'"')));
    let escapes = zeros(word ^ (ONES * u64::from(b'\\')));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | escapes | controls) & HIGHS
}

#[cfg(test)]
mod tests;
