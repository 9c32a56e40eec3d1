mod clock_changes;

use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a time")
}

fn rule(cron: &str, zone: &str) -> CronRule {
    CronRule::parse(cron, zone).expect("valid")
}

fn check_runs(cron: &str, zone: &str, after: &str, expected: &[&str]) {
    let runs = rule(cron, zone).upcoming(at(after), expected.len());
    let expected: Vec<_> = expected.iter().map(|text| at(text)).collect();
    assert_eq!(runs, expected, "{cron} in {zone} after {after}");
}

#[test]
fn runs_follow_the_clock_of_the_time_zone() {
    check_runs(
        "0 2 * * *",
        "UTC",
        "2026-01-01T02:00:00Z",
        &["2026-01-02T02:00:00Z"],
    );
    check_runs(
        "0 2 * * *",
        "UTC",
        "2026-01-01T01:59:59.999Z",
        &["2026-01-01T02:00:00Z"],
    );
    check_runs(
        "30 9 * * MON-FRI",
        "America/New_York",
        "2026-01-02T15:00:00Z",
        &["2026-01-05T14:30:00Z"],
    );
    check_runs(
        "0 0 29 2 *",
        "UTC",
        "2026-01-01T00:00:00Z",
        &["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"],
    );
    check_runs(
        "0 12 L * *",
        "Asia/Kolkata",
        "2026-02-01T00:00:00Z",
        &["2026-02-28T06:30:00Z"],
    );
    check_runs(
        "@daily",
        "utc",
        "2026-02-01T00:00:00Z",
        &["2026-02-02T00:00:00Z"],
    );
}

#[test]
fn every_form_of_an_element_is_accepted() {
    for cron in [
        "*/5 0-23/2 1,15 JAN-MAR MON,WED-FRI",
        "0 0 L * *",
        "0 0 LW * *",
        "0 0 15W * *",
        "0 0 ? * 5L",
        "0 0 * * FRI#2",
        "0 0 * * 1#L",
        "0 0 1-7 * +mon",
        "@yearly",
        "@hourly",
        "@Midnight",
    ] {
        CronRule::parse(cron, "UTC").expect(cron);
    }
    let daily = rule("@daily", "UTC").upcoming(at("2026-02-01T00:00:00Z"), 3);
    let midnight = rule("@midnight", "UTC").upcoming(at("2026-02-01T00:00:00Z"), 3);
    assert_eq!(midnight, daily);
}

#[test]
fn runs_are_at_most_once_a_minute() {
    let minutes = rule("* * * * *", "UTC").upcoming(at("2026-01-01T00:00:30.500Z"), 3);
    let expected = [
        "2026-01-01T00:01:00Z",
        "2026-01-01T00:02:00Z",
        "2026-01-01T00:03:00Z",
    ];
    assert_eq!(minutes, expected.map(at));
    for seconds in ["* * * * * *", "0 0 2 * * *", "0 0 2 * * * 2027"] {
        let refused = CronRule::parse(seconds, "UTC").expect_err(seconds);
        assert!(refused.to_string().contains("five fields"), "{refused}");
    }
}

#[test]
fn invalid_expressions_and_zones_are_refused_with_their_text() {
    for cron in [
        "",
        "x",
        "60 * * * *",
        "* * * *",
        "* 25 * * *",
        "@reboot",
        "* * 32 * *",
        "é * * * *",
    ] {
        let refused = CronRule::parse(cron, "UTC").expect_err(cron).to_string();
        assert!(
            refused.starts_with(&format!("the cron expression `{cron}` is not valid: ")),
            "{refused}"
        );
    }
    for zone in ["", "Berlin", "Europe/Atlantis", "../etc/passwd", "é"] {
        let refused = CronRule::parse("0 2 * * *", zone).expect_err(zone);
        assert_eq!(refused, ScheduleError::TimeZone(zone.to_owned()));
    }
}

#[test]
fn the_message_about_an_invalid_expression_gives_the_reason() {
    for (cron, reason) in [
        ("é * * * *", "it has characters other than printable ASCII"),
        ("0 2\t* * *", "it has characters other than printable ASCII"),
        ("60 * * * *", "Number out of bounds"),
        (
            "* * * *",
            "Pattern must have 5 fields when seconds are disallowed",
        ),
        ("", "CronPattern cannot be an empty string"),
        ("1,,2 * * * *", "the list `1,,2` has an empty element"),
        (", * * * *", "the list `,` has an empty element"),
        ("1, * * * *", "the list `1,` has an empty element"),
        (
            "0 0 1 JAN1 *",
            "`JAN1` is not a value, a name, a range or a step",
        ),
        (
            "0 0 15W9 * *",
            "`15W9` is not a value, a name, a range or a step",
        ),
        (
            "0 0 * * 0FRI",
            "`0FRI` is not a value, a name, a range or a step",
        ),
    ] {
        let expected = ScheduleError::Cron {
            text: cron.to_owned(),
            reason: reason.to_owned(),
        };
        assert_eq!(CronRule::parse(cron, "UTC").err(), Some(expected));
    }
}

#[test]
fn expressions_have_at_most_128_characters() {
    let longest = format!("10{} 2 * * *", ",0".repeat(59));
    assert_eq!(longest.len(), 128);
    check_runs(
        &longest,
        "UTC",
        "2026-01-01T00:00:00Z",
        &["2026-01-01T02:00:00Z", "2026-01-01T02:10:00Z"],
    );
    let too_long = format!("{longest}0");
    assert_eq!(
        CronRule::parse(&too_long, "UTC").err(),
        Some(ScheduleError::Cron {
            text: longest,
            reason: "it is longer than 128 characters".to_owned(),
        })
    );
}

