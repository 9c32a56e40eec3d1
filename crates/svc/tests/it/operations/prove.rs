//! `svc prove`: the engine of the chaos tests, as operators run it. `SVC_PROVE_ROUNDS` and
//! `SVC_PROVE_ZONE_ROUNDS` set the number of rounds, `SVC_PROVE_SEED` sets the seed.

use std::{path::Path, time::Duration};

use serde_json::Value;
use svc_testkit::{Cli, Process, TempDir, TestPostgres, TestServer, eventually};

/// The limit of a run. Long, because the machine may be busy.
const RUN_MAX: Duration = Duration::from_secs(4 * 60 * 60);

/// The value of an environment variable; `number` if the variable is not set.
fn chosen(variable: &str, number: u64) -> String {
    std::env::var(variable).unwrap_or_else(|_| number.to_string())
}

struct Ran {
    code: Option<i32>,
    stderr: String,
    report: Value,
}

impl Ran {
    #[track_caller]
    fn kept_every_promise(&self) {
        assert_eq!(self.code, Some(0), "{}\n{:#}", self.stderr, self.report);
        for count in ["lost", "inverted", "invented", "twice", "stuck"] {
            assert_eq!(self.report[count], 0, "{:#}", self.report);
        }
        let expected = self.report["expected"].as_u64().unwrap();
        let ended = ["arrived", "dead"].map(|count| self.report[count].as_u64().unwrap());
        assert_eq!(ended.iter().sum::<u64>(), expected, "{:#}", self.report);
        assert!(expected > 0);
        assert!(self.report["calls"]["succeeded"].as_u64().unwrap() > 0);
    }
}

/// Runs `svc prove`, and waits until it exits.
async fn prove(cli: Cli, args: &[&str]) -> Ran {
    let mut process = start(cli, args);
    let code = process.wait_for_exit(RUN_MAX).await.code();
    let stdout = process.stdout().join("\n");
    let stderr = process.stderr();
    println!("{stderr}");
    Ran {
        code,
        report: serde_json::from_str(&stdout).unwrap_or_default(),
        stderr,
    }
}

fn start(cli: Cli, args: &[&str]) -> Process {
    cli.spawn(&[&["prove", "-o", "json"], args].concat())
}

/// Processes whose arguments name this folder.
fn processes_in(folder: &Path) -> Vec<String> {
    let name = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter(|entry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(name)
    });
    ids.map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// Checks that all processes of a run have ended: servers, agent, method server.
async fn no_process_is_left(folder: &Path) {
    eventually("every process ends", crate::SOON, || async {
        processes_in(folder).is_empty()
    })
    .await;
}

#[tokio::test]
async fn s6_5_no_acknowledged_event_is_lost_through_disturbances_of_a_single_server() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("run");
    let rounds = chosen("SVC_PROVE_ROUNDS", 10);
    let seed = chosen("SVC_PROVE_SEED", 1);
    let args = ["--rounds", &rounds, "--seed", &seed, "--folder", "run"];
    let ran = prove(Cli::new(home.path()), &args).await;
    ran.kept_every_promise();
    assert_eq!(ran.report["finished_rounds"].to_string(), rounds);
    let kinds = ran.report["disturbances"].as_object().unwrap();
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    assert!(!folder.exists(), "a run without a finding leaves nothing");
    no_process_is_left(&folder).await;
}

