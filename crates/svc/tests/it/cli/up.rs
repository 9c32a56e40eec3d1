//! `svc up`: everything in one command, and no process left afterwards.

use std::{path::Path, process::Command, time::Duration};

use serde_json::{Value, json};
use svc_testkit::{
    Answer, Cli, Http, Process, descendants_of, fixture, get_eventually, is_running, method,
    svc_program,
};

/// The first start creates a database, a user, a space and its agent.
const UP_LIMIT: Duration = Duration::from_secs(60);

fn up(home: &Path, args: &[&str]) -> Process {
    let mut command = Command::new(svc_program());
    for (name, _) in std::env::vars() {
        if name.starts_with("SVC_") || name.starts_with("XDG_") {
            command.env_remove(name);
        }
    }
    command
        .args(["up", "--listen", "127.0.0.1:0", "-o", "json"])
        .args(args)
        .env("HOME", home)
        .current_dir(home);
    Process::spawn("svc up", command)
}

/// The first line on stdout. `svc up` prints it as soon as its methods can be called.
async fn first_line(up: &mut Process) -> Value {
    let line = get_eventually("svc up writes its line", UP_LIMIT, || async {
        up.stdout().first().cloned()
    })
    .await;
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("`{line}` is not JSON"))
}

fn home() -> svc_testkit::TempDir {
    svc_testkit::TempDir::with_prefix("svc-up-").unwrap()
}

async fn send(line: &Value, method: &str, path: &str, body: &Value) -> Answer {
    let http = Http::to_url(line["url"].as_str().unwrap());
    let bearer = format!("Bearer {}", line["token"].as_str().unwrap());
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    http.request(method, path, &headers, body.to_string()).await
}

async fn call(line: &Value, body: &Value) -> Value {
    let answer = send(line, "POST", "/api/methods/call", body).await;
    answer.expect(200).json()
}

