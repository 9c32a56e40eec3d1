//! The lines of the head of an answer, as far as they say how long the body is.

use memchr::memchr;

use super::AnswerError;

/// The maximum number of bytes of an answer that an error quotes.
const QUOTED_MAX: usize = 60;

#[derive(Debug, Default)]
pub struct Head {
    pub status: u16,
    pub length: Option<u64>,
    pub is_chunked: bool,
    is_http_1_0: bool,
}

impl Head {
    /// Parses the status line, without its CR LF.
    pub fn parse(line: &[u8]) -> Result<Self, AnswerError> {
        let version = line.strip_prefix(b"HTTP/1.");
        let Some([minor @ (b'0' | b'1'), b' ', status @ ..]) = version else {
            return Err(AnswerError::StatusLine);
        };
        let (status, reason) = status.split_at_checked(3).ok_or(AnswerError::StatusLine)?;
        let status = parse_digits(status).and_then(|status| u16::try_from(status).ok());
        match (status, reason.first()) {
            (Some(status @ 100..), None | Some(b' ')) => Ok(Self {
                status,
                is_http_1_0: *minor == b'0',
                ..Self::default()
            }),
            _ => Err(AnswerError::StatusLine),
        }
    }

    /// Reads a header, without its CR LF.
    pub fn read_header(&mut self, line: &[u8]) -> Result<(), AnswerError> {
        let (name, value) = check_header(line)?;
        if name.eq_ignore_ascii_case(b"content-length") {
            // Some servers repeat the same number, in one header or in several.
            for one in value.split(|byte| *byte == b',') {
                let length = parse_digits(trim(one));
                let length = length.ok_or_else(|| AnswerError::Length(quote(value)))?;
                if let Some(other) = self.length.replace(length).filter(|other| *other != length) {
                    return Err(AnswerError::TwoLengths(other, length));
                }
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.is_chunked || self.is_http_1_0 || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(AnswerError::TransferEncoding(quote(value)));
            }
            self.is_chunked = true;
        }
        Ok(())
    }
}

/// The name and the value of a header or trailer.
pub fn check_header(line: &[u8]) -> Result<(&[u8], &[u8]), AnswerError> {
    if line.first().is_some_and(is_space) {
        return Err(AnswerError::FoldedHeader);
    }
    let no_header = || AnswerError::NoHeader(quote(line));
    let colon = memchr(b':', line).ok_or_else(no_header)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    match name.last() {
        None => Err(no_header()),
        Some(last) if is_space(last) => Err(AnswerError::SpaceBeforeColon(quote(trim(name)))),
        Some(_) => Ok((name, trim(value))),
    }
}

/// Parses the size of a chunk.
pub fn parse_size(text: &[u8]) -> Result<u64, AnswerError> {
    if text.iter().any(is_space) {
        return Err(AnswerError::SpaceInChunkSize(quote(text)));
    }
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(text).ok().filter(|_| is_number);
    let size = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    size.ok_or_else(|| AnswerError::ChunkSize(quote(text)))
}

/// Parses a decimal number without a sign.
fn parse_digits(text: &[u8]) -> Option<u64> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    str::from_utf8(text)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}

fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., last] = text
        && is_space(last)
    {
        text = rest;
    }
    while let [first, rest @ ..] = text
        && is_space(first)
    {
        text = rest;
    }
    text
}

/// The beginning of a text for an error, without characters that control a terminal.
fn quote(text: &[u8]) -> String {
    let shown = &text[..text.len().min(QUOTED_MAX)];
    shown.escape_ascii().to_string()
}