#[tokio::test]
async fn s6_5_no_acknowledged_event_is_lost_through_disturbances_of_a_zone() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let home = TempDir::new().unwrap();
    let rounds = chosen("SVC_PROVE_ZONE_ROUNDS", 4);
    let seed = chosen("SVC_PROVE_SEED", 1);
    let args = ["--rounds", &rounds, "--seed", &seed, "--schema", "proved"];
    let cli = Cli::new(home.path()).env("SVC_PROVE_DATABASE_URL", &database.url);
    let ran = prove(cli, &args).await;
    ran.kept_every_promise();
    let kinds = ran.report["disturbances"].as_object().unwrap();
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    assert_eq!(ran.report["servers"], 3);
    let left = "SELECT nspname FROM pg_namespace WHERE nspname = 'proved'";
    assert_eq!(postgres.sql(&database.name, left), "");
    // The servers used the schema and no other.
    let others = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(postgres.sql(&database.name, others), "0");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn s6_5_a_run_notices_planted_faults() {
    for (fault, count) in [
        ("drop-arrival", "lost"),
        ("swap", "inverted"),
        ("invent", "invented"),
    ] {
        let home = TempDir::new().unwrap();
        let cli = Cli::new(home.path()).env("SVC_PROVE_FAULT", fault);
        let args = ["--only", "freeze", "--seed", "3"];
        let ran = prove(cli, &args).await;
        assert_eq!(ran.code, Some(1), "{fault}: {}", ran.stderr);
        assert_eq!(ran.report["kept_promises"], false, "{fault}");
        for other in ["lost", "inverted", "invented"] {
            let expected = u64::from(other == count);
            assert_eq!(ran.report[other], expected, "{fault}: {:#}", ran.report);
        }
        let repeat = "svc prove --rounds 20 --seed 3 --only freeze";
        assert!(ran.stderr.contains(repeat), "{}", ran.stderr);
        // The data and the log of the server are kept.
        let folder = home.path().join("svc-prove-3");
        assert_eq!(ran.report["folder"], folder.to_str().unwrap());
        assert!(folder.join("server-0.log").is_file());
        no_process_is_left(&folder).await;
    }
}

#[tokio::test]
async fn s6_5_an_existing_folder_is_refused() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("mine");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("svc.db"), "precious").unwrap();
    let args = ["prove", "--folder", "mine", "--rounds", "1"];
    let refused = Cli::new(home.path()).run(&args).await.expect(6);
    assert!(refused.stderr.contains("is not empty"), "{refused:?}");
    let kept = std::fs::read_to_string(folder.join("svc.db")).unwrap();
    assert_eq!(kept, "precious");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[tokio::test]
async fn s6_5_an_existing_schema_and_a_database_in_use_are_refused() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    postgres.sql(&database.name, "CREATE SCHEMA mine");
    let home = TempDir::new().unwrap();
    let run = async |schema: &str| {
        let args = ["prove", "--rounds", "1", "--schema", schema];
        let cli = Cli::new(home.path()).env("SVC_PROVE_DATABASE_URL", &database.url);
        let refused = cli.run(&args).await.expect(6);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        refused.stderr
    };
    let refused = run("mine").await;
    assert!(refused.contains("the schema `mine` exists"), "{refused}");
    let server = TestServer::builder()
        .database_url(&database.url)
        .start()
        .await;
    let refused = run("other").await;
    assert!(refused.contains("connections of svc servers"), "{refused}");
    drop(server);
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'other'";
    assert_eq!(postgres.sql(&database.name, left), "0");
}

#[tokio::test]
async fn s6_5_an_interrupted_run_ends_its_servers_and_removes_its_folder() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("run");
    let args = ["--rounds", "1000", "--folder", "run", "--only", "freeze"];
    let mut process = start(Cli::new(home.path()), &args);
    wait_for_server(&folder).await;
    process.interrupt();
    let status = process.wait_for_exit(crate::SOON).await;
    assert_eq!(status.code(), Some(130), "{}", process.stderr());
    no_process_is_left(&folder).await;
    assert!(!folder.exists());
    let report: Value = serde_json::from_str(&process.stdout().join("\n")).unwrap();
    assert_eq!(report["interrupted"], true);
}

#[tokio::test]
async fn s6_5_the_servers_of_a_killed_run_end() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("run");
    let args = ["--rounds", "1000", "--folder", "run", "--only", "freeze"];
    let mut process = start(Cli::new(home.path()), &args);
    wait_for_server(&folder).await;
    process.kill9();
    no_process_is_left(&folder).await;
}

async fn wait_for_server(folder: &Path) {
    eventually("a server runs", 6 * crate::SOON, || async {
        !processes_in(folder).is_empty()
    })
    .await;
}

#[tokio::test]
async fn s6_5_the_clock_of_other_servers_cannot_be_moved() {
    let home = TempDir::new().unwrap();
    let data = home.path().join("data");
    let args = ["prove-server", "--data-dir", data.to_str().unwrap()];
    let refused = Cli::new(home.path()).run(&args).await.expect(2);
    assert!(refused.stderr.contains("only inside a run"), "{refused:?}");
    assert!(!data.exists());
}
