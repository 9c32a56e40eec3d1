//! Writes that end in the middle: the server is killed during a write, or the end of the database's
//! log is lost or damaged, as after a power cut.

use std::{fs, io, path::Path};

use serde_json::Value;
use svc_testkit::{TestServer, TestUser};

use super::{Faults, Field, Stream};

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.0;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (n ^ (n >> 31)) % below
    }
}

/// The numbers of the stored events of a [`Stream`], oldest first.
async fn stored(user: &TestUser) -> Vec<u64> {
    let mut events = user.list("/api/events", "events").await;
    events.reverse();
    let ours = events
        .iter()
        .filter(|event| event["event_type"] == "custom.n");
    let number = |event: &Value| event["data"]["n"].as_u64();
    ours.map(|event| number(event).unwrap_or_else(|| panic!("{event}")))
        .collect()
}

#[tokio::test]
async fn a_kill_in_the_middle_of_a_write_loses_nothing_that_was_acknowledged() {
    let Some(faults) = Faults::find() else { return };
    let mut server = faults.server().start().await;
    let ann = server.user("ann").await;
    let mut stream = Stream::start(&ann).await;
    stream.emit_all(3).await;
    let mut numbers = Numbers(1);
    for round in 0..8 {
        faults.set(Field::Kill, 1);
        faults.limit(numbers.next(150_000) as i64);
        for _ in 0..1_000 {
            match stream.emit().await {
                (202, _) => {}
                (0, _) => break,
                other => panic!("round {round}: {other:?}"),
            }
        }
        let status = server.process().wait_for_exit(crate::SOON).await;
        assert_eq!(status.code(), None, "round {round}: not killed");
        faults.clear();
        server.start_again().await;
        let found = stored(&ann).await;
        assert!(found.is_sorted(), "round {round}: {found:?}");
        for n in &stream.acknowledged {
            assert!(found.contains(n), "round {round}: {n} is lost");
        }
    }
    stream.emit_all(5).await;
    stream.wait_for_all().await;
}

/// Replaces the files of the folder `to` with copies of the files of the folder `from`.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(to)? {
        fs::remove_file(entry?.path())?;
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Damages everything after the first `kept` bytes of the log.
fn damage(log: &Path, kept: u64, kind: u64) {
    let mut bytes = fs::read(log).unwrap();
    let rest = &mut bytes[kept as usize..];
    match kind {
        0 => return fs::write(log, &bytes[..kept as usize]).unwrap(),
        // The file has its full length, but its last blocks were never written.
        1 => rest.fill(0),
        _ => rest.iter_mut().for_each(|byte| *byte = !*byte),
    }
    fs::write(log, bytes).unwrap();
}

/// SQLite promises that a commit is durable when `fsync` has returned. If the file loses its end
/// nevertheless, every commit before that point must survive, and nothing after a lost commit may
/// appear.
#[tokio::test]
async fn a_server_starts_with_a_damaged_log_and_has_every_commit_before_the_damage() {
    let mut server = TestServer::builder()
        .embedded()
        .allow_loopback_webhooks()
        .start()
        .await;
    let ann = server.user("ann").await;
    // The restart moves everything so far into the database file, and begins a new log.
    server.restart().await;
    let log = server.data_dir().join("svc.db-wal");
    let length = || fs::metadata(&log).map_or(0, |found| found.len());
    let mut stream = Stream::start(&ann).await;
    // `first` is the length of the log after the sink was created. An acknowledged event is within
    // the length that is recorded after its emit.
    let mut lengths = Vec::new();
    let first = length();
    for _ in 0..12 {
        stream.emit_all(1).await;
        lengths.push(length());
    }
    stream.wait_for_all().await;
    server.kill9();
    let whole = length();
    // At 1,000 pages, SQLite would copy the log into the database and begin the log again.
    assert!(
        lengths.is_sorted() && first < lengths[0] && whole < 1_000 * 4_096,
        "the log was begun again: {first} {lengths:?} {whole}"
    );
    let saved = svc_testkit::TempDir::new().unwrap();
    copy(&server.data_dir(), saved.path()).unwrap();
    let mut numbers = Numbers(2);
    let mut found_less = 0;
    for round in 0..9 {
        copy(saved.path(), &server.data_dir()).unwrap();
        let kept = first + numbers.next(whole - first);
        damage(&log, kept, round % 3);
        server.start_again().await;
        let found = stored(&ann).await;
        let expected: Vec<u64> = (0..found.len() as u64).collect();
        assert_eq!(found, expected, "round {round}: a gap");
        let durable = lengths.iter().filter(|end| **end <= kept).count();
        assert!(
            found.len() >= durable,
            "round {round}: {} of {durable} events after {kept} of {whole} bytes",
            found.len()
        );
        found_less += usize::from(found.len() < lengths.len());
        // The server still accepts events.
        assert_eq!(
            ann.try_emit("more", serde_json::json!({})).await.status,
            202
        );
        server.kill9();
    }
    assert!(found_less > 0, "no round damaged an event");
}
