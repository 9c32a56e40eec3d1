// A failed `unwrap` shows its position, which is enough in these tests.
#![allow(clippy::unwrap_used)]

use std::{
    env,
    net::TcpStream,
    process::{Command, Output},
    time::Duration,
};

use super::{TestDatabase, TestPostgres};
use crate::{Process, is_running};

const SOON: Duration = Duration::from_secs(60);

/// Runs a statement with `psql`, which gets only the URL.
fn ask(postgres: &TestPostgres, url: &str, text: &str) -> Output {
    let mut psql = postgres.installation.command("psql");
    psql.args(["-X", "-q", "-A", "-t", url, "-c", text]);
    psql.output().unwrap()
}

fn answer(postgres: &TestPostgres, url: &str, text: &str) -> String {
    let said = ask(postgres, url, text);
    assert!(said.status.success(), "{url}: {said:?}");
    super::text_of(&said.stdout)
}

fn is_reachable(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

#[test]
fn databases_are_empty_and_separate_and_reachable_by_both_addresses() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let (one, other) = (postgres.database(), postgres.database());
    assert_ne!(one.name, other.name);
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(postgres.sql(&one.name, tables), "0");
    let fill = "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'ü')";
    answer(postgres, &one.url, fill);
    assert_eq!(answer(postgres, &one.socket_url, "TABLE t"), "1|x\n2|ü");
    assert_eq!(postgres.sql(&one.name, "TABLE t"), "1|x\n2|ü");
    assert_eq!(postgres.sql(&other.name, tables), "0");
    let refused = postgres.try_sql(&other.name, "TABLE t").unwrap_err();
    assert!(refused.contains("does not exist"), "{refused}");
    let from = "SELECT inet_client_addr() IS NULL";
    assert_eq!(answer(postgres, &one.url, from), "f");
    assert_eq!(answer(postgres, &one.socket_url, from), "t");
    for (setting, value) in [
        ("max_connections", "200"),
        ("fsync", "off"),
        ("server_encoding", "UTF8"),
        ("listen_addresses", "127.0.0.1"),
    ] {
        let shown = postgres.sql(&one.name, &format!("SHOW {setting}"));
        assert_eq!(shown, value, "{setting}");
    }
}

#[test]
fn an_outage_closes_all_connections_and_ends_with_the_same_data() {
    let Some(mut postgres) = TestPostgres::own_durable() else {
        return;
    };
    let TestDatabase { name, url, .. } = postgres.database();
    assert_eq!(postgres.sql(&name, "SHOW fsync"), "on");
    postgres.sql(&name, "CREATE TABLE t AS SELECT 7 AS a");
    let before = postgres.id().unwrap();
    postgres.stop();
    assert_eq!(postgres.id(), None);
    assert!(!is_running(before));
    assert!(!is_reachable(postgres.port));
    assert!(!ask(&postgres, &url, "TABLE t").status.success());
    postgres.start();
    assert_ne!(postgres.id(), Some(before));
    assert_eq!(answer(&postgres, &url, "TABLE t"), "7");
}

#[tokio::test]
async fn connections_to_one_database_are_cut_off() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let (one, other) = (postgres.database(), postgres.database());
    let connect = |database: &TestDatabase| {
        let mut psql = postgres.installation.command("psql");
        psql.args(["-X", "-q", "-A", "-t", &database.url])
            .args(["-c", "SELECT pg_advisory_lock(1)"])
            .args(["-c", "SELECT pg_sleep(3600)"]);
        Process::spawn("psql", psql)
    };
    let mut connected = [connect(&one), connect(&one), connect(&other)];
    let count = "SELECT count(*) FROM pg_stat_activity WHERE datname LIKE 'test%' \
                 AND query LIKE '%pg\\_sleep(3600)' OR wait_event = 'advisory'";
    crate::eventually("all clients are connected", SOON, || async {
        postgres.sql("postgres", count) == "3"
    })
    .await;
    assert_eq!(postgres.kill_connections(&one.name), 2);
    let [first, second, third] = &mut connected;
    for process in [first, second] {
        assert!(!process.wait_for_exit(SOON).await.success());
        let said = process.stderr();
        assert!(said.contains("terminating connection"), "{said}");
    }
    assert_eq!(third.exit_status(), None);
    assert_eq!(postgres.kill_connections(&one.name), 0);
}

