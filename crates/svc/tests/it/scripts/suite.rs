//! One suite of scripts on two engines: the embedded engine and CPython behave the same.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use svc_testkit::{Cli, Output, RegistrationToml, TempDir, TestServer, TestSpace, method, result};

use crate::examples::have;

/// Scripts that other scripts of the suite import or use.
const PARTS: [&str; 2] = ["session_setup.py", "shop.py"];

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../sdk/python")
        .canonicalize()
        .unwrap()
}

fn suite() -> PathBuf {
    sdk().join("tests/suite")
}

/// The names of a folder's scripts, in order.
fn scripts_of(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".py"))
        .collect();
    names.sort();
    names
}

/// An engine that runs scripts.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Engine {
    Embedded,
    CPython,
}

impl Engine {
    /// The installed engines.
    fn all() -> Vec<Self> {
        let mut all = vec![Self::Embedded];
        all.extend(have("python3").then_some(Self::CPython));
        all
    }

    fn cli(self, home: &Path) -> Cli {
        match self {
            Self::Embedded => Cli::new(home),
            Self::CPython => python(home).env("PYTHONPATH", sdk().join("src")),
        }
    }

    async fn run(self, cli: Cli, script: impl AsRef<OsStr>) -> Output {
        match self {
            Self::Embedded => cli.run(&["run-script".as_ref(), script.as_ref()]).await,
            Self::CPython => cli.run(&[script]).await,
        }
    }

    async fn serve(self, cli: Cli, setup: &str) -> Output {
        match self {
            Self::Embedded => cli.run(&["run-script", "--json-rpc", setup]).await,
            Self::CPython => cli.run(&["-m", "svc.jsonrpc", setup]).await,
        }
    }
}

fn python(home: &Path) -> Cli {
    Cli::of("python3", home).env("PYTHONDONTWRITEBYTECODE", "1")
}

#[tokio::test]
async fn every_script_of_the_suite_prints_the_same_on_both_engines() {
    let (home, suite) = (TempDir::new().unwrap(), suite());
    let mut names = scripts_of(&suite);
    names.retain(|name| !PARTS.contains(&name.as_str()));
    assert!(names.len() >= 6, "{names:?}");
    for engine in Engine::all() {
        for name in &names {
            let golden = suite.join(name).with_extension("out");
            let golden = std::fs::read_to_string(&golden)
                .unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
            let cli = engine.cli(home.path()).folder(&suite);
            let said = engine.run(cli, name).await.expect(0);
            assert_eq!(said.stdout, golden, "{name} on {engine:?}");
            assert_eq!(said.stderr, "", "{name} on {engine:?}");
        }
    }
}

#[tokio::test]
async fn s4_4_a_json_rpc_session_is_answered_the_same_by_both_engines() {
    let (home, suite) = (TempDir::new().unwrap(), suite());
    let read = |name: &str| std::fs::read_to_string(suite.join(name)).unwrap();
    let requests = read("session.requests.jsonl");
    // The folder is removed from file names. The lines are sorted, because responses come in any
    // order.
    let folder = format!("\"file\":\"{}/", suite.display());
    for engine in Engine::all() {
        let cli = engine.cli(home.path()).folder(&suite).input(&requests);
        let said = engine.serve(cli, "session_setup.py").await.expect(0);
        let answers = said.stdout.replace(&folder, "\"file\":\"");
        let mut answers: Vec<_> = answers.split_inclusive('\n').collect();
        answers.sort_unstable();
        assert_eq!(
            answers.concat(),
            read("session.answers.jsonl"),
            "{engine:?}"
        );
        for aside in [
            "setup prints to the log too",
            "this is for the log",
            "not JSON",
            "ValueError: no such note",
        ] {
            assert!(said.stderr.contains(aside), "{engine:?}: {}", said.stderr);
        }
    }
}

