//! Tests of blocks of rows, of their merging, of the ids of calls and of short names.

use proptest::{collection::vec, option, prelude::*};

use super::*;

/// A successful call without a credential, a space, times and a trace.
fn row(at: i64, number: u64, process: u32) -> CallRow {
    CallRow {
        at: Timestamp(at),
        number,
        process,
        caller: UserId(Uuid::from_bytes([0x11; 16])),
        credential: None,
        via: CallVia::Api,
        method: "a".into(),
        space: None,
        end: CallEnd::Ok,
        code: 0,
        duration_us: 1,
        times: None,
        params_bytes: 2,
        result_bytes: 3,
        trace: 0,
    }
}

fn rows() -> impl Strategy<Value = Vec<CallRow>> {
    let names = prop_oneof![Just("notes.find"), Just("größe.ü"), Just("")];
    let credential =
        (0..CallCredentialKind::ALL.len(), any::<u128>()).prop_map(|(kind, id)| CallCredential {
            kind: CallCredentialKind::ALL[kind],
            id: Uuid::from_u128(id),
        });
    let row = (
        (any::<i64>(), any::<u64>(), any::<u32>(), 0_u128..4),
        (option::of(credential), 0..CallVia::ALL.len(), names),
        (option::of(1_u128..4), 0..CallEnd::ALL.len(), any::<i32>()),
        (any::<u32>(), any::<u32>(), any::<u32>(), any::<u128>()),
        option::of((any::<u32>(), any::<u32>())),
    );
    let row = row.prop_map(|(who, how, outcome, sizes, times)| CallRow {
        at: Timestamp(who.0),
        number: who.1,
        process: who.2,
        caller: UserId(Uuid::from_u128(who.3)),
        credential: how.0,
        via: CallVia::ALL[how.1],
        method: how.2.into(),
        space: outcome.0.map(|id| SpaceId(Uuid::from_u128(id))),
        end: CallEnd::ALL[outcome.1],
        code: outcome.2,
        duration_us: sizes.0,
        times: times.map(|(queue_us, method_us)| CallTimes {
            queue_us,
            method_us,
        }),
        params_bytes: sizes.1,
        result_bytes: sizes.2,
        trace: sizes.3,
    });
    vec(row, 0..40)
}