#[test]
fn a_dropped_cluster_leaves_no_files_and_processes() {
    let Some(postgres) = TestPostgres::own() else {
        return;
    };
    let (folder, port) = (postgres.folder().to_owned(), postgres.port);
    let id = postgres.id().unwrap();
    assert!(is_running(id) && is_reachable(port) && folder.exists());
    drop(postgres);
    assert!(!is_running(id));
    assert!(!is_reachable(port));
    assert!(!folder.exists());
}

/// Runs one test of this program in a process of its own.
fn run_again(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", &format!("postgres::tests::{test}")])
        .args(["--nocapture", "--test-threads=1"]);
    command
}

/// For [`nothing_is_left_after_kill_9_of_the_test_process`]: a process with this variable starts a
/// cluster and waits.
const HOLD: &str = "SVC_TESTKIT_HOLD";

#[tokio::test]
async fn nothing_is_left_after_kill_9_of_the_test_process() {
    if env::var_os(HOLD).is_some() {
        let postgres = TestPostgres::find().unwrap();
        let id = postgres.id().unwrap();
        eprintln!("held: {id} {}", postgres.folder().display());
        return std::future::pending().await;
    }
    let Some(_) = TestPostgres::find() else {
        return;
    };
    let mut again = run_again("nothing_is_left_after_kill_9_of_the_test_process");
    again.env(HOLD, "1");
    let mut holder = Process::spawn("the holder", again);
    let line = holder.wait_for_log("held: ", SOON * 3).await;
    let (id, folder) = line
        .split_once("held: ")
        .unwrap()
        .1
        .split_once(' ')
        .unwrap();
    let id = id.parse().unwrap();
    assert!(is_running(id));
    holder.kill9();
    Process::wait_until_gone(id, SOON).await;
    crate::eventually("its folder is removed", SOON, || async {
        !std::path::Path::new(folder).exists()
    })
    .await;
}

#[tokio::test]
async fn a_server_whose_keeper_is_killed_ends_too() {
    let Some(mut postgres) = TestPostgres::own() else {
        return;
    };
    let id = postgres.id().unwrap();
    let note = std::fs::read_to_string(postgres.folder().join("data/postmaster.pid")).unwrap();
    postgres.keeper.kill9();
    Process::wait_until_gone(id, SOON).await;
    // No process is left that would remove the folder and the shared memory that locks it, so the
    // test removes both.
    crate::eventually("its folder is removed", SOON, || async {
        std::fs::remove_dir_all(postgres.folder()).is_ok()
    })
    .await;
    let memory = note.lines().nth(6).unwrap().split_whitespace().nth(1);
    let removed = Command::new("ipcrm").args(["-m", memory.unwrap()]).status();
    assert!(removed.unwrap().success(), "{note}");
}

#[test]
fn without_postgres_tests_are_skipped_unless_it_is_required() {
    if TestPostgres::find().is_none() {
        return;
    }
    let elsewhere = |required: &str| {
        run_again("a_dropped_cluster_leaves_no_files_and_processes")
            .env("SVC_POSTGRES_BIN", "/nowhere")
            .env("SVC_REQUIRE_POSTGRES", required)
            .output()
            .unwrap()
    };
    for (required, passes) in [("", true), ("1", false)] {
        let said = elsewhere(required);
        assert_eq!(said.status.success(), passes, "{said:?}");
        let text = super::text_of(&said.stderr);
        assert_eq!(text.contains("SKIPPED"), passes, "{text}");
        assert!(text.contains("PostgreSQL is missing: `/nowhere`"), "{text}");
    }
}
