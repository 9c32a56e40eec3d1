//! `svc script …`: stored scripts from the command line.

use serde_json::{Value, json};
use svc_testkit::{Output, TestServer, TestUser};

const SUM: &str = "def main(params):\n    print('adding')\n    return sum(params['n'])\n";

struct Terminal {
    server: TestServer,
    ann: TestUser,
}

impl Terminal {
    /// Starts a server whose home contains a file `sum.py`.
    async fn open() -> Self {
        let server = TestServer::start().await;
        let ann = server.user("ann").await;
        std::fs::write(server.home().join("sum.py"), SUM).unwrap();
        Self { server, ann }
    }

    /// Runs `svc script …` and checks the exit code.
    async fn script(&self, args: &[&str], code: i32) -> Output {
        self.script_with(args, "", code).await
    }

    async fn script_with(&self, args: &[&str], input: &str, code: i32) -> Output {
        let args = [&["script"], args].concat();
        let cli = self.server.cli(&self.ann).input(input);
        cli.run(&args).await.expect(code)
    }

    async fn create_sum(&self) -> Value {
        let create = ["create", "sum", "--kind", "tool", "--file", "sum.py"];
        let more = [
            "--description",
            "Adds",
            "--params-schema",
            "{}",
            "-o",
            "json",
        ];
        self.script(&[&create[..], &more].concat(), 0).await.json()
    }
}

#[tokio::test]
async fn svc_script_stores_shows_and_changes_scripts() {
    let terminal = Terminal::open().await;
    let made = terminal.create_sum().await;
    assert_eq!(made["source"], SUM);
    assert_eq!(made["params_schema"], json!({}));
    let listed = terminal.script(&["list", "--kind", "tool", "-o", "json"], 0);
    assert_eq!(listed.await.json()["scripts"], json!([made]));
    let none = terminal.script(&["list", "--kind", "sink", "-o", "json"], 0);
    assert_eq!(none.await.json()["scripts"], json!([]));
    let table = terminal.script(&["list"], 0).await.stdout;
    assert!(table.contains("sum") && table.contains("Adds"), "{table}");
    assert_eq!(terminal.script(&["show", "sum"], 0).await.stdout, SUM);

    let update = ["update", "sum", "--file", "-"];
    let broken = terminal.script_with(&update, "def (:", 6).await;
    assert!(broken.stderr.contains("sum.py:1"), "{}", broken.stderr);
    let update = ["update", "sum", "--params-schema", "", "-o", "json"];
    let changed = terminal.script(&update, 0).await.json();
    assert_eq!(changed["params_schema"], Value::Null);
    assert_eq!(changed["source"], SUM, "a refused update changes nothing");
    terminal.script(&["update", "sum"], 2).await;
    terminal
        .script(&["create", "sum", "--kind", "cron", "--file", "sum.py"], 2)
        .await;
    terminal
        .script(&["create", "sum", "--kind", "tool", "--file", "sum.py"], 6)
        .await;
    terminal.script(&["delete", "sum"], 0).await;
    terminal.script(&["show", "sum"], 5).await;
}

#[tokio::test]
async fn svc_script_run_runs_a_script() {
    let terminal = Terminal::open().await;
    terminal.create_sum().await;
    let ran = terminal
        .script(&["run", "sum", r#"{"n": [1, 2]}"#], 0)
        .await;
    assert_eq!(ran.stdout, "3\n");
    assert_eq!(ran.stderr, "adding\n");
    let ran = terminal.script_with(&["run", "sum", "-o", "json"], r#"{"n": [3]}"#, 0);
    assert_eq!(ran.await.json()["result"], 3);
    let failed = terminal.script(&["run", "sum", "{}"], 1).await;
    let said = &failed.stderr;
    assert!(said.contains("File \"sum.py\", line 3"), "{said}");
    assert_eq!(failed.stdout, "");
    terminal.script(&["run", "sum", "[1]"], 2).await;
    terminal.script(&["run", "nothing"], 5).await;
}

/// A user's own script has priority over a global one. A name is ambiguous if the user has scripts
/// of two kinds with this name.
#[tokio::test]
async fn svc_script_asks_for_the_kind_of_an_ambiguous_name() {
    let terminal = Terminal::open().await;
    terminal.create_sum().await;
    let admin = terminal.server.admin().await;
    let global = "def main(params):\n    return 'global'\n";
    admin.global_script("tool", "sum", global).await;
    let own = terminal.script(&["run", "sum", r#"{"n": []}"#], 0).await;
    assert_eq!(own.stdout, "0\n");
    let ran = terminal.script(&["run", "global/sum"], 0).await;
    assert_eq!(ran.stdout, "\"global\"\n");
    let shows = "import svc.event as e\nprint(e.type())\n";
    terminal.ann.script("sink", "sum", shows).await;
    let unclear = terminal.script(&["run", "sum"], 2).await;
    assert!(unclear.stderr.contains("--kind"), "{}", unclear.stderr);
    let sink = ["run", "sum", "--kind", "sink", "--event-type", "custom.y"];
    let ran = terminal.script(&sink, 0).await;
    assert!(ran.stderr.contains("custom.y"), "{}", ran.stderr);
    terminal
        .script(&["delete", "sum", "--kind", "tool"], 0)
        .await;
    terminal
        .script(&["delete", "global/sum", "--kind", "tool"], 4)
        .await;
}