#[test]
fn a_long_name_of_a_time_zone_is_shown_shortened() {
    for (zone, shown) in [("z".repeat(64), 64), ("z".repeat(65), 64)] {
        let refused = CronRule::parse("0 2 * * *", &zone);
        let shown = ScheduleError::TimeZone("z".repeat(shown));
        assert_eq!(refused.err(), Some(shown));
    }
}

#[test]
fn a_run_is_found_within_ten_years_and_not_later() {
    // A fifth Wednesday in February exists only if the 29th is a Wednesday.
    let rare = rule("0 12 * 2 WED#5", "UTC");
    let run = at("2040-02-29T12:00:00Z");
    for (after, next) in [
        ("2029-12-31T23:59:59Z", None),
        ("2030-01-01T00:00:00Z", Some(run)),
        ("2040-02-29T11:59:59.999Z", Some(run)),
        ("2040-02-29T12:00:00Z", None),
    ] {
        assert_eq!(rare.next_after(at(after)), next, "{after}");
    }
    for (until, last) in [
        ("2040-02-29T11:59:59.999Z", None),
        ("2040-02-29T12:00:00Z", Some(run)),
        ("2050-12-31T23:59:59Z", Some(run)),
        ("2051-01-01T00:00:00Z", None),
    ] {
        assert_eq!(rare.last_until(at(until)), last, "{until}");
    }
}

#[test]
fn previews_show_at_most_50_runs() {
    let minutes = rule("* * * * *", "UTC");
    let start = at("2026-01-01T00:00:00Z");
    for (count, shown) in [(0, 0), (1, 1), (50, 50), (51, 50)] {
        assert_eq!(minutes.upcoming(start, count).len(), shown);
    }
}

#[test]
fn runs_before_1970_are_at_whole_minutes() {
    check_runs(
        "* * * * *",
        "UTC",
        "1969-12-31T23:58:59.500Z",
        &["1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z"],
    );
}

#[test]
fn an_expression_that_never_runs_is_refused_after_a_bounded_search() {
    let now = at("2026-01-01T00:00:00Z");
    let start = Instant::now();
    for cron in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "59 23 31 2 *"] {
        let refused = CronRule::parse_running(cron, "Europe/Berlin", now);
        assert!(
            matches!(refused, Err(ScheduleError::NeverRuns(_))),
            "{cron}"
        );
    }
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn the_policy_decides_about_missed_runs() {
    let hourly = rule("0 * * * *", "UTC");
    let check = |policy, now: &str, run: Option<&str>, next: &str| {
        let due = at("2026-01-01T10:00:00Z");
        let expected = DuePlan {
            run: run.map(at),
            next: Some(at(next)),
        };
        assert_eq!(
            plan(&hourly, policy, due, at(now)),
            expected,
            "{policy} {now}"
        );
    };
    for policy in MissedPolicy::ALL {
        // On time, or a little late.
        check(
            *policy,
            "2026-01-01T10:00:00Z",
            Some("2026-01-01T10:00:00Z"),
            "2026-01-01T11:00:00Z",
        );
        check(
            *policy,
            "2026-01-01T10:01:00Z",
            Some("2026-01-01T10:00:00Z"),
            "2026-01-01T11:00:00Z",
        );
    }
    // Late by more than a minute.
    check(
        MissedPolicy::Skip,
        "2026-01-01T10:01:00.001Z",
        None,
        "2026-01-01T11:00:00Z",
    );
    let later = "2026-01-01T12:30:00Z";
    check(MissedPolicy::Skip, later, None, "2026-01-01T13:00:00Z");
    check(
        MissedPolicy::Once,
        later,
        Some("2026-01-01T12:00:00Z"),
        "2026-01-01T13:00:00Z",
    );
    check(
        MissedPolicy::All,
        later,
        Some("2026-01-01T10:00:00Z"),
        "2026-01-01T11:00:00Z",
    );
    let much_later = "2026-02-01T00:30:00Z";
    check(
        MissedPolicy::All,
        much_later,
        Some("2026-01-27T21:00:00Z"),
        "2026-01-27T22:00:00Z",
    );
    check(
        MissedPolicy::Once,
        much_later,
        Some("2026-02-01T00:00:00Z"),
        "2026-02-01T01:00:00Z",
    );
}

#[test]
fn a_clock_that_goes_back_never_repeats_a_run() {
    let hourly = rule("0 * * * *", "UTC");
    let due = at("2026-01-01T10:00:00Z");
    for policy in MissedPolicy::ALL {
        let planned = plan(&hourly, *policy, due, at("2026-01-01T03:00:00Z"));
        assert_eq!(planned.next, Some(at("2026-01-01T11:00:00Z")), "{policy}");
    }
}

proptest! {
    /// Hostile expressions: no panic, and every run is later than the one before.
    #[test]
    fn any_text_is_an_expression_or_an_error(text in "[0-9*/,LW#?@A-Za-z +-]{0,40}", start in 0_i64..4_000_000_000) {
        if let Ok(rule) = CronRule::parse(&text, "Europe/Berlin") {
            let mut last = Timestamp(start * 1_000);
            for run in rule.upcoming(last, 3) {
                prop_assert!(run > last);
                last = run;
            }
        }
    }

    /// The search for the last run agrees with the search for the next one.
    #[test]
    fn the_search_backwards_finds_the_runs_of_the_search_forwards(
        minute in 0_u8..60, hour in 0_u8..24, start in 1_700_000_000_i64..1_900_000_000,
    ) {
        let rule = rule(&format!("{minute} {hour} * * *"), "Europe/Berlin");
        let runs = rule.upcoming(Timestamp(start * 1_000), 2);
        prop_assert_eq!(rule.last_until(runs[1].minus(Duration::from_secs(1))), Some(runs[0]));
    }
}
