//! Registration by a script (spec 2.1, 4.3): what `server.register()` does, and that a script
//! that fails changes nothing.

use serde_json::{Value, json};
use svc_testkit::{Cli, Output, Process, TempDir, error_code, fixture_method_server, result};

use super::lab::Lab;
use crate::SOON;

/// The beginning of a script. It creates a Python object `Server` without methods. The program of
/// this method server is the fixture.
pub fn beginning() -> String {
    let command = Value::from(fixture_method_server().to_str().unwrap());
    format!(
        "from svc.methods import Server\nfrom svc.methods import schema as s\nserver = Server({command})\n"
    )
}

/// The number of the first line after [`beginning`].
const FIRST_LINE: usize = 4;

pub fn publishing(names: &[&str]) -> String {
    let methods: String = names
        .iter()
        .map(|name| format!("server.method(\"{name}\", \"{name}\", \"Does {name}\")\n"))
        .collect();
    format!("{}{methods}server.register()\n", beginning())
}

impl Lab {
    /// Writes a script and runs `svc` with it.
    pub async fn svc(&self, args: &[&str], script: &str) -> Output {
        self.space.write("methods.py", script);
        self.agent
            .cli()
            .run(&[args, &["methods.py"]].concat())
            .await
    }

    pub async fn register(&self, script: &str) -> Output {
        self.svc(&["methods", "register"], script).await
    }

    pub async fn names(&self) -> Vec<String> {
        self.ann.method_names().await
    }
}

#[tokio::test]
async fn s2_1_a_script_can_register_every_field_of_a_file() {
    let lab = Lab::new().await;
    lab.server.groups(&["staff"]).await;
    let script = beginning()
        + r#"
server.method(
    name="{{space}}.echo",
    local_name="echo",
    description="Says it again",
    keywords=["again"],
    scope="shared",
    groups=["staff"],
    mcp_tool=True,
    params=s.object(text=s.string(min_length=1), loud=s.optional(s.boolean(), default=False)),
    result={"type": "string"},
    events=["custom.said"],
)
server.method("whoami", "pid", "Its process", ["id"], "private", None, False, s.object())
print("registering")
print(server.register())
"#;
    let said = lab.register(&script).await.expect(0);
    assert!(said.stdout.contains("lab.echo") && said.stdout.contains("whoami"));
    // Output of the script is not part of the result.
    assert!(said.stderr.contains("registering"), "{}", said.stderr);
    assert!(!said.stdout.contains("registering"), "{}", said.stdout);
    let json = [&["-o", "json", "methods", "register"][..]].concat();
    let document = lab.svc(&json, &script).await.expect(0).json();
    assert_eq!(document["methods"], json!(["lab.echo", "whoami"]));

    let echo = lab.ann.find_method("lab.echo").await.unwrap();
    let params = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1},
            "loud": {"type": "boolean", "default": false},
        },
        "required": ["text"],
        "additionalProperties": false,
    });
    assert_eq!(echo["params_schema"], params);
    for (key, expected) in [
        ("description", json!("Says it again")),
        ("keywords", json!(["again"])),
        ("scope", json!("shared")),
        ("mcp_tool_name", json!("lab_echo")),
        ("result_schema", json!({"type": "string"})),
        ("events", json!(["custom.said"])),
    ] {
        assert_eq!(echo[key], expected, "{key} of {echo}");
    }
    let pid = lab.agent.method_server_pid().await;
    assert_eq!(result(&lab.ann.call("whoami", json!({})).await), pid);
    let answer = lab.ann.call("lab.echo", json!({"text": "a"})).await;
    assert_eq!(result(&answer), &json!({"text": "a"}));
}

