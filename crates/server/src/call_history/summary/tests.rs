use svc_core::journal::{CallCredentialKind, CallEnd, CallVia};
use uuid::Uuid;

use super::*;

fn user(number: u128) -> UserId {
    UserId(Uuid::from_u128(number))
}

fn call(caller: u128, token: u128, at: i64, end: CallEnd) -> CallRow {
    CallRow {
        at: Timestamp(at),
        number: 1,
        process: 1,
        caller: user(caller),
        credential: Some(CallCredential {
            kind: CallCredentialKind::Token,
            id: Uuid::from_u128(token),
        }),
        via: CallVia::Mcp,
        method: "m".into(),
        space: None,
        end,
        code: 0,
        duration_us: 1,
        times: None,
        params_bytes: 0,
        result_bytes: 0,
        trace: 0,
    }
}

fn summarize(reach: Reach, by: CallGrouping, calls: &[CallRow]) -> CallSummary {
    let mut counts = CallCounts::new(reach, by);
    calls.iter().for_each(|call| counts.add(call));
    counts.finish(&Directory::empty(), Coverage::All)
}

/// Caller, token, calls, failed calls and the time of the last call, of each group.
fn groups(summary: &CallSummary) -> Vec<(u128, Option<u128>, u64, u64, i64)> {
    let group = |group: &CallGroup| {
        let token = group.credential.as_ref().and_then(|token| token.id);
        (
            group.caller_id.0.as_u128(),
            token.map(|id| id.0.as_u128()),
            group.calls,
            group.failed,
            group.last_at.0,
        )
    };
    summary.groups.iter().map(group).collect()
}

#[test]
fn groups_have_sums_and_hidden_credentials_are_one_group() {
    let calls = [
        call(1, 11, 5, CallEnd::Ok),
        call(1, 12, 9, CallEnd::MethodError),
        call(2, 21, 4, CallEnd::TimedOut),
        call(2, 22, 8, CallEnd::Cancelled),
        call(2, 22, 3, CallEnd::Notification),
    ];
    let by_caller = summarize(Reach::All, CallGrouping::Caller, &calls);
    assert_eq!(groups(&by_caller), [(2, None, 3, 1, 8), (1, None, 2, 1, 9)]);
    let by_credential = summarize(Reach::All, CallGrouping::Credential, &calls);
    assert_eq!(
        groups(&by_credential),
        [
            (2, Some(22), 2, 0, 8),
            (1, Some(12), 1, 1, 9),
            (1, Some(11), 1, 0, 5),
            (2, Some(21), 1, 1, 4),
        ]
    );
    // The reader 1 does not see which credentials the caller 2 used, nor how many.
    let seen = summarize(Reach::Of(user(1)), CallGrouping::Credential, &calls);
    assert_eq!(
        groups(&seen),
        [
            (2, None, 3, 1, 8),
            (1, Some(12), 1, 1, 9),
            (1, Some(11), 1, 0, 5),
        ]
    );
}

#[test]
fn the_smallest_groups_beyond_the_limit_are_summed() {
    let mut calls: Vec<_> = (1..=250)
        .map(|caller| call(caller, 1, 5, CallEnd::Unavailable))
        .collect();
    calls.push(call(250, 1, 6, CallEnd::Ok));
    let summary = summarize(Reach::All, CallGrouping::Caller, &calls);
    assert_eq!(summary.groups.len(), GROUPS_MAX);
    assert_eq!(groups(&summary)[0], (250, None, 2, 1, 6));
    let other = OtherCallGroups {
        groups: 50,
        calls: 50,
        failed: 50,
    };
    assert_eq!(summary.other, Some(other));
    let few = summarize(Reach::All, CallGrouping::Caller, &calls[..200]);
    assert_eq!((few.groups.len(), few.other), (200, None));
}

#[test]
fn a_summary_says_which_calls_are_missing() {
    let finish = |coverage| {
        let counts = CallCounts::new(Reach::All, CallGrouping::Caller);
        let summary = counts.finish(&Directory::empty(), coverage);
        (summary.is_complete, summary.counted_since)
    };
    assert_eq!(finish(Coverage::All), (true, None));
    let since = Timestamp(7);
    assert_eq!(finish(Coverage::Since(since)), (false, Some(since)));
    assert_eq!(finish(Coverage::Part), (false, None));
}
