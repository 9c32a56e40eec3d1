//! The agent's Python packages (spec 4.2): two archives on its loopback listener, and on the
//! `PYTHONPATH` of the processes it starts.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use svc_testkit::{
    Answer, Http, RegistrationToml, TempDir, TestAgent, TestServer, eventually, method, result,
};

use crate::SOON;

const SVC: &str = "/packages/svc-libraries.zip";
const USER: &str = "/packages/user-libraries.zip";

async fn loopback(agent: &TestAgent) -> Http {
    let discovery = agent.discovery().await;
    Http::to_url(discovery["agent_url"].as_str().unwrap())
}

async fn get(http: &Http, path: &str, headers: &[(&str, &str)]) -> Answer {
    http.request("GET", path, headers, "").await
}

fn have_python() -> bool {
    let mut command = Command::new("python3");
    command.arg("--version").stdout(Stdio::null());
    let found = command.status().is_ok_and(|status| status.success());
    assert!(
        found || std::env::var("CI").as_deref() != Ok("true"),
        "CI needs `python3`"
    );
    if !found {
        eprintln!("SKIPPED: this needs `python3`, which is not installed");
    }
    found
}

/// The output of CPython with only these archives to import from.
fn python(archives: &[&Path], code: &str) -> String {
    let path: Vec<_> = archives.iter().map(|path| path.to_str().unwrap()).collect();
    let output = Command::new("python3")
        .args(["-s", "-B", "-c", code])
        .env("PYTHONPATH", path.join(":"))
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{code}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Saves an archive in a file with this name.
fn save(folder: &Path, name: &str, archive: &Answer) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, &archive.body).unwrap();
    path
}

#[tokio::test]
async fn s4_2_both_archives_have_an_etag_and_are_sent_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    ann.script("library", "words", "X = 1\n").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let http = loopback(&agent).await;
    for path in [SVC, USER] {
        let first = get(&http, path, &[]).await.expect(200);
        assert_eq!(first.header("content-type"), Some("application/zip"));
        assert!(first.body.starts_with(b"PK"), "{path}");
        let tag = first.header("etag").unwrap().to_owned();
        assert!(
            tag.starts_with('"') && tag.ends_with('"') && tag.len() > 10,
            "{tag}"
        );
        let weak = format!("\"other\", W/{tag}");
        for known in [tag.as_str(), &weak, "*"] {
            let again = get(&http, path, &[("if-none-match", known)])
                .await
                .expect(304);
            assert!(again.body.is_empty());
            assert_eq!(again.header("etag"), Some(tag.as_str()));
        }
        let other = get(&http, path, &[("if-none-match", "\"other\"")])
            .await
            .expect(200);
        assert_eq!(other.body, first.body, "the same, byte for byte");
    }
    let head = http.request("HEAD", SVC, &[], "").await.expect(200);
    assert!(head.body.is_empty() && head.header("etag").is_some());
    let missing = get(&http, "/packages/other.zip", &[]).await.expect(404);
    assert_eq!(missing.code(), "package_not_found");
    get(&http, "/packages/../packages/x", &[]).await.expect(404);
    http.request("POST", SVC, &[], "").await.expect(405);
}

/// Any page in a browser on this machine can send requests to the agent, so requests of pages are
/// refused.
#[tokio::test]
async fn s4_2_packages_are_served_to_programs_of_this_machine_only() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let http = loopback(&agent).await;
    for path in [SVC, USER] {
        for host in ["example.com", "127.0.0.1.example.com", "10.0.0.1", ""] {
            let refused = get(&http, path, &[("host", host)]).await.expect(403);
            assert_eq!(refused.code(), "foreign_host", "{host}");
        }
        for origin in ["https://example.com", "http://127.0.0.1", "null"] {
            let refused = get(&http, path, &[("origin", origin)]).await.expect(403);
            assert_eq!(refused.code(), "foreign_origin", "{origin}");
        }
        get(&http, path, &[("host", "localhost:80")])
            .await
            .expect(200);
    }
}