#[tokio::test]
async fn s2_1_register_replaces_and_unregister_removes() {
    let lab = Lab::new().await;
    lab.register(&publishing(&["echo", "pid"])).await.expect(0);
    let first = lab.agent.method_server_pid().await;
    assert_eq!(lab.names().await, ["echo", "pid"]);
    lab.register(&publishing(&["args", "echo", "sleep"]))
        .await
        .expect(0);
    assert_eq!(lab.names().await, ["args", "echo", "sleep"]);
    Process::wait_until_gone(first, SOON).await;
    assert_eq!(error_code(&lab.ann.call("pid", json!({})).await), -32601);

    // One method is removed; the others keep serving.
    let server = lab.agent.method_server_pid().await;
    let run = async |text: &str| {
        let script = format!("{}print({text})\n", beginning());
        lab.svc(&["run-script"], &script).await
    };
    let said = run("server.unregister('args')").await.expect(0);
    assert!(said.stdout.contains("args"), "{}", said.stdout);
    assert_eq!(lab.names().await, ["echo", "sleep"]);
    result(&lab.ann.call("echo", json!({})).await);
    let unknown = run("server.unregister('args')").await.expect(1);
    assert!(unknown.stderr.contains("`args`"), "{}", unknown.stderr);
    assert_eq!(lab.names().await, ["echo", "sleep"]);
    assert_eq!(lab.agent.method_server_pid().await, server);

    // Removing the last method, or all, stops the method server.
    run("[server.unregister(n) for n in ['echo', 'sleep']]")
        .await
        .expect(0);
    assert!(lab.names().await.is_empty());
    Process::wait_until_gone(server, SOON).await;
    lab.register(&publishing(&["echo", "pid"])).await.expect(0);
    let server = lab.agent.method_server_pid().await;
    run("server.unregister()").await.expect(0);
    assert!(lab.names().await.is_empty());
    Process::wait_until_gone(server, SOON).await;

    // A script may unregister a method after it has registered: the last call takes effect.
    let again = format!("{}server.unregister('pid')\n", publishing(&["echo", "pid"]));
    lab.svc(&["run-script"], &again).await.expect(0);
    assert_eq!(lab.names().await, ["echo"]);
}

/// A script that fails, its error, and whether `validate` finds the error without an agent.
struct Refused {
    script: String,
    said: &'static [&'static str],
    offline: bool,
}

fn refused(rest: &str, said: &'static [&'static str]) -> Refused {
    Refused {
        script: beginning() + rest,
        said,
        offline: true,
    }
}

fn refusals() -> Vec<Refused> {
    assert_eq!(beginning().lines().count() + 1, FIRST_LINE);
    vec![
        refused("", &["did not register anything", "server.register()"]),
        refused("x = = 1\n", &["methods.py\", line 4", "SyntaxError"]),
        refused(
            "class Mine(dict):\n    pass\n",
            &[
                "methods.py\", line 4",
                "class inheritance",
                "hint: ",
                "python3",
            ],
        ),
        refused(
            "def f():\n    yield 1\n",
            &["methods.py\", line 5", "yield", "hint: ", "python3"],
        ),
        refused("1 / 0\n", &["methods.py\", line 4", "ZeroDivisionError"]),
        refused("import sys\nsys.exit(3)\n", &["methods.py", "exit code 3"]),
        refused("import nowhere\n", &["methods.py\", line 4", "nowhere"]),
        refused(
            "server.method('x', 'x', 'd', params=s.object(a=s.string(min_len=1)))\nserver.register()\n",
            &["methods.py\", line 4", "TypeError", "'min_len'"],
        ),
        refused(
            "server.method('x', 'x', 'd', colour='red')\nserver.register()\n",
            &["methods.py\", line 4", "TypeError", "'colour'"],
        ),
        refused(
            "Server('cat', speed=1)\n",
            &["methods.py\", line 4", "TypeError", "'speed'"],
        ),
        refused("server.register()\n", &["methods.py", "method"]),
        refused(
            "server.method('a b', 'x', 'd')\nserver.register()\n",
            &["methods.py", "methods[0].name", "`a b`"],
        ),
        refused(
            "server.method('x', 'x', 'd', params={'type': 'text'})\nserver.register()\n",
            &["methods.py", "methods[0].params_schema", "`text`"],
        ),
        Refused {
            offline: false,
            ..refused(
                "server.method('x', 'x', 'd', scope='shared', groups=['ghosts'])\nserver.register()\n",
                &["`ghosts`", "does not exist", "svc group create"],
            )
        },
        Refused {
            offline: false,
            ..refused(
                "server = Server('no-such-program')\nserver.method('x', 'x', 'd')\nserver.register()\n",
                &["no-such-program"],
            )
        },
    ]
}

