//! Times in options of commands.

use std::time::Duration;

use svc_core::Timestamp;

/// Parses a time such as `2026-01-31T08:00:00Z`, or how long ago it was, such as `2h`.
pub fn parse_time(text: &str) -> Result<Timestamp, String> {
    let (digits, unit) = split_unit(text);
    let unit = seconds_of(unit).filter(|_| !unit.is_empty());
    let ago = unit.and_then(|unit| digits.parse::<u32>().ok()?.checked_mul(unit));
    if let Some(ago) = ago {
        return Ok(svc_clock::now().minus(Duration::from_secs(ago.into())));
    }
    Timestamp::parse(text).ok_or_else(|| {
        "a time looks like 2026-01-31T08:00:00Z, or like 2h for 2 hours ago".to_owned()
    })
}

/// A number and the letters after it.
pub fn split_unit(text: &str) -> (&str, &str) {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    text.split_at(digits.len())
}

/// The seconds of a unit; no letters mean seconds.
pub fn seconds_of(unit: &str) -> Option<u32> {
    match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_absolute_or_a_number_of_units_ago() {
        let exact = "2026-01-31T08:00:00Z";
        assert_eq!(parse_time(exact).ok(), Timestamp::parse(exact));
        let before = svc_clock::now();
        for (text, seconds) in [("30s", 30), ("5m", 300), ("2h", 7_200), ("7d", 604_800)] {
            let ago = Duration::from_secs(seconds);
            let parsed = parse_time(text).expect(text);
            assert!(parsed >= before.minus(ago), "{text}");
            assert!(parsed <= svc_clock::now().minus(ago), "{text}");
        }
        for bad in [
            "",
            "2",
            "h",
            "2w",
            "-2h",
            "2.5h",
            "99999999999h",
            "2é",
            "tomorrow",
        ] {
            assert!(parse_time(bad).is_err(), "{bad:?}");
        }
    }
}
