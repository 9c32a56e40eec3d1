//! Helpers for the tests of workers.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use svc_script::{
    Abilities, Flavour, Limits, Setting, Source,
    worker::{Job, NoHost, Pool, PoolOptions, Program},
};
use uuid::Uuid;

pub const TIME: Duration = Duration::from_secs(1);
pub const KILL_AFTER: Duration = Duration::from_millis(500);
/// Long enough for any operation that does not hang, also on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);
pub const MEMORY_BYTES: usize = 64 * MEBIBYTE;
const MEBIBYTE: usize = 1024 * 1024;
pub const OUTPUT_MAX: usize = 16 * 1024;

/// The program `examples/script-worker.rs`, which Cargo builds together with these tests.
pub fn program(role: &str) -> Program {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent);
    let path: PathBuf = folder
        .expect("a test is in target/*/deps")
        .join("examples/script-worker");
    assert!(path.exists(), "`{}` is not built", path.display());
    let mebibytes = (MEMORY_BYTES / MEBIBYTE).to_string();
    Program {
        path,
        args: [role, &mebibytes].map(OsString::from).to_vec(),
    }
}

pub fn pool(workers_max: usize, idle: Duration) -> Pool {
    Pool::new(PoolOptions {
        program: program("--sandbox"),
        workers_max,
        idle,
        kill_after: KILL_AFTER,
        output_max: OUTPUT_MAX,
    })
}

/// Like [`job`], for a script that ends by itself, which may take long on a busy machine.
pub fn patient_job(owner: u128, text: &str, function: Option<&str>) -> Job {
    let mut job = job(owner, text, function);
    job.setting.limits.time = Some(SOON);
    job
}

pub fn job(owner: u128, text: &str, function: Option<&str>) -> Job {
    Job {
        owner: Uuid::from_u128(owner),
        setting: Setting {
            flavour: Flavour::Tool,
            abilities: Abilities::None,
            limits: Limits {
                time: Some(TIME),
                memory_bytes: Some(MEMORY_BYTES),
                recursion: 1_000,
                host_calls: 100,
            },
            args: vec!["tool.py".to_owned()],
        },
        script: Source {
            file: "tool.py".to_owned(),
            text: text.to_owned(),
        },
        function: function.map(str::to_owned),
        params: r#"{"a": 1}"#.to_owned(),
    }
}

pub const HONEST: &str = "def main(params):\n    return {'twice': params['a'] * 2}\n";

pub async fn serves_an_honest_script(pool: &Pool, owner: u128) {
    let job = patient_job(owner, HONEST, Some("main"));
    let outcome = pool.run(job, &NoHost).await;
    assert_eq!(outcome.result, Ok(Some(r#"{"twice":2}"#.to_owned())));
}

/// Whether a process has this id.
pub fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Waits until `check` returns true.
pub fn eventually(what: &str, check: impl Fn() -> bool) {
    let until = Instant::now() + SOON;
    while !check() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