proptest! {
    #[test]
    fn a_block_keeps_its_rows(rows in rows()) {
        prop_assert_eq!(decode(&encode(&rows)), Ok(rows));
    }

    #[test]
    fn a_damaged_block_never_panics(rows in rows(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut block = encode(&rows);
        let at = at.index(block.len());
        block[at] = byte;
        let _ = decode(&block);
        block.truncate(at);
        prop_assert!(decode(&block).is_err());
    }

    #[test]
    fn any_bytes_are_safe_to_read(bytes in vec(any::<u8>(), 0..400)) {
        let _ = decode(&bytes);
        let _ = decode(&[&[1], bytes.as_slice()].concat());
    }

    #[test]
    fn an_id_holds_its_time_and_orders_rows(at in 0_i64..1 << 47, number in 0_u64..1 << 41, process in any::<u32>()) {
        let row = |at, number| row(at, number, process);
        let id = row(at, number).id();
        prop_assert_eq!(id.0.get_version_num(), 7);
        prop_assert_eq!(time_of(id), Timestamp(at));
        prop_assert!(id < row(at, number + 1).id());
        prop_assert!(row(at, number + 1).id() < first_id_at(Timestamp(at + 1)));
        prop_assert!(first_id_at(Timestamp(at)) <= id);
    }
}

#[test]
fn version_1_of_a_block_has_fixed_bytes() {
    let second = CallRow {
        credential: Some(CallCredential {
            kind: CallCredentialKind::Session,
            id: Uuid::from_bytes([0x22; 16]),
        }),
        via: CallVia::Mcp,
        method: "b".into(),
        space: Some(SpaceId(Uuid::from_bytes([0x33; 16]))),
        end: CallEnd::MethodError,
        code: -32_000,
        duration_us: 300,
        times: Some(CallTimes {
            queue_us: 0,
            method_us: 128,
        }),
        trace: 0xab,
        ..row(999, 6, 0x0102_0304)
    };
    let rows = [row(1_000, 5, 0x0102_0304), second];
    let trace: &[u8] = &[0xab, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut block = [
        &[1, 1, 4, 3, 2, 1][..],
        &[1],
        &[0x11; 16],
        &[2, 0],
        &[0; 16],
        &[2],
        &[0x22; 16],
        &[2, 1, b'a', 1, b'b'],
        &[2],
        &[0; 16],
        &[0x33; 16],
        &[2],
        &[0xd0, 0x0f, 10, 0, 0, 0, 0, 0, 0x00, 0, 1, 2, 3, 0],
        &[1, 2, 0, 0, 1, 1, 1, 0xa1, 0xff, 0xf3, 0x03],
        &[0xac, 0x02, 2, 3, 1, 0x80, 0x01],
        trace,
    ]
    .concat();
    assert_eq!(encode(&rows), block);
    assert_eq!(decode(&block).as_deref(), Ok(&rows[..]));
    block.push(0);
    assert_eq!(decode(&block), Err(BlockError::TooLong));
}

#[test]
fn an_id_is_made_of_the_time_the_number_and_the_process() {
    let check = |row: CallRow, expected: &str| {
        assert_eq!(row.id().to_string(), expected);
    };
    check(row(0, 0, 0), "00000000-0000-7000-8000-000000000000");
    check(
        row(0x0123_4567_89ab, 0, 0xffff_ffff),
        "01234567-89ab-7000-8000-0000ffffffff",
    );
    check(row(1, 1, 2), "00000000-0001-7000-8000-000100000002");
    check(
        row(1, (0xabc << 30) + 0x1234_5678, 0x9abc_def0),
        "00000000-0001-7abc-9234-56789abcdef0",
    );
    check(
        row(1, (1 << 42) - 1, 0),
        "00000000-0001-7fff-bfff-ffff00000000",
    );
    check(row(1, 1 << 42, 0), "00000000-0001-7000-8000-000000000000");
}

#[test]
fn a_time_outside_48_bits_gets_the_nearest_id() {
    let check = |at, expected: &str| {
        assert_eq!(first_id_at(Timestamp(at)).to_string(), expected);
    };
    let last = 0xffff_ffff_ffff;
    check(i64::MIN, "00000000-0000-7000-8000-000000000000");
    check(-1, "00000000-0000-7000-8000-000000000000");
    check(last - 1, "ffffffff-fffe-7000-8000-000000000000");
    check(last, "ffffffff-ffff-7000-8000-000000000000");
    check(last + 1, "ffffffff-ffff-7000-8000-000000000000");
    check(i64::MAX, "ffffffff-ffff-7000-8000-000000000000");
    assert_eq!(
        time_of(first_id_at(Timestamp(i64::MAX))),
        Timestamp(0xffff_ffff_ffff)
    );
}

#[test]
fn notifications_and_cancelled_calls_are_not_failures() {
    let (failed, not_failed): (Vec<_>, Vec<_>) =
        CallEnd::ALL.iter().partition(|end| end.is_failure());
    assert_eq!(
        not_failed,
        [CallEnd::Ok, CallEnd::Notification, CallEnd::Cancelled]
    );
    assert_eq!(failed.len(), 6);
    assert!(failed.contains(&CallEnd::NotificationDropped));
}

#[test]
fn only_the_outcome_is_the_default_level() {
    let default = |level: &&JournalLevel| level.is_default();
    let levels: Vec<_> = JournalLevel::ALL.iter().filter(default).collect();
    assert_eq!(levels, [&JournalLevel::Outcome]);
}

#[test]
fn a_false_count_of_rows_allocates_nothing() {
    // A block of a few bytes that claims to have 2⁵⁰ rows.
    let mut block = vec![1, 0, 0, 0, 0, 0];
    block.extend([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]);
    assert_eq!(decode(&block), Err(BlockError::Truncated));
    assert_eq!(decode(&[9]), Err(BlockError::Version(9)));
}

#[test]
fn merging_takes_the_oldest_small_blocks() {
    let check = |rows: &[usize], expected: &[usize]| assert_eq!(choose_merge(rows), expected);
    check(&[], &[]);
    check(&[1; 7], &[]);
    check(&[1; 9], &[0, 1, 2, 3, 4, 5, 6, 7]);
    check(&[4096; 20], &[]);
    check(
        &[4096, 1, 1, 1, 100, 1, 1, 1, 1, 1],
        &[1, 2, 3, 5, 6, 7, 8, 9],
    );
    // Eight blocks of 2,000 rows have more rows than two blocks may have, so only four are merged.
    check(&[2000; 8], &[0, 1, 2, 3]);
    check(&[4095; 8], &[0, 1]);
}

#[test]
fn only_blocks_of_the_same_tier_are_merged() {
    let check = |rows: usize, other: usize, is_same_tier: bool| {
        let mut blocks = vec![rows; 7];
        blocks.push(other);
        assert_eq!(!choose_merge(&blocks).is_empty(), is_same_tier, "{other}");
    };
    check(1, 63, true);
    check(1, 64, false);
    check(64, 63, false);
    check(64, 511, true);
    check(64, 512, false);
    check(512, 511, false);
    check(512, 4_095, true);
    check(512, 4_096, false);
}

#[test]
fn merging_ends_with_few_blocks() {
    let mut blocks = Vec::new();
    for _ in 0..10_000 {
        blocks.extend([3]);
        loop {
            let chosen = choose_merge(&blocks);
            if chosen.is_empty() {
                break;
            }
            let total = chosen.iter().map(|at| blocks[*at]).sum();
            let first = chosen[0];
            let mut at = 0;
            blocks.retain(|_| {
                at += 1;
                !chosen.contains(&(at - 1))
            });
            blocks.insert(first, total);
        }
    }
    assert_eq!(blocks.iter().sum::<usize>(), 30_000);
    assert!(blocks.len() < 40, "{blocks:?}");
}

#[test]
fn long_names_are_cut_between_characters() {
    assert_eq!(short_name("notes.find"), "notes.find");
    let long = "ü".repeat(300);
    assert_eq!(short_name(&long).len(), METHOD_BYTES_MAX);
    let odd = format!("a{long}");
    assert_eq!(short_name(&odd).len(), METHOD_BYTES_MAX - 1);
}
