//! Tests of blocks of rows, of their merging, of the ids of calls and of short names.

use proptest::{collection::vec, option, prelude::*};

use super::*;

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
        let row = |at, number| CallRow {
            at: Timestamp(at),
            number,
            process,
            caller: UserId::NIL,
            credential: None,
            via: CallVia::Api,
            method: "a".into(),
            space: None,
            end: CallEnd::Ok,
            code: 0,
            duration_us: 0,
            times: None,
            params_bytes: 0,
            result_bytes: 0,
            trace: 0,
        };
        let id = row(at, number).id();
        prop_assert_eq!(id.0.get_version_num(), 7);
        prop_assert_eq!(time_of(id), Timestamp(at));
        prop_assert!(id < row(at, number + 1).id());
        prop_assert!(row(at, number + 1).id() < first_id_at(Timestamp(at + 1)));
        prop_assert!(first_id_at(Timestamp(at)) <= id);
    }
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