#[tokio::test]
async fn one_command_serves_methods_and_ctrl_c_leaves_no_process() {
    let home = home();
    let data = home.path().join("data");
    let mut running = up(home.path(), &["--data-dir", data.to_str().unwrap()]);
    let line = first_line(&mut running).await;
    let keys: Vec<_> = line
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "url",
            "token",
            "username",
            "password",
            "space",
            "space_id",
            "agent_url",
            "agent_socket",
            "data_dir",
            "context",
            "sign_in_link"
        ]
    );
    assert_eq!(Path::new(line["data_dir"].as_str().unwrap()), data);
    assert!(Path::new(line["agent_socket"].as_str().unwrap()).exists());

    // A second shell needs no variables, because `svc up` has saved a context.
    let listed = Cli::new(home.path())
        .run(&["method", "list", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert!(listed["count"].as_u64().unwrap() >= 1);
    let names: Vec<_> = listed["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["name"].clone())
        .collect();
    assert!(names.contains(&json!("math.add")), "{names:?}");
    let said = Cli::new(home.path())
        .run(&[
            "method",
            "call",
            "math.add",
            r#"{"a": 2, "b": 3}"#,
            "--result",
        ])
        .await
        .expect(0);
    assert_eq!(said.json()["sum"], 5);
    let login = json!({"username": line["username"], "password": line["password"]}).to_string();
    let http = Http::to_url(line["url"].as_str().unwrap());
    http.request(
        "POST",
        "/api/auth/login",
        &[("content-type", "application/json")],
        login,
    )
    .await
    .expect(200);

    let below = descendants_of(running.id());
    assert!(
        below.len() >= 2,
        "an agent and a method server run: {below:?}"
    );
    running.signal(rustix::process::Signal::INT);
    assert_eq!(running.wait_for_exit(UP_LIMIT).await.code(), Some(0));
    let left: Vec<_> = below.into_iter().filter(|&id| is_running(id)).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[tokio::test]
async fn a_second_run_uses_the_same_data() {
    let home = home();
    let mut first = up(home.path(), &[]);
    let before = first_line(&mut first).await;
    let second_copy = up(home.path(), &[]).wait_for_exit(UP_LIMIT).await;
    assert_ne!(second_copy.code(), Some(0), "two at once are refused");
    assert_eq!(first.terminate().await.code(), Some(0));
    let mut second = up(home.path(), &[]);
    let after = first_line(&mut second).await;
    for key in ["username", "password", "space", "space_id", "data_dir"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert!(Path::new(after["data_dir"].as_str().unwrap()).starts_with(home.path()));
    Cli::new(home.path())
        .run(&["method", "list"])
        .await
        .expect(0);
    assert_eq!(second.terminate().await.code(), Some(0));
}

#[tokio::test]
async fn a_given_methods_file_is_served_instead_of_the_demo() {
    let home = home();
    let file = home.path().join("own.toml");
    std::fs::write(&file, fixture().with(method("my.echo", "echo")).to_string()).unwrap();
    let mut running = up(home.path(), &["--methods-file", "own.toml"]);
    let line = first_line(&mut running).await;
    let request = json!({"jsonrpc": "2.0", "method": "my.echo", "params": [1], "id": 1});
    assert_eq!(call(&line, &request).await["result"], json!([1]));
    let request = json!({"jsonrpc": "2.0", "method": "math.add", "params": {}, "id": 1});
    assert_eq!(call(&line, &request).await["error"]["code"], -32601);
    assert_eq!(running.terminate().await.code(), Some(0));
}

/// The agent registers the demo file in its folder after the startup script. If `svc up` did not
/// wait for that, the demo would replace the methods of the given file.
#[tokio::test]
async fn a_given_methods_file_is_registered_after_the_agent_has_started() {
    let home = home();
    let mut running = up(home.path(), &[]);
    let line = first_line(&mut running).await;
    let source = "import time\ntime.sleep(2)\n";
    let script = json!({"name": "slow", "kind": "startup", "owner": "user", "source": source});
    let script = send(&line, "POST", "/api/scripts", &script)
        .await
        .expect(201);
    let space = format!("/api/spaces/{}", line["space_id"].as_str().unwrap());
    let startup = json!({"startup_script_id": script.json()["id"]});
    send(&line, "PATCH", &space, &startup).await.expect(200);
    assert_eq!(running.terminate().await.code(), Some(0));

    let file = home.path().join("own.toml");
    std::fs::write(&file, fixture().with(method("my.echo", "echo")).to_string()).unwrap();
    let mut running = up(home.path(), &["--methods-file", "own.toml"]);
    let line = first_line(&mut running).await;
    let status = Cli::new(home.path())
        .env("SVC_AGENT_SOCKET", line["agent_socket"].as_str().unwrap())
        .run(&["agent", "status", "-o", "json"])
        .await;
    let status = status.expect(0).json();
    assert_eq!(status["startup_done"], true);
    assert_eq!(status["methods"], json!(["my.echo"]));
    assert_eq!(running.terminate().await.code(), Some(0));
}

#[tokio::test]
async fn kill9_of_svc_up_leaves_no_process() {
    let home = home();
    let mut running = up(home.path(), &[]);
    first_line(&mut running).await;
    let below = descendants_of(running.id());
    running.kill9();
    for id in below {
        Process::wait_until_gone(id, UP_LIMIT).await;
    }
}

#[tokio::test]
async fn the_context_is_current_only_while_svc_up_runs() {
    let home = home();
    let svc = || Cli::new(home.path());
    let mut running = up(home.path(), &[]);
    first_line(&mut running).await;
    svc().run(&["method", "list"]).await.expect(0);
    assert_eq!(running.terminate().await.code(), Some(0));
    let said = svc().run(&["method", "list"]).await.expect(4);
    assert!(said.stderr.contains("svc up"), "{}", said.stderr);

    // After `svc up` has ended, the context that was current before is current again.
    svc()
        .input("svc_pat_x")
        .run(&["context", "add", "work", "http://127.0.0.1:9"])
        .await
        .expect(0);
    svc().run(&["context", "use", "work"]).await.expect(0);
    let mut running = up(home.path(), &[]);
    first_line(&mut running).await;
    svc().run(&["method", "list"]).await.expect(0);
    assert_eq!(running.terminate().await.code(), Some(0));
    let contexts = svc()
        .run(&["context", "list", "-o", "json"])
        .await
        .expect(0)
        .json();
    for context in contexts["contexts"].as_array().unwrap() {
        assert_eq!(context["current"], context["name"] == "work", "{contexts}");
    }
}

/// Checks that a call with these arguments returns its result.
async fn works(home: &Path, args: &[&str]) {
    let call = [
        "method",
        "call",
        "math.add",
        r#"{"a": 2, "b": 3}"#,
        "--result",
    ];
    let args = [args, &call[..]].concat();
    let said = Cli::new(home).run(&args).await.expect(0);
    assert_eq!(said.json()["sum"], 5, "{args:?}");
}

async fn current(home: &Path) -> Option<String> {
    let list = ["context", "list", "-o", "json"];
    let contexts = Cli::new(home).run(&list).await.expect(0).json();
    let contexts = contexts["contexts"].as_array().unwrap().clone();
    let current = contexts.into_iter().find(|one| one["current"] == true);
    current.map(|one| one["name"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_second_run_in_one_home_does_not_change_the_context_of_the_first() {
    // Either run may end first.
    for first_ends_first in [true, false] {
        let home = home();
        let home = home.path();
        let mut first = up(home, &[]);
        let line = first_line(&mut first).await;
        assert_eq!(line["context"], "up");
        let data = home.join("second");
        let mut second = up(home, &["--data-dir", data.to_str().unwrap()]);
        let second_line = first_line(&mut second).await;
        assert_eq!(second_line["context"], "up-2");
        assert_ne!(line["url"], second_line["url"]);
        assert_eq!(current(home).await.as_deref(), Some("up"));
        for args in [&[][..], &["--context", "up"], &["--context", "up-2"]] {
            works(home, args).await;
        }
        let list = ["context", "list", "-o", "json"];
        let contexts = Cli::new(home).run(&list).await.expect(0).json();
        assert_eq!(contexts["contexts"][0]["url"], line["url"], "{contexts}");
        if first_ends_first {
            assert_eq!(first.terminate().await.code(), Some(0));
            assert_eq!(current(home).await, None);
            works(home, &["--context", "up-2"]).await;
            assert_eq!(second.terminate().await.code(), Some(0));
        } else {
            assert_eq!(second.terminate().await.code(), Some(0));
            assert_eq!(current(home).await.as_deref(), Some("up"));
            works(home, &[]).await;
            assert_eq!(first.terminate().await.code(), Some(0));
        }
        assert_eq!(current(home).await, None);
    }
}

#[tokio::test]
async fn the_sign_in_link_works_once_and_only_from_this_machine() {
    let home = home();
    let mut running = up(home.path(), &[]);
    let line = first_line(&mut running).await;
    let url = line["url"].as_str().unwrap();
    let link = line["sign_in_link"].as_str().unwrap();
    let token = link.strip_prefix(&format!("{url}/sign-in#")).unwrap();
    let http = Http::to_url(url);
    let sign_in = async |headers: &[(&str, &str)]| {
        let headers = [&[("content-type", "application/json")][..], headers].concat();
        let body = json!({ "token": token }).to_string();
        http.request("POST", "/api/auth/sign-in", &headers, body)
            .await
    };
    // The link is still valid after a refused request.
    let refused = sign_in(&[("x-forwarded-for", "203.0.113.7")]).await;
    assert_eq!(refused.expect(403).code(), "loopback_only");
    let refused = sign_in(&[("origin", "https://elsewhere.example")]).await;
    assert_eq!(refused.expect(403).code(), "foreign_origin");
    let page = http.request("GET", "/sign-in", &[("accept", "text/html")], "");
    assert!(page.await.expect(200).text().contains("<html"));
    let signed_in = sign_in(&[]).await.expect(200);
    assert_eq!(signed_in.json()["username"], "admin");
    let cookie = signed_in.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let cookie = [("cookie", cookie.as_str())];
    let me = http.request("GET", "/api/auth/me", &cookie, "").await;
    assert_eq!(me.expect(200).json()["credential"], "session");
    assert_eq!(
        sign_in(&[]).await.expect(401).code(),
        "invalid_sign_in_link"
    );
    assert_eq!(running.terminate().await.code(), Some(0));
    let log = running.stderr();
    assert!(!log.contains(token), "the link is not logged: {log}");
}

#[test]
fn the_readme_and_the_alias_announce_the_first_build() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let readme = read("README.md");
    let before = readme.split("cargo svc up").next().unwrap();
    assert!(before.contains("minutes"), "{before}");
    // The alias runs the program that announces the build. That program has its own test.
    let config = read(".cargo/config.toml");
    let alias = config.lines().find(|line| line.starts_with("svc = "));
    assert!(
        alias.unwrap().contains("--package cargo-svc --"),
        "{alias:?}"
    );
}

#[tokio::test]
async fn configuration_for_another_server_does_not_affect_svc_up() {
    let home = home();
    let config = "[server]\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\npublic_url = \"https://svc.example.com\"\n";
    std::fs::write(home.path().join("svc.toml"), config).unwrap();
    let mut running = up(home.path(), &[]);
    let line = first_line(&mut running).await;
    assert!(
        line["url"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:"),
        "{line}"
    );
    let request =
        json!({"jsonrpc": "2.0", "method": "math.add", "params": {"a": 1, "b": 2}, "id": 1});
    assert_eq!(call(&line, &request).await["result"]["sum"], 3);
    assert_eq!(running.terminate().await.code(), Some(0));
    let demo = Path::new(line["data_dir"].as_str().unwrap())
        .join("spaces")
        .join(line["space_id"].as_str().unwrap())
        .join("methods.toml");
    let text = std::fs::read_to_string(demo).unwrap();
    assert!(
        text.contains("svc methods register methods.toml"),
        "the demo file names itself in its instructions"
    );
}
