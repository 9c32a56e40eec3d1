//! The data of an event as template values, with exact numbers.
//!
//! The template engine holds whole numbers of 128 bits and 64-bit floats. A number that fits
//! neither exactly becomes [`RawJson`]: it is written as the sender wrote it, but is not compared
//! as a number.

use minijinja::Value;
use svc_core::{
    json_string::{string_text, valid_string_end},
    json_text::JsonText,
};

use super::output::RawJson;

pub(crate) fn values_of(data: &JsonText) -> Value {
    Reader {
        text: data.as_str(),
        at: 0,
    }
    .value()
}

/// Reads a checked text, which has no white space outside strings.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(b']')
    }

    fn value(&mut self) -> Value {
        match self.byte() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => Value::from(self.string()),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
                self.at += end;
                match &rest[..end] {
                    "null" => Value::from(()),
                    "true" => Value::from(true),
                    "false" => Value::from(false),
                    number => to_number(number),
                }
            }
        }
    }

    fn object(&mut self) -> Value {
        let mut members = Vec::new();
        self.at += 1;
        while self.byte() == b'"' {
            let name = self.string();
            // The colon.
            self.at += 1;
            members.push((name, self.value()));
            self.skip_comma();
        }
        self.at += 1;
        Value::from_pairs(members)
    }

    fn array(&mut self) -> Value {
        let mut items = Vec::new();
        self.at += 1;
        while self.byte() != b']' {
            items.push(self.value());
            self.skip_comma();
        }
        self.at += 1;
        Value::from(items)
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at = valid_string_end(self.text.as_bytes(), start + 1);
        let string = string_text(&self.text[start..self.at]);
        string.expect("the text was checked").into_owned()
    }

    fn skip_comma(&mut self) {
        if self.byte() == b',' {
            self.at += 1;
        }
    }
}

fn to_number(token: &str) -> Value {
    if let Ok(whole) = token.parse::<i64>() {
        return Value::from(whole);
    }
    if let Ok(whole) = token.parse::<i128>() {
        return Value::from(whole);
    }
    match token.parse::<f64>() {
        Ok(float) if Decimal::read(token) == Decimal::read(&float.to_string()) => {
            Value::from(float)
        }
        _ => Value::from_object(RawJson(token.to_owned())),
    }
}

/// The value of a JSON number in any notation: `0.<digits> × 10^exponent`.
#[derive(PartialEq, Eq, Debug)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at the start and at the end.
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// `None` if the exponent does not fit into an `i64`.
    fn read(token: &str) -> Option<Self> {
        let unsigned = token.trim_start_matches('-');
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let zeros = all.len() - significant.len();
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?;
        let digits = significant.trim_end_matches('0').to_owned();
        let exponent = exponent.parse::<i64>().ok()?.checked_add(point)?;
        Some(Self {
            is_negative: token.starts_with('-') && !digits.is_empty(),
            exponent: if digits.is_empty() { 0 } else { exponent },
            digits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_value() {
        let decimal = |token: &str| Decimal::read(token);
        for (one, other) in [
            ("1", "1.0"),
            ("100", "1E+2"),
            ("-0.0", "0"),
            ("0.0025", "25e-4"),
            ("1.50", "1.5"),
            ("120e-1", "12"),
        ] {
            assert_eq!(decimal(one), decimal(other), "{one} {other}");
        }
        for (one, other) in [("1", "10"), ("1", "-1"), ("0.1", "0.01"), ("1e2", "1e3")] {
            assert_ne!(decimal(one), decimal(other), "{one} {other}");
        }
    }

    #[test]
    fn only_numbers_that_fit_no_type_are_kept_as_text() {
        let is_raw = |token: &str| to_number(token).downcast_object_ref::<RawJson>().is_some();
        for fits in [
            "0",
            "-0",
            "1.10",
            "1e5",
            "18446744073709551616",
            "-170141183460469231731687303715884105728",
        ] {
            assert!(!is_raw(fits), "{fits}");
        }
        for raw in [
            "1e400",
            "1e99999999999999999999",
            "0.12345678901234567890123",
            "999999999999999999999999999999999999999999",
        ] {
            assert!(is_raw(raw), "{raw}");
        }
    }
}