#[tokio::test]
async fn s4_2_libraries_of_the_owner_come_before_global_ones() {
    if !have_python() {
        return;
    }
    let server = TestServer::start().await;
    let (ann, ben, admin) = (
        server.user("ann").await,
        server.user("ben").await,
        server.admin().await,
    );
    admin
        .global_script("library", "words", "WHOSE = 'ours'\n")
        .await;
    admin
        .global_script("library", "shared", "import words\nX = words.WHOSE\n")
        .await;
    let own = ann.script("library", "words", "WHOSE = 'anns'\n").await;
    ben.script("library", "secret", "X = 1\n").await;
    ann.script("tool", "tool", "def main(p):\n    return 1\n")
        .await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let http = loopback(&agent).await;
    let first = get(&http, USER, &[]).await.expect(200);
    let archive = save(space.folder(), "first.zip", &first);
    let code = "import words, shared, pkgutil, sys\nprint(words.WHOSE, shared.X, sorted(m.name for m in pkgutil.iter_modules([sys.path[1]])))";
    assert_eq!(python(&[&archive], code), "anns anns ['shared', 'words']\n");

    // A change of a library rebuilds the archive at once.
    own.patch(json!({"source": "WHOSE = 'new'\n"})).await;
    let tag = first.header("etag").unwrap();
    let second = get(&http, USER, &[("if-none-match", tag)])
        .await
        .expect(200);
    let archive = save(space.folder(), "second.zip", &second);
    assert_eq!(
        python(&[&archive], "import words; print(words.WHOSE)"),
        "new\n"
    );
    ann.delete(&own.path()).await.expect(204);
    let third = get(&http, USER, &[]).await.expect(200);
    let archive = save(space.folder(), "third.zip", &third);
    assert_eq!(
        python(&[&archive], "import shared; print(shared.X)"),
        "ours\n"
    );
}

#[tokio::test]
async fn s4_2_cpython_imports_the_svc_library_from_its_archive() {
    if !have_python() {
        return;
    }
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let http = loopback(&agent).await;
    let archive = get(&http, SVC, &[]).await.expect(200);
    let archive = save(space.folder(), "svc.zip", &archive);
    let code = "\
import json, svc, svc.event, svc.api, svc.jsonrpc, svc.methods
from svc.methods import schema as s
print('svc.zip' in svc.__file__)
print(json.dumps(s.object(n=s.integer(minimum=1), t=s.optional(s.string()))))
";
    let said = python(&[&archive], code);
    let (from, schema) = said.split_once('\n').unwrap();
    assert_eq!(from, "True");
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert_eq!(schema["required"], json!(["n"]));
    assert_eq!(schema["additionalProperties"], false);
}

#[tokio::test]
async fn s4_2_without_a_link_the_libraries_are_the_last_known_or_unavailable() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    ann.script("library", "words", "X = 1\n").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let http = loopback(&agent).await;
    let before = get(&http, USER, &[]).await.expect(200);
    server.kill9();
    eventually("the agent notices the lost link", SOON, || async {
        agent
            .find_status()
            .await
            .is_some_and(|status| status["linked"] == false)
    })
    .await;
    let after = get(&http, USER, &[]).await.expect(200);
    assert_eq!(after.body, before.body);
    get(&http, SVC, &[]).await.expect(200);
    // An agent that was never linked can serve only the built-in library `svc`.
    let other = TempDir::new().unwrap();
    let mut lonely = space.spawn_agent_in(other.path(), &[]);
    let http = loopback(&lonely).await;
    let none = get(&http, USER, &[]).await.expect(503);
    assert_eq!(none.code(), "libraries_unavailable");
    assert!(none.text().contains("not linked"), "{}", none.text());
    get(&http, SVC, &[]).await.expect(200);
    lonely.stop().await;
    drop(agent);
    server.start_again().await;
}

/// A method server in plain `python3`, with nothing installed.
const SERVER: &str = r#"
import json, sys
import svc.event, words
from svc import api

for line in sys.stdin:
    request = json.loads(line)
    names = sorted(method["name"] for method in api.list_methods())
    result = {"word": words.WORD, "from": svc.__file__.endswith("/svc/__init__.py") and ".zip" in svc.__file__, "methods": names, "event": svc.event.emit("python.called", {})}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

#[tokio::test]
async fn s4_2_a_python_method_server_imports_svc_and_stored_libraries_without_installation() {
    if !have_python() {
        return;
    }
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let library = ann.script("library", "words", "WORD = 'first'\n").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    space.write("server.py", SERVER);
    let registration =
        RegistrationToml::of(Path::new("python3"), &["-B", "server.py"]).with(method("ask", "ask"));
    // The agent reads the libraries. On a busy machine, the start of a method server would not wait
    // for that.
    let http = loopback(&agent).await;
    get(&http, USER, &[]).await.expect(200);
    agent.register(&registration).await.expect(0);
    let called = ann.call("ask", json!({})).await;
    let answer = result(&called);
    assert_eq!(answer["word"], "first");
    assert_eq!(answer["from"], true, "{answer}");
    assert_eq!(answer["methods"], json!(["ask"]));
    let path = format!("/api/events/{}", answer["event"].as_str().unwrap());
    let event = ann.get(&path).await.expect(200).json();
    assert_eq!(event["event_type"], "custom.python.called");
    assert_eq!(event["space_id"], space.id);
    // The next method server imports the current library.
    library.patch(json!({"source": "WORD = 'second'\n"})).await;
    get(&http, USER, &[]).await.expect(200);
    agent.register(&registration).await.expect(0);
    let called = ann.call("ask", json!({})).await;
    assert_eq!(result(&called)["word"], "second");
}
