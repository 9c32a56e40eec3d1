//! Runs near the times at which the clocks of a time zone go forward or back.

use super::*;

#[test]
fn in_spring_a_fixed_time_that_does_not_exist_runs_after_the_gap() {
    // Berlin, 29 March 2026: at 01:00 UTC, the clocks go forward from 02:00 to 03:00.
    check_runs(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-27T12:00:00Z",
        &[
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z",
        ],
    );
    // An interval counts elapsed time, so the change of the clocks has no effect.
    check_runs(
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-03-29T00:15:00Z",
        &[
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:30:00Z",
        ],
    );
}

#[test]
fn in_autumn_a_fixed_time_that_exists_twice_runs_once() {
    // Berlin, 25 October 2026: at 01:00 UTC, the clocks go back from 03:00 to 02:00.
    check_runs(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
    );
    check_runs(
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-10-24T23:45:00Z",
        &[
            "2026-10-25T00:00:00Z",
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T02:00:00Z",
        ],
    );
}

#[test]
fn in_autumn_the_last_run_is_found_in_both_halves_of_the_repeated_hour() {
    // Berlin, 25 October 2026: at 01:00 UTC, the clocks go back from 03:00 to 02:00.
    let hourly = rule("0 * * * *", "Europe/Berlin");
    for (until, last) in [
        ("2026-10-25T00:00:00Z", "2026-10-25T00:00:00Z"),
        ("2026-10-25T00:59:59Z", "2026-10-25T00:00:00Z"),
        ("2026-10-25T00:59:59.500Z", "2026-10-25T00:00:00Z"),
        ("2026-10-25T01:00:00Z", "2026-10-25T01:00:00Z"),
        ("2026-10-25T01:59:59.999Z", "2026-10-25T01:00:00Z"),
        ("2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"),
    ] {
        assert_eq!(hourly.last_until(at(until)), Some(at(last)), "{until}");
    }
}

#[test]
fn near_a_change_of_the_clocks_both_directions_of_the_search_agree() {
    let changes = ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"].map(at);
    let offsets = [
        -3_600_000, -1_001, -1_000, -999, -1, 0, 1, 999, 1_000, 3_600_000,
    ];
    for cron in ["0 * * * *", "*/30 * * * *", "30 2 * * *"] {
        let rule = rule(cron, "Europe/Berlin");
        for (change, offset) in changes.iter().flat_map(|c| offsets.map(|o| (c, o))) {
            let until = Timestamp(change.0 + offset);
            let runs = rule.upcoming(until.minus(Duration::from_hours(25)), PREVIEW_MAX);
            let last = runs.into_iter().rfind(|run| *run <= until);
            assert_eq!(rule.last_until(until), last, "{cron} {until}");
        }
    }
}

#[test]
fn a_daily_run_runs_once_on_the_day_when_the_clocks_are_put_forward() {
    // In Berlin, 02:00 to 02:59 did not exist on 29 March 2026.
    let cases = [
        ("0 1 * * *", "2026-03-29T00:00:00Z", "2026-03-29T23:00:00Z"),
        ("59 1 * * *", "2026-03-29T00:59:00Z", "2026-03-29T23:59:00Z"),
        ("0 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"),
        ("30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"),
        ("0 3 * * *", "2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"),
    ];
    for (cron, first, second) in cases {
        let daily = rule(cron, "Europe/Berlin");
        let before = at(first).minus(Duration::from_secs(1));
        assert_eq!(daily.upcoming(before, 2), [at(first), at(second)], "{cron}");
        for until in [first, "2026-03-29T01:00:00Z", "2026-03-29T02:30:00Z"] {
            assert_eq!(
                daily.last_until(at(until)),
                Some(at(first)),
                "{cron} {until}"
            );
        }
    }
}
