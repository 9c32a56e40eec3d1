//! Finds lines that end with a bare LF in the head of an HTTP/1 request. The server rejects such a
//! head, because a proxy in front of the server may find different headers in it.

/// The last three bytes before the bytes to check.
pub type Tail = [u8; 3];

/// Whether the bytes contain a bare LF, in a head or in a body. This quick check has no branch per
/// byte.
pub fn has_bare_lf(before: u8, bytes: &[u8]) -> bool {
    let Some(&first) = bytes.first() else {
        return false;
    };
    let bare = |before: u8, byte: u8| (byte == b'\n') & (before != b'\r');
    bytes
        .iter()
        .zip(&bytes[1..])
        .fold(bare(before, first), |found, (&before, &byte)| {
            found | bare(before, byte)
        })
}

/// Returns the position of the first bare LF in a head. In `bytes`, a body and another head may
/// follow the head. `tail` holds the last bytes before `bytes`. `length` is the length of the body
/// according to the lines before `bytes`; `None` if the length is unknown.
pub fn find_in_head(tail: Tail, mut length: Option<usize>, bytes: &[u8]) -> Option<usize> {
    let at = |index: usize, back: usize| match index.checked_sub(back) {
        Some(index) => bytes[index],
        None => tail[tail.len() + index - back],
    };
    let mut index = 0;
    let mut line = 0;
    while index < bytes.len() {
        if bytes[index] == b'\n' {
            if at(index, 1) != b'\r' {
                return Some(index);
            }
            if at(index, 2) == b'\n' && at(index, 3) == b'\r' {
                // The end of the head.
                let body = length?;
                index = index.saturating_add(body);
                length = Some(0);
            } else if let Some(found) = content_length(&bytes[line..index]) {
                length = found.filter(|_| length.is_some());
            }
            line = index.saturating_add(1);
        }
        index = index.saturating_add(1);
    }
    None
}

/// The length of the body, if this line declares it. `Some(None)` if the line makes the length
/// unknown: a `Transfer-Encoding` header, or a `Content-Length` that is text but not a number.
fn content_length(line: &[u8]) -> Option<Option<usize>> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if name.eq_ignore_ascii_case(b"transfer-encoding") {
        return Some(None);
    }
    if !name.eq_ignore_ascii_case(b"content-length") {
        return None;
    }
    let value = str::from_utf8(value.trim_ascii()).ok()?;
    Some(value.parse().ok())
}
