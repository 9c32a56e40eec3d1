//! Faults of the machine under a real server with the embedded database: a disk that is full,
//! fails, hangs or is read-only, writes that a kill interrupts, a damaged log, and a clock that is
//! set.
//!
//! Most faults are made by `faults/shim.c`, which replaces functions of the C library in the
//! process of the server. The tests with these faults are skipped where there is no C compiler.

mod clock;
mod disk;
mod torn;

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use svc_testkit::{
    TempDir, TestReceiver, TestServer, TestServerBuilder, TestSink, TestUser, eventually,
    found_or_skipped,
};

use crate::SOON;

/// The path of the hook that gets all events of a [`Stream`].
const HOOK: &str = "/hook";
/// Long enough for lanes that must retry to record the end of a delivery.
const RECOVERED: Duration = Duration::from_secs(60);

/// The numbers of the shim's control file, in their order.
#[derive(Clone, Copy)]
enum Field {
    ClockMillis,
    WriteError,
    SyncError,
    OpenError,
    ReadError,
    Hang,
    IsLimited,
    Budget,
    Kill,
    Injected,
}

/// The control of the faults of one server.
struct Faults {
    control: File,
    folder: TempDir,
    library: PathBuf,
}

impl Faults {
    /// Builds the shim. `None` without a C compiler.
    fn find() -> Option<Self> {
        found_or_skipped(Self::build(), "SVC_REQUIRE_CC", "faults of disk and clock")
    }

    fn build() -> Result<Self, String> {
        let folder = TempDir::new().unwrap();
        let library = folder.path().join("shim.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults/shim.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-D_LARGEFILE64_SOURCE", "-o"])
            .arg(&library)
            .arg(source)
            .output()
            .map_err(|error| format!("`cc` does not start: {error}"))?;
        // A compiler that is there must accept the shim.
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        let mut options = OpenOptions::new();
        let control = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.path().join("control"))
            .unwrap();
        control.set_len(4_096).unwrap();
        Ok(Self {
            control,
            folder,
            library,
        })
    }

    /// The builder of a server whose data folder and clock have the faults.
    fn server(&self) -> TestServerBuilder {
        let control = self.folder.path().join("control");
        TestServer::builder()
            .embedded()
            .allow_loopback_webhooks()
            .env("LD_PRELOAD", self.library.to_str().unwrap())
            .env("FAULT_SHIM_FILE", control.to_str().unwrap())
            .env("FAULT_SHIM_PATH", "/data/")
    }

    fn set(&self, field: Field, value: i64) {
        let at = field as u64 * 8;
        self.control.write_all_at(&value.to_ne_bytes(), at).unwrap();
    }

    fn get(&self, field: Field) -> i64 {
        let mut bytes = [0; 8];
        self.control
            .read_exact_at(&mut bytes, field as u64 * 8)
            .unwrap();
        i64::from_ne_bytes(bytes)
    }

    /// Only this many more bytes can be written.
    fn limit(&self, bytes: i64) {
        self.set(Field::Budget, bytes);
        self.set(Field::IsLimited, 1);
    }

    /// Ends all faults of the disk. Fails if no fault had an effect.
    fn repair(&self) {
        assert!(self.get(Field::Injected) > 0, "no fault had an effect");
        self.clear();
    }

    fn clear(&self) {
        use Field::{Hang, IsLimited, Kill, OpenError, ReadError, SyncError, WriteError};
        for field in [
            WriteError, SyncError, OpenError, ReadError, Hang, IsLimited, Kill,
        ] {
            self.set(field, 0);
        }
    }
}

/// Numbered events of a user, and the hook that receives them.
struct Stream {
    user: TestUser,
    hook: TestReceiver,
    sink: TestSink,
    /// The next number.
    next: u64,
    /// The numbers of the emits that were acknowledged.
    acknowledged: Vec<u64>,
}

impl Stream {
    async fn start(user: &TestUser) -> Self {
        let hook = TestReceiver::start().await;
        // Holds events that do not fit into the queue, so that none is dropped.
        let sink = user.sink(json!({
            "name": "all", "patterns": "custom.n", "type": "webhook",
            "webhook": {"url": hook.url(HOOK)}, "delivery": {"overflow": "hold", "attempts": 50},
        }));
        Self {
            user: user.clone(),
            sink: sink.await,
            hook,
            next: 0,
            acknowledged: Vec::new(),
        }
    }

    /// Emits the next event. Returns the status of the answer, and the error code if the event was
    /// refused. The status is 0 if the server did not answer.
    async fn emit(&mut self) -> (u16, String) {
        let n = self.next;
        self.next += 1;
        // Large enough that a commit writes several pages.
        let payload = json!({"n": n, "text": "x".repeat(2_000)});
        let body = json!({"type": "n", "payload": payload});
        let Ok(answer) = self.user.emit_with_key(&format!("key-{n}"), body).await else {
            return (0, String::new());
        };
        match answer.status {
            202 => {
                self.acknowledged.push(n);
                (202, String::new())
            }
            status => (status, answer.code()),
        }
    }

    async fn emit_all(&mut self, count: usize) {
        for _ in 0..count {
            assert_eq!(self.emit().await, (202, String::new()));
        }
    }

    /// Waits until every acknowledged event has arrived. The first arrivals of all events must be in
    /// the order of their numbers: one client emitted them one after the other.
    async fn wait_for_all(&self) {
        let arrived = || {
            let mut numbers: Vec<u64> = Vec::new();
            for received in self.hook.received(HOOK) {
                let n = received.json()["data"]["n"].as_u64().unwrap();
                if !numbers.contains(&n) {
                    numbers.push(n);
                }
            }
            numbers
        };
        eventually("every acknowledged event arrives", RECOVERED, || async {
            let numbers = arrived();
            self.acknowledged.iter().all(|n| numbers.contains(n))
        })
        .await;
        let numbers = arrived();
        assert!(numbers.is_sorted(), "not in order: {numbers:?}");
    }
}

/// The answer of `/readyz`.
async fn readiness(server: &TestServer) -> (u16, Value) {
    let answer = server.http().request("GET", "/readyz", &[], "").await;
    (answer.status, answer.json())
}

/// Waits until the server reports that its database takes writes.
async fn wait_until_writable(server: &TestServer) {
    eventually("the database takes writes", SOON, || async {
        readiness(server).await == (200, json!({"status": "ready"}))
    })
    .await;
}
