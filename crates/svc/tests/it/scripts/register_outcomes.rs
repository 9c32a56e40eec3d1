//! Reports about registration scripts that do more than register: they unregister methods, fail
//! afterwards, or catch a refusal.

use serde_json::json;
use svc_testkit::{Cli, TempDir, TestServer, result};

use super::{
    lab::Lab,
    register::{beginning, publishing},
};
use crate::SOON;

#[tokio::test]
async fn s2_1_methods_that_a_script_unregisters_are_not_reported_as_registered() {
    let lab = Lab::new().await;
    let some = format!(
        "{}print(server.unregister('pid'))\n",
        publishing(&["echo", "pid", "sleep"])
    );
    let all = publishing(&["echo"]) + "server.unregister()\n";
    let again = publishing(&["echo", "pid"])
        + "server.unregister('echo')\nserver.unregister('pid')\nserver.method('args', 'args', 'd')\nserver.register()\n";
    for (script, names) in [
        (&some, &["echo", "sleep"][..]),
        (&all, &[]),
        (&again, &["args"]),
    ] {
        let json = ["-o", "json", "methods"];
        let registered = lab.svc(&[&json[..], &["register"]].concat(), script).await;
        let registered = registered.expect(0).json();
        assert_eq!(registered["methods"], json!(names), "of {script}");
        assert_eq!(lab.names().await, names, "of {script}");
        let valid = lab.svc(&[&json[..], &["validate"]].concat(), script).await;
        let valid = valid.expect(0).json();
        let valid = valid["methods"].as_array().unwrap();
        let valid: Vec<_> = valid.iter().map(|method| &method["name"]).collect();
        assert_eq!(valid, names, "of {script}");
    }
    for command in ["register", "validate"] {
        let said = lab.svc(&["methods", command], &all).await.expect(0);
        let nothing = "nothing is registered: the script unregistered all its methods\n";
        assert!(said.stderr.contains(nothing), "{command}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{command}");
    }
    // With both commands, an unknown name is an error of the script. The other methods stay.
    let unknown = publishing(&["echo"]) + "server.unregister('other')\n";
    for (command, code) in [("register", 1), ("validate", 6)] {
        let refused = lab.svc(&["methods", command], &unknown).await.expect(code);
        let said = "no method with the local name `other` is registered";
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    assert_eq!(lab.names().await, ["echo"]);
}

#[tokio::test]
async fn s2_1_a_script_that_fails_after_its_registration_reports_that_the_registration_stays() {
    let lab = Lab::new().await;
    for (rest, said) in [
        ("1 / 0\n", "ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", "exit code 3"),
        (
            "server.method('a b', 'x', 'd')\nserver.register()\n",
            "methods[2].name",
        ),
    ] {
        lab.register(&publishing(&["args"])).await.expect(0);
        let script = publishing(&["echo", "pid"]) + rest;
        let failed = lab.register(&script).await.expect(1);
        let stands = "the script failed, but its methods are registered: echo, pid";
        for said in [said, stands] {
            assert!(failed.stderr.contains(said), "{said}: {}", failed.stderr);
        }
        assert_eq!(failed.stdout, "");
        assert_eq!(lab.names().await, ["echo", "pid"], "after {rest}");
    }
    // No method is left, so no registered methods are reported.
    let script = publishing(&["echo"]) + "server.unregister()\n1 / 0\n";
    let failed = lab.register(&script).await.expect(6);
    assert!(
        !failed.stderr.contains("methods are registered"),
        "{}",
        failed.stderr
    );
    // `SystemExit(0)` is a success.
    let script = publishing(&["echo"]) + "import sys\nsys.exit(0)\n";
    for command in ["register", "validate"] {
        lab.svc(&["methods", command], &script).await.expect(0);
    }
}

#[tokio::test]
async fn s2_1_the_reported_failure_is_the_uncaught_one() {
    let lab = Lab::new().await;
    let caught = "server.method('a b', 'x', 'd')\ntry:\n    server.register()\nexcept RuntimeError:\n    print('caught')\n";
    let asked =
        "from svc import api\ntry:\n    api.get_space('nowhere')\nexcept RuntimeError:\n    pass\n";
    for (rest, said, unsaid) in [
        (format!("{caught}1 / 0\n"), "ZeroDivisionError", "a b`"),
        (format!("{asked}1 / 0\n"), "ZeroDivisionError", "nowhere"),
        (
            asked.to_owned(),
            "did not register anything",
            "registration is refused",
        ),
        (caught.to_owned(), "registration is refused", "Traceback"),
    ] {
        let failed = lab.register(&(beginning() + &rest)).await.expect(6);
        assert!(failed.stderr.contains(said), "{rest}\n{}", failed.stderr);
        let told = failed.stderr.contains(unsaid);
        assert!(!told, "{unsaid} of {rest}\n{}", failed.stderr);
    }
}

#[tokio::test]
async fn s4_3_the_error_for_a_missing_file_says_which_kinds_of_files_are_accepted() {
    let home = TempDir::new().unwrap();
    for command in ["register", "validate"] {
        let run = ["methods", command, "nosuch.py"];
        let refused = Cli::new(home.path()).run(&run).await.expect(6);
        let hint = "hint: name a TOML file, or a script (.py)";
        assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn s4_3_the_log_reports_the_outcome_of_a_methods_script() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for (name, rest, said) in [
        (
            "well",
            "print('own words')\n",
            "own.py` is registered; methods: 1",
        ),
        (
            "late",
            "print('own words')\n1 / 0\n",
            "own.py` failed after its methods were registered; they stay registered",
        ),
        (
            "none",
            "print('own words')\nserver.unregister()\n",
            "own.py` was run, and left no methods registered",
        ),
    ] {
        let space = ann.space(name).await;
        let script =
            publishing(&["echo"]).replace("\"echo\", \"echo\"", "\"{{space}}.echo\", \"echo\"");
        space.write("own.py", &(script + rest));
        let mut agent = space.agent_with(&["--methods-file", "own.py"]).await;
        space.wait_for_log(said, SOON).await;
        let log = ann.get(&format!("{}/logs", space.path())).await.expect(200);
        let log = log.text();
        assert!(log.contains("own words"), "{log}");
        for unsaid in ["METHOD", "was not registered"] {
            assert!(!log.contains(unsaid), "{log}");
        }
        if name != "none" {
            result(&ann.call(&format!("{name}.echo"), json!({})).await);
        }
        agent.stop().await;
    }
}

#[tokio::test]
async fn s2_1_a_number_in_a_schema_that_would_be_rounded_is_refused() {
    let lab = Lab::new().await;
    let with_maximum = |maximum: &str| {
        let schema =
            format!("{{'type': 'object', 'properties': {{'n': {{'maximum': {maximum}}}}}}}");
        let method = format!("server.method('big', 'echo', 'd', params={schema})\n");
        beginning() + &method + "server.register()\n"
    };
    let exact = with_maximum("2 ** 64 - 1");
    let json = ["-o", "json", "methods", "validate"];
    let valid = lab.svc(&json, &exact).await.expect(0).json();
    let schema = &valid["methods"][0]["params_schema"];
    assert_eq!(schema["properties"]["n"]["maximum"], json!(u64::MAX));
    for command in ["register", "validate"] {
        let refused = lab
            .svc(&["methods", command], &with_maximum("2 ** 64"))
            .await;
        assert_ne!(refused.code, 0);
        let said = "the number 18446744073709551616 has more than 64 bits";
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
}
