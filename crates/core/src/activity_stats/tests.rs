use super::*;

fn count(calls: u64, errors: u64) -> MethodCount {
    let mut count = MethodCount {
        errors,
        ..MethodCount::default()
    };
    count.steps[7] = calls;
    count
}

fn method(name: &str) -> Subject {
    Subject::Method(name.into())
}

fn counts(methods: usize) -> MethodCounts {
    let mut counts = MethodCounts::default();
    for number in 0..methods {
        let subject = method(&format!("m{number}"));
        counts.add(subject, &count(1 + number as u64, 1));
    }
    counts
}

#[test]
fn counts_are_packed_and_unpacked() {
    for methods in [0, 1, 5, ENTRIES_MAX] {
        let counts = counts(methods);
        assert_eq!(MethodCounts::decode(&counts.encode()), Ok(counts));
    }
    let block = counts(5).encode();
    assert_eq!(
        MethodCounts::decode_one(&block, &method("m3")),
        Ok(Some(count(4, 1)))
    );
    assert_eq!(MethodCounts::decode_one(&block, &method("m9")), Ok(None));
}

#[test]
fn the_methods_with_the_fewest_calls_are_counted_together() {
    let mut all = counts(ENTRIES_MAX + 500);
    let calls = |counts: &MethodCounts| -> u64 { counts.0.values().map(MethodCount::calls).sum() };
    let sum = calls(&all);
    // The second round adds the same methods again. The sum stays exact.
    for round in 1..=2 {
        let packed = MethodCounts::decode(&all.encode()).expect("valid");
        assert_eq!(packed.0.len(), ENTRIES_MAX);
        assert_eq!(calls(&packed), round * sum);
        assert!(packed.find(&Subject::Several).is_some());
        assert!(packed.find(&method("m1499")).is_some() && packed.find(&method("m0")).is_none());
        all = packed;
        all.add_all(&counts(ENTRIES_MAX + 500));
    }
}

#[test]
fn the_calls_of_several_methods_are_one_small_entry() {
    let mut all = MethodCounts::of_several(count(3, 1));
    all.add_all(&MethodCounts::of_several(count(4, 0)));
    let block = all.encode();
    assert_eq!(
        MethodCounts::decode_one(&block, &Subject::Several),
        Ok(Some(count(7, 1)))
    );
    assert!(block.len() < 10, "{} bytes", block.len());
}

#[test]
fn the_name_of_a_sink_is_no_name_of_a_method() {
    let sink = SinkId(uuid::Uuid::from_u128(7));
    let name = Subject::Sink(sink).name().into_owned();
    assert_eq!(Subject::of_name(&name), Subject::Sink(sink));
    assert!(crate::CanonicalName::parse(&name).is_err());
    for name in ["sink", "sink.7", "orders.create"] {
        assert_eq!(Subject::of_name(name), method(name));
    }
    assert_eq!(Subject::of_name(SEVERAL), Subject::Several);
    assert_eq!(Subject::Several.name(), SEVERAL);
}

#[test]
fn damaged_blocks_are_errors() {
    let block = counts(3).encode();
    for end in 0..block.len() {
        assert!(MethodCounts::decode(&block[..end]).is_err(), "{end}");
    }
    for at in 0..block.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = block.clone();
            damaged[at] = byte;
            // Must not panic, and must not allocate much.
            let _ = MethodCounts::decode(&damaged);
        }
    }
    assert_eq!(MethodCounts::decode(&[9, 0]), Err(BlockError::Version(9)));
}

#[test]
fn the_points_of_a_range_end_with_the_current_one() {
    let now = Timestamp(1_800_000_123_456);
    for (range, points) in [
        (StatsRange::Hour, 60),
        (StatsRange::Day, 96),
        (StatsRange::Week, 168),
        (StatsRange::Month, 120),
    ] {
        assert_eq!(range.points(), points, "{range:?}");
        let first = range.first(now);
        let last = first.plus(range.step() * (u32::try_from(points).expect("few") - 1));
        assert_eq!(last, start_of(now, range.step()), "{range:?}");
    }
}

#[test]
fn ranges_have_their_documented_lengths_and_steps() {
    for (range, text, minutes, step_minutes, next) in [
        (StatsRange::Hour, "1h", 60, 1, Some(StatsRange::Day)),
        (StatsRange::Day, "24h", 1_440, 15, Some(StatsRange::Week)),
        (StatsRange::Week, "7d", 10_080, 60, Some(StatsRange::Month)),
        (StatsRange::Month, "30d", 43_200, 360, None),
    ] {
        assert_eq!(range.as_str(), text);
        assert_eq!(
            range.duration(),
            Duration::from_secs(minutes * 60),
            "{text}"
        );
        assert_eq!(
            range.step(),
            Duration::from_secs(step_minutes * 60),
            "{text}"
        );
        assert_eq!(range.next(), next, "{text}");
    }
}

#[test]
fn a_period_starts_at_a_multiple_of_its_length() {
    let hour = Duration::from_secs(3_600);
    for (at, start) in [
        (7_200_000, 7_200_000),
        (10_799_999, 7_200_000),
        (0, 0),
        (-1, -3_600_000),
    ] {
        assert_eq!(start_of(Timestamp(at), hour), Timestamp(start), "{at}");
    }
    // The current minute is the last of 60.
    let first = StatsRange::Hour.first(Timestamp(7_259_999));
    assert_eq!(first, Timestamp(3_660_000));
}

#[test]
fn a_count_sums_the_calls_of_all_steps_and_interpolates_percentiles() {
    let mut count = count(3, 1);
    // From 65.536 to 98.304 ms.
    count.steps[20] = 3;
    assert_eq!(count.calls(), 6);
    assert_eq!(count.percentile_ms(1.0), Some(98.3));
    assert_eq!(MethodCount::default().percentile_ms(1.0), None);
}

#[test]
fn all_methods_are_listed_in_the_order_of_their_names() {
    assert!(MethodCounts::default().is_empty());
    let counts = counts(3);
    assert!(!counts.is_empty());
    let expected = [
        (method("m0"), count(1, 1)),
        (method("m1"), count(2, 1)),
        (method("m2"), count(3, 1)),
    ];
    let listed = counts
        .iter()
        .map(|(subject, count)| (subject.clone(), count.clone()));
    assert_eq!(listed.collect::<Vec<_>>(), expected);
    let mut unpacked = Vec::new();
    MethodCounts::decode_each(&counts.encode(), |subject, count| {
        unpacked.push((subject, count));
    })
    .expect("valid");
    assert_eq!(unpacked, expected);
}
