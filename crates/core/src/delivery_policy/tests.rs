use super::*;

fn seconds(retry: &Retry, random: f64) -> Vec<f64> {
    (1..=4)
        .map(|failures| retry.wait(failures, random).as_secs_f64())
        .collect()
}

#[test]
fn s6_5_the_default_is_the_policy_of_the_specification() {
    let policy = DeliveryPolicy::default();
    assert_eq!(policy.check(), Ok(()));
    assert_eq!(policy.attempts, 3);
    assert_eq!(policy.overflow, Overflow::Drop);
    let empty: DeliveryPolicy = serde_json::from_str("{}").expect("readable");
    assert_eq!(empty, policy);
}

#[test]
fn s6_5_s8_a_delivery_has_three_attempts_five_and_fifteen_seconds_apart() {
    let policy = DeliveryPolicy::default();
    let after = |failures, status| {
        let failed = FailedAttempt {
            failures,
            status,
            retry_after: Some(Duration::from_secs(60)),
        };
        policy.after_failure(failed, RetryPolicy::default(), 0.5)
    };
    let retry_in = |seconds| AfterFailure::RetryIn(Duration::from_secs(seconds));
    assert_eq!(after(1, Some(503)), retry_in(5));
    assert_eq!(after(2, Some(410)), retry_in(15));
    assert_eq!(after(3, None), AfterFailure::Dead);
}

#[test]
fn a_policy_can_change_permanent_statuses_retry_after_and_pauses() {
    let mut policy = DeliveryPolicy {
        attempts: 2,
        retry: Some(Retry::Waits(vec![30])),
        retry_after: true,
        permanent_statuses: vec![400, 410],
        on_exhausted: OnExhausted::Pause,
        ..DeliveryPolicy::default()
    };
    let after = |policy: &DeliveryPolicy, failures, status, retry_after: Option<u64>| {
        let failed = FailedAttempt {
            failures,
            status: Some(status),
            retry_after: retry_after.map(Duration::from_secs),
        };
        policy.after_failure(failed, RetryPolicy::default(), 0.5)
    };
    let retry_in = |seconds| AfterFailure::RetryIn(Duration::from_secs(seconds));
    assert_eq!(after(&policy, 1, 503, None), retry_in(30));
    // A `Retry-After` that is shorter than the wait has no effect. A very long one is limited.
    assert_eq!(after(&policy, 1, 503, Some(5)), retry_in(30));
    assert_eq!(after(&policy, 1, 503, Some(90)), retry_in(90));
    assert_eq!(
        after(&policy, 1, 503, Some(u64::MAX)),
        retry_in(WAIT_LIMIT.into())
    );
    assert_eq!(after(&policy, 1, 400, None), AfterFailure::Dead);
    assert!(matches!(
        after(&policy, 1, 410, None),
        AfterFailure::Pause(_)
    ));
    assert!(matches!(
        after(&policy, 2, 503, None),
        AfterFailure::Pause(_)
    ));
    policy.on_exhausted = OnExhausted::Skip;
    assert_eq!(after(&policy, 2, 503, None), AfterFailure::Dead);
}

#[test]
fn the_last_wait_repeats_and_exponential_waits_stop_at_their_maximum() {
    let waits = Retry::Waits(vec![1, 60]);
    assert_eq!(seconds(&waits, 0.0), [1.0, 60.0, 60.0, 60.0]);
    let mut growing = Exponential {
        first: 10,
        factor: 3.0,
        max: 100,
        jitter: false,
    };
    let full = seconds(&Retry::Exponential(growing.clone()), 1.0);
    assert_eq!(full, [10.0, 30.0, 90.0, 100.0]);
    growing.jitter = true;
    let retry = Retry::Exponential(growing);
    assert_eq!(seconds(&retry, 1.0), [5.0, 15.0, 45.0, 50.0]);
    assert_eq!(seconds(&retry, 0.0), full);
    // No overflow after many failures.
    assert_eq!(retry.wait(u32::MAX, 0.0), Duration::from_secs(100));
}