#[tokio::test]
async fn s2_1_s7_a_script_that_fails_is_refused_and_the_old_registration_stays() {
    let lab = Lab::new().await;
    lab.register(&publishing(&["pid"])).await.expect(0);
    let pid = lab.agent.method_server_pid().await;
    for Refused {
        script,
        said,
        offline,
    } in refusals()
    {
        let mut refusals = vec![lab.register(&script).await];
        if offline {
            refusals.push(lab.svc(&["methods", "validate"], &script).await);
        }
        for refused in refusals {
            assert_eq!(refused.code, 6, "to {script}\n{}", refused.stderr);
            assert_eq!(refused.stdout, "", "to {script}");
            for said in said {
                let there = refused.stderr.contains(said);
                assert!(there, "`{said}` to {script}\n{}", refused.stderr);
            }
        }
        assert_eq!(lab.names().await, ["pid"], "after {script}");
        let answer = lab.ann.call("pid", json!({})).await;
        assert_eq!(result(&answer), pid, "after {script}");
    }
}

#[tokio::test]
async fn s4_3_an_endless_script_ends_with_ctrl_c() {
    let lab = Lab::new().await;
    lab.register(&publishing(&["pid"])).await.expect(0);
    let pid = lab.agent.method_server_pid().await;
    let endless = "import sys\nprint('it begins', file=sys.stderr)\nwhile True:\n    pass\n";
    lab.space.write("endless.py", endless);
    for args in [
        &["methods", "register", "endless.py"][..],
        &["methods", "validate", "endless.py"],
        &["run-script", "endless.py"],
    ] {
        let mut running = lab.agent.cli().spawn(args);
        running.wait_for_log("it begins", SOON).await;
        running.interrupt();
        let status = running.wait_for_exit(SOON).await;
        assert!(!status.success(), "{args:?}: {status}");
        assert_eq!(result(&lab.ann.call("pid", json!({})).await), pid);
    }
}

#[tokio::test]
async fn s4_3_validate_runs_a_script_without_an_agent() {
    let home = TempDir::new().unwrap();
    let write = |text: &str| std::fs::write(home.path().join("methods.py"), text).unwrap();
    write(&publishing(&["echo", "{{space}}.pid"]));
    let validate = ["methods", "validate", "methods.py", "--space", "lab"];
    let said = Cli::new(home.path()).run(&validate).await.expect(0);
    assert!(said.stdout.contains("lab.pid"), "{}", said.stdout);
    assert!(said.stderr.contains("`methods.py` is valid"));
    let json = [&validate[..], &["-o", "json"]].concat();
    let document = Cli::new(home.path()).run(&json).await.expect(0).json();
    assert_eq!(document["server"]["timeout"], 30);
    assert_eq!(document["methods"][0]["name"], "echo");

    // Registering and unregistering need a space.
    let register = ["methods", "register", "methods.py"];
    Cli::new(home.path()).run(&register).await.expect(7);
    for rest in ["", "server.unregister()\n", "server.unregister('echo')\n"] {
        let script = match rest {
            "" => publishing(&["echo"]),
            rest => beginning() + rest,
        };
        write(&script);
        let run = ["run-script", "methods.py"];
        let raised = Cli::new(home.path()).run(&run).await.expect(1);
        let said = "RuntimeError: svc.methods works inside a space only";
        assert!(raised.stderr.contains(said), "{}", raised.stderr);
    }
}