/// Runs the scripts of `suite/space` in a space; returns the output of each.
async fn run_in(space: &TestSpace, engine: Engine) -> Vec<(String, String)> {
    let folder = suite().join("space");
    let home = TempDir::new().unwrap();
    let mut all = Vec::new();
    for name in scripts_of(&folder) {
        let cli = engine.cli(home.path()).folder(space.folder());
        let cli = cli.env("SVC_SPACE_NAME", &space.name);
        let said = engine.run(cli, folder.join(&name)).await.expect(0);
        assert_eq!(said.stderr, "", "{name} on {engine:?}");
        all.push((name, said.stdout));
    }
    all
}

#[tokio::test]
async fn scripts_in_a_space_print_and_do_the_same_on_both_engines() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.agent().await;
    let mut said = Vec::new();
    for engine in Engine::all() {
        said.push(run_in(&space, engine).await);
        // Each engine has emitted two events and left no published method.
        let path = "/api/events?type=custom.suite.done";
        let events = ann.get(path).await.expect(200).json();
        let events = events["events"].as_array().unwrap();
        assert_eq!(events.len(), 2 * said.len(), "{engine:?}: {events:?}");
        assert_eq!(events[0]["data"], json!({}));
        assert_eq!(events[1]["data"]["n"], 1);
        assert_eq!(events[1]["data"]["text"], "ü");
        assert!(events.iter().all(|event| event["space_id"] == space.id));
        assert!(ann.methods().await.is_empty(), "{engine:?}");
    }
    let names: Vec<_> = said[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["emit.py", "look_around.py", "publish.py"]);
    for (name, text) in &said[0] {
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{name}: {line}")))
            .collect();
        assert!(lines.len() >= 4, "{name}: {text}");
    }
    assert!(said.iter().all(|each| *each == said[0]), "{said:#?}");
}

/// The agent also provides the library to a method server on CPython.
#[tokio::test]
async fn s4_4_handlers_return_the_same_on_both_engines_behind_an_agent() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let mut answers = Vec::new();
    for engine in Engine::all() {
        let space = ann.space(&format!("{engine:?}").to_lowercase()).await;
        for part in PARTS {
            let text = std::fs::read_to_string(suite().join(part)).unwrap();
            space.write(part, &text);
        }
        let registration = match engine {
            Engine::Embedded => RegistrationToml::of(
                &svc_testkit::svc_program(),
                &["run-script", "--json-rpc", "session_setup.py"],
            ),
            Engine::CPython => RegistrationToml::of(
                Path::new("python3"),
                &["-B", "-m", "svc.jsonrpc", "session_setup.py"],
            ),
        };
        let names = ["price", "tuples", "key_error", "missing", "echo"];
        let own = |name: &str| format!("{}.{name}", space.name);
        let registration = names.iter().fold(registration, |registration, name| {
            registration.with(method(&own(name), name))
        });
        let _agent = space.publish(registration).await;
        let mut of_this = Vec::new();
        for (name, params) in [
            ("price", json!({"name": "pen"})),
            ("price", json!({"name": "car"})),
            ("tuples", json!({})),
            ("missing", json!({})),
            ("echo", json!({"b": [null, 1.5], "a": "ü"})),
        ] {
            of_this.push(ann.call(&own(name), params).await);
        }
        assert_eq!(result(&of_this[0]), &json!({"name": "pen", "price": 12}));
        let failed = ann.call(&own("key_error"), json!({})).await;
        assert_eq!(failed["error"]["message"], "KeyError: 'missing'");
        assert_eq!(failed["error"]["data"]["line"], 68);
        answers.push(of_this);
    }
    assert!(
        answers.iter().all(|each| *each == answers[0]),
        "{answers:#?}"
    );
}

#[tokio::test]
async fn the_tests_of_the_python_package_pass() {
    if !have("python3") {
        return;
    }
    let home = TempDir::new().unwrap();
    let tests = sdk().join("tests");
    let args = ["-m", "unittest", "discover", "-s", tests.to_str().unwrap()];
    let said = python(home.path()).run(&args).await.expect(0);
    let ran = said.stderr.lines().find_map(|line| {
        let count = line.strip_prefix("Ran ")?.split(' ').next()?;
        count.parse::<u32>().ok()
    });
    assert!(ran.is_some_and(|tests| tests >= 20), "{}", said.stderr);
}
