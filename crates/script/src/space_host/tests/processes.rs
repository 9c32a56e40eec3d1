//! Processes that a script starts: their streams, their environment, their limits.

use super::*;

#[test]
fn processes_run_within_their_limits() {
    let folder = folder(&[]);
    let mut host = alone(folder.path());
    let mut run = |order: Value| host.call("process", &order.to_string());
    let answer = run(json!({
        "args": ["sh", "-c", "cat; echo err >&2; echo $A; pwd; exit 3"],
        "cwd": folder.path(), "env": {"A": "b", "PATH": "/usr/bin:/bin"}, "input": "in\n",
        "stdout": "pipe", "stderr": "pipe",
    }));
    let answer: Value = serde_json::from_str(&answer.expect("ran")).expect("JSON");
    let real = folder.path().canonicalize().expect("real");
    assert_eq!(
        answer,
        json!({"returncode": 3, "stdout": format!("in\nb\n{}\n", real.display()), "stderr": "err\n"})
    );
    let raised = run(json!({"args": ["no-such-program"], "stdout": "pipe"})).expect_err("absent");
    assert_eq!(
        raised.message,
        "[Errno 2] No such file or directory: 'no-such-program'"
    );
    let start = std::time::Instant::now();
    let raised = run(json!({"args": ["sleep", "60"], "timeout": 0.1})).expect_err("too long");
    assert_eq!(raised.exception, Exception::TimeoutError);
    assert!(start.elapsed() < std::time::Duration::from_secs(20));
    let raised = run(json!({"args": ["sh", "-c", "kill -9 $$"], "stdout": "pipe"}));
    assert!(raised.expect("ran").contains(r#""returncode":-9"#));
    let raised = run(json!({"args": ["yes"], "stdout": "pipe"})).expect_err("endless");
    assert!(raised.message.contains("larger than"), "{}", raised.message);
    assert_eq!(
        run(json!({"args": []})).expect_err("empty").exception,
        Exception::ValueError
    );
}

#[test]
fn each_stream_of_a_process_is_redirected_by_itself() {
    let folder = folder(&[]);
    let mut host = alone(folder.path()).in_worker();
    for (stdout, stderr, said, printed) in [
        ("pipe", "pipe", json!(["a\nb\n", "e\n"]), ""),
        ("pipe", "stdout", json!(["a\ne\nb\n", null]), ""),
        ("pipe", "null", json!(["a\nb\n", null]), ""),
        ("null", "pipe", json!([null, "e\n"]), ""),
        ("null", "stdout", json!([null, null]), ""),
        ("pipe", "inherit", json!(["a\nb\n", null]), "e\n"),
        ("inherit", "pipe", json!([null, "e\n"]), "a\nb\n"),
        ("inherit", "stdout", json!([null, null]), "a\ne\nb\n"),
        ("inherit", "inherit", json!([null, null]), "a\nb\ne\n"),
    ] {
        let order = json!({
            "args": ["sh", "-c", "echo a; echo e >&2; echo b"], "stdout": stdout, "stderr": stderr,
        });
        let answer = host.call("process", &order.to_string()).expect("ran");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let streams = json!([answer["stdout"], answer["stderr"]]);
        assert_eq!(streams, said, "{stdout} {stderr}");
        let all: Vec<String> = host
            .take_printed()
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(all.concat(), printed, "{stdout} {stderr}");
    }
}

#[test]
fn changes_of_the_environment_reach_a_process() {
    let folder = folder(&[]);
    let mut host = alone(folder.path());
    let order = json!({
        "args": ["sh", "-c", "echo $SVC_A; echo ${HOME-none}; test -n \"$PATH\""],
        "env_changes": {"SVC_A": "b", "HOME": null}, "stdout": "pipe",
    });
    let answer = host.call("process", &order.to_string()).expect("ran");
    assert_eq!(
        answer,
        r#"{"returncode":0,"stdout":"b\nnone\n","stderr":null}"#
    );
}
