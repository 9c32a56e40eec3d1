//! Numbers of JSON texts that change when a program reads them as floats.
//!
//! JSON has decimal numbers of any length. Most programs, Python among them, read a number with a
//! fraction or an exponent as a float of 64 bits and write the shortest decimal that means the same
//! float. `0.1000000000000000055` becomes `0.1`; `1.10` becomes `1.1`, which is the same number.

use crate::json_string::valid_string_end;

/// The floats of a JSON text: numbers with a fraction or an exponent.
pub fn floats(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'"' => at = valid_string_end(bytes, at),
                b'-' | b'0'..=b'9' => {
                    let is_part =
                        |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                    at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                    let token = &text[start..at];
                    if token.contains(['.', 'e', 'E']) {
                        return Some(token);
                    }
                }
                _ => {}
            }
        }
        None
    })
}

/// The float that a program reads, if it is another number than the text.
pub fn rounded(token: &str) -> Option<f64> {
    let float: f64 = token.parse().ok()?;
    let is_same = float.is_finite() && decimal(token) == decimal(&format!("{float:e}"));
    (!is_same).then_some(float)
}

/// The digits of a number without zeros at both ends, and the power of ten of the last digit.
fn decimal(token: &str) -> Option<(bool, String, i64)> {
    let (is_negative, token) = match token.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, token),
    };
    let (digits, exponent) = match token.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
        None => (token, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let kept = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len() - kept.len()).ok()?;
    let fraction = i64::try_from(fraction.len()).ok()?;
    let digits = kept.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Some((false, digits, 0));
    }
    Some((is_negative, digits, exponent - fraction + zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_found_outside_of_strings() {
        let text = r#"{"1.5": [1, -2.50, "3.5\"4.5", 1E+2, -0, 7e-1], "x": 0.1}"#;
        let found: Vec<_> = floats(text).collect();
        assert_eq!(found, ["-2.50", "1E+2", "7e-1", "0.1"]);
    }

    #[test]
    fn a_number_that_a_float_cannot_hold_is_rounded() {
        for exact in [
            "0.1",
            "1.10",
            "-2.50",
            "1E+2",
            "100e-2",
            "0.0",
            "-0.0",
            "0e99999",
            "1e22",
            "0.30000000000000004",
            "123456789.125",
            "5e-324",
            "1.7976931348623157e308",
        ] {
            assert_eq!(rounded(exact), None, "{exact}");
        }
        for (inexact, float) in [
            ("0.1000000000000000055", 0.1),
            ("-3.141592653589793238", -std::f64::consts::PI),
            ("12345678901234567890.5", 12_345_678_901_234_567_000.0),
            ("1e999", f64::INFINITY),
            ("1e-999", 0.0),
        ] {
            assert_eq!(rounded(inexact), Some(float), "{inexact}");
        }
    }
}
