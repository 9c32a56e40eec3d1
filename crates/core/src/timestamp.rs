//! Points in time, shown as RFC 3339 in UTC with milliseconds.

use std::{fmt, time::Duration};

use jiff::{
    SignedDuration,
    civil::{DateTime, date},
    fmt::temporal::Pieces,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::fixed_schema::fixed_schema;

/// In UTC. Not a `jiff::Timestamp`, which ends some hours before the year 9999 ends.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);
/// Offsets from UTC are shorter than this.
const DAY_SECONDS: u32 = 24 * 60 * 60;

/// Milliseconds since 1970, the unit of the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let pieces = Pieces::parse(text).ok().filter(|_| is_rfc_3339(text))?;
        let offset = pieces.to_numeric_offset()?.seconds();
        if offset.unsigned_abs() >= DAY_SECONDS {
            return None;
        }
        let local = pieces.date().to_datetime(pieces.time()?);
        let since_epoch = local.duration_since(EPOCH) - SignedDuration::from_secs(offset.into());
        i64::try_from(since_epoch.as_millis()).ok().map(Self)
    }
}

/// Whether the text has the form of RFC 3339, section 5.6. `jiff` reads other forms too, such as
/// times without seconds.
fn is_rfc_3339(text: &str) -> bool {
    const LOCAL: &str = "0000-00-00T00:00:00";
    let has_form = |text: &str, form: &str| {
        let mut pairs = text.bytes().zip(form.bytes());
        text.len() == form.len()
            && pairs.all(|(byte, expected)| match expected {
                b'0' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b't' | b' '),
                b'Z' => matches!(byte, b'Z' | b'z'),
                b'+' => matches!(byte, b'+' | b'-'),
                _ => byte == expected,
            })
    };
    let Some((local, rest)) = text.split_at_checked(LOCAL.len()) else {
        return false;
    };
    // jiff checks that a digit follows the point.
    let offset = rest.strip_prefix('.').map_or(rest, |fraction| {
        fraction.trim_start_matches(|digit: char| digit.is_ascii_digit())
    });
    // jiff reads the second 60 as 59.
    let is_leap_second = local.ends_with("60");
    has_form(local, LOCAL)
        && !is_leap_second
        && (has_form(offset, "Z") || has_form(offset, "+00:00"))
}

/// A time span in the unit of [`Timestamp`].
pub fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = EPOCH.checked_add(SignedDuration::from_millis(self.0));
        // A year before 0 or after 9999 has no RFC 3339 form. The number is written instead.
        match at.ok().filter(|at| at.year() >= 0) {
            Some(at) => write!(f, "{at:.3}Z"),
            None => self.0.fmt(f),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not an RFC 3339 time")))
    }
}

fixed_schema!(Timestamp as "Timestamp", inline: true, {"type": "string", "format": "date-time"});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_2_times_are_rfc_3339_utc_with_milliseconds() {
        let check = |millis, text: &str| {
            assert_eq!(Timestamp(millis).to_string(), text);
            assert_eq!(Timestamp::parse(text), Some(Timestamp(millis)));
        };
        check(0, "1970-01-01T00:00:00.000Z");
        check(1_794_700_800_123, "2026-11-15T00:00:00.123Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        assert_eq!(
            Timestamp::parse("2026-11-15T02:00:00+02:00"),
            Some(Timestamp(1_794_700_800_000))
        );
    }

    #[test]
    fn times_have_the_form_of_rfc_3339() {
        let check = |text: &str, millis: i64| {
            assert_eq!(Timestamp::parse(text), Some(Timestamp(millis)), "{text}");
        };
        let noon = 1_794_744_000_000;
        for text in [
            "2026-11-15T12:00:00Z",
            "2026-11-15t12:00:00z",
            "2026-11-15 12:00:00.0Z",
            "2026-11-15T12:00:00.000999999Z",
            "2026-11-15T12:00:00-00:00",
            "2026-11-16T11:59:00+23:59",
        ] {
            check(text, noon);
        }
        check("9999-12-31T23:59:59Z", 253_402_300_799_000);
        check("0000-01-01T00:00:00Z", -62_167_219_200_000);
        check("1969-12-31T23:59:59.999Z", -1);
        for text in [
            "",
            "yesterday",
            "2026-11-15",
            "2026-11-15T12:00Z",
            "2026-11-15T12:00:00",
            "2026-11-15T12:00:00.Z",
            "2026-11-15T12:00:00,5Z",
            "2026-11-15x12:00:00Z",
            "2026-11-15T12:00:00+02",
            "2026-11-15T12:00:00+0200",
            "2026-11-15T12:00:00+24:00",
            "2026-11-15T12:00:00+02:00[Europe/Berlin]",
            "20261115T120000Z",
            "2026-02-29T12:00:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T12:00:60Z",
            "2026-11-15T12:00:00Z ",
            "2026-11-1５T12:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn s2_2_a_time_in_json_is_its_text() {
        let json = r#""2026-11-15T00:00:00.123Z""#;
        let at: Timestamp = serde_json::from_str(json).expect("a time");
        assert_eq!(at, Timestamp(1_794_700_800_123));
        assert_eq!(serde_json::to_string(&at).expect("JSON"), json);
        let error = serde_json::from_str::<Timestamp>(r#""soon""#).expect_err("no time");
        assert!(
            error
                .to_string()
                .starts_with("`soon` is not an RFC 3339 time")
        );
    }

    #[test]
    fn a_time_before_the_year_0_or_after_the_year_9999_is_shown_as_a_number() {
        let first = Timestamp(-62_167_219_200_000);
        assert_eq!(first.to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(first.0 - 1).to_string(), "-62167219200001");
        let last = Timestamp(253_402_300_799_999);
        assert_eq!(last.to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp(last.0 + 1).to_string(), "253402300800000");
    }

    #[test]
    fn spans_are_added_and_subtracted_within_the_range_of_times() {
        let span = Duration::from_millis(1_500);
        let at = Timestamp(10_000);
        assert_eq!(at.plus(span), Timestamp(11_500));
        assert_eq!(at.minus(span), Timestamp(8_500));
        assert_eq!(at.plus(Duration::MAX), Timestamp(i64::MAX));
        assert_eq!(Timestamp(-2).minus(Duration::MAX), Timestamp(i64::MIN));
        assert_eq!(at.plus(span).since(at), span);
        assert_eq!(at.since(at.plus(span)), Duration::ZERO);
    }
}
