//! Finds whole numbers that a JSON value cannot hold exactly.

use svc_core::json_string::valid_string_end;

use super::{ReadError, error::shorten};

/// Refuses whole numbers that have more than 64 bits: reading them would round them. The text must be
/// valid JSON.
pub(super) fn check_numbers(text: &[u8]) -> Result<(), ReadError> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => at = valid_string_end(text, at),
            b'-' | b'0'..=b'9' => {
                let rest = &text[at..];
                let length = rest.iter().take_while(|&&byte| is_in_number(byte));
                at += length.count();
                let number = str::from_utf8(&text[start..at]).unwrap_or_default();
                if number.bytes().skip(1).all(|byte| byte.is_ascii_digit())
                    && number.parse::<u64>().is_err()
                    && number.parse::<i64>().is_err()
                {
                    return Err(ReadError::plain(format!(
                        "the number {} has more than 64 bits and would be rounded; write a number from {} to {}, or a float such as 1e30",
                        shorten(number),
                        i64::MIN,
                        u64::MAX
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_in_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')
}