#[test]
fn the_error_for_a_value_out_of_range_names_the_field() {
    let check = |json: &str| {
        let policy: DeliveryPolicy = serde_json::from_str(json).expect(json);
        policy.check().expect_err(json).to_string()
    };
    for (json, field) in [
        (r#"{"attempts": 0}"#, "`attempts` is 0"),
        (r#"{"attempts": 51}"#, "between 1 and 50"),
        (r#"{"retry": {"waits": []}}"#, "retry.waits"),
        (r#"{"retry": {"waits": [0]}}"#, "retry.waits"),
        (r#"{"retry": {"waits": [604801]}}"#, "604801"),
        (
            r#"{"retry": {"exponential": {"first": 9, "max": 8}}}"#,
            "less than `first`",
        ),
        (
            r#"{"retry": {"exponential": {"first": 9, "max": 9, "factor": 0.5}}}"#,
            "factor",
        ),
        (r#"{"permanent_statuses": [200]}"#, "contains 200"),
        (r#"{"max_repeats": 65}"#, "max_repeats"),
        (r#"{"rate_per_minute": 0}"#, "rate_per_minute"),
        (r#"{"ordering": "key"}"#, "needs `key`"),
        (r#"{"key": "event.id"}"#, "no effect"),
        (r#"{"filter": " "}"#, "`filter` is empty"),
        (r#"{"pause_after_minutes": 0}"#, "pause_after_minutes"),
    ] {
        let message = check(json);
        assert!(message.contains(field), "{json}: {message}");
    }
}

#[test]
fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let statuses = |number| vec![503_u16; number];
    let waits = |number| json!({"waits": vec![5; number]});
    let exponential =
        |first, factor, max| json!({"exponential": {"first": first, "factor": factor, "max": max}});
    let text = |bytes| "x".repeat(bytes);
    let key = |bytes| json!({"ordering": "key", "key": text(bytes)});
    for (accepted, refused) in [
        (json!({"attempts": 1}), json!({"attempts": 0})),
        (json!({"attempts": 50}), json!({"attempts": 51})),
        (json!({"retry": waits(1)}), json!({"retry": waits(0)})),
        (json!({"retry": waits(50)}), json!({"retry": waits(51)})),
        (
            json!({"retry": {"waits": [1, 604_800]}}),
            json!({"retry": {"waits": [1, 604_801]}}),
        ),
        (
            json!({"retry": exponential(1, 1.0, 1)}),
            json!({"retry": exponential(1, 0.99, 1)}),
        ),
        (
            json!({"retry": exponential(604_800, 10.0, 604_800)}),
            json!({"retry": exponential(604_800, 10.0, 604_801)}),
        ),
        (
            json!({"retry": exponential(9, 10.0, 9)}),
            json!({"retry": exponential(9, 10.01, 9)}),
        ),
        (
            json!({"retry": exponential(9, 2.0, 10)}),
            json!({"retry": exponential(0, 2.0, 10)}),
        ),
        (
            json!({"permanent_statuses": statuses(50)}),
            json!({"permanent_statuses": statuses(51)}),
        ),
        (
            json!({"permanent_statuses": [300]}),
            json!({"permanent_statuses": [299]}),
        ),
        (
            json!({"permanent_statuses": [599]}),
            json!({"permanent_statuses": [599, 600]}),
        ),
        (json!({"max_repeats": 64}), json!({"max_repeats": 65})),
        (json!({"in_flight": 64}), json!({"in_flight": 65})),
        (
            json!({"rate_per_minute": 60_000}),
            json!({"rate_per_minute": 60_001}),
        ),
        (key(4_096), key(4_097)),
        (
            json!({"filter": text(4_096)}),
            json!({"filter": text(4_097)}),
        ),
        (
            json!({"failing_after_failures": 1_000}),
            json!({"failing_after_failures": 1_001}),
        ),
        (
            json!({"failing_after_minutes": 43_200}),
            json!({"failing_after_minutes": 43_201}),
        ),
        (
            json!({"pause_after_minutes": 43_200}),
            json!({"pause_after_minutes": 43_201}),
        ),
    ] {
        let check = |policy: &serde_json::Value| {
            let policy: DeliveryPolicy = serde_json::from_value(policy.clone()).expect("readable");
            policy.check()
        };
        assert_eq!(check(&accepted), Ok(()), "{accepted}");
        assert!(check(&refused).is_err(), "{refused}");
    }
}

#[test]
fn exponential_waits_double_and_have_jitter_unless_the_policy_says_otherwise() {
    let retry: Retry =
        serde_json::from_value(json!({"exponential": {"first": 10, "max": 60}})).expect("readable");
    assert_eq!(seconds(&retry, 0.0), [10.0, 20.0, 40.0, 60.0]);
    assert_eq!(seconds(&retry, 1.0), [5.0, 10.0, 20.0, 30.0]);
}

#[test]
fn drop_is_the_default_overflow_and_hold_is_not() {
    assert!(Overflow::Drop.is_drop());
    assert!(!Overflow::Hold.is_drop());
    assert!(Overflow::default().is_drop());
}

#[test]
fn a_sink_fails_after_its_failures_or_its_minutes() {
    let minutes = |count: i64| Timestamp(count * 60_000);
    let policy = DeliveryPolicy {
        failing_after_failures: 3,
        failing_after_minutes: Some(5),
        ..DeliveryPolicy::default()
    };
    let (start, early, late) = (minutes(10), minutes(14), minutes(15));
    assert!(!policy.is_failing(2, start, early));
    assert!(policy.is_failing(3, start, early));
    assert!(policy.is_failing(2, start, late));
    assert!(!DeliveryPolicy::default().is_failing(2, start, late));
    assert_eq!(policy.pauses_after(start, minutes(1_000)), None);
    let pausing = DeliveryPolicy {
        pause_after_minutes: Some(5),
        ..policy
    };
    assert_eq!(pausing.pauses_after(start, early), None);
    assert_eq!(pausing.pauses_after(start, late), Some(5));
}
