//! Points in time, shown as RFC 3339 in UTC with milliseconds.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::{
    OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339, macros::format_description,
};

use crate::fixed_schema::fixed_schema;

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
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos() / 1_000_000)
            .ok()
            .map(Self)
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = format_description!(
            "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z"
        );
        let text = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .ok()
            .and_then(|at| at.to_offset(UtcOffset::UTC).format(format).ok());
        // A year after 9999 has no RFC 3339 form. The number is written instead.
        match text {
            Some(text) => f.write_str(&text),
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
        assert_eq!(Timestamp::parse("yesterday"), None);
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
    fn a_time_after_the_year_9999_is_shown_as_a_number() {
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
