//! A script as the methods file, which an agent registers when it starts (spec 4.3).

use serde_json::json;
use svc_testkit::{Process, TestServer, descendants_of, get_eventually, result};

use super::register::{beginning, publishing};
use crate::{SOON, methods::registration::registers_by_flag_variable_and_setting};

#[tokio::test]
async fn s4_3_a_methods_file_may_be_a_script() {
    let script =
        publishing(&["echo"]).replace("\"echo\", \"echo\"", "\"{{space}}.echo\", \"echo\"");
    registers_by_flag_variable_and_setting("own.py", &script).await;
}

#[tokio::test]
async fn s4_3_s7_a_methods_script_that_fails_is_logged_and_the_agent_keeps_serving() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    for (rest, said) in [
        ("x = = 1\n", "line 4"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("print('quiet')\n", "did not register anything"),
        (
            "server.method('a b', 'x', 'd')\nserver.register()\n",
            "`a b`",
        ),
    ] {
        space.write("own.py", &(beginning() + rest));
        let mut agent = space.agent_with(&["--methods-file", "own.py"]).await;
        space.wait_for_log(said, SOON).await;
        let log = space.wait_for_log("was not registered", SOON).await;
        assert!(log.contains("own.py"), "{log}");
        // The agent's own log and the space's record show the reason too.
        agent.process().wait_for_log(said, SOON).await;
        let refused = space.wait_for_registration("refused", SOON).await;
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains("own.py") && error.contains(said), "{error}");
        space.write("own.py", &publishing(&["echo"]));
        let register = ["methods", "register", "own.py"];
        agent.cli().run(&register).await.expect(0);
        assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
        agent.cli().run(&["methods", "unregister"]).await.expect(0);
        let none = json!({"state": "none"});
        assert_eq!(space.record().await["registration"], none, "{rest}");
        assert_eq!(agent.stop().await.code(), Some(0));
    }
}

#[tokio::test]
async fn s4_3_an_endless_methods_script_ends_with_its_agent() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    space.write("own.py", "print('it begins')\nwhile True:\n    pass\n");
    let mut agent = space.agent_with(&["--methods-file", "own.py"]).await;
    space.wait_for_log("it begins", SOON).await;
    // The script does not block the agent.
    space.write("other.py", &publishing(&["echo"]));
    let register = ["methods", "register", "other.py"];
    agent.cli().run(&register).await.expect(0);
    result(&ann.call("echo", json!({})).await);
    let id = agent.process().id();
    let below = get_eventually("the script and the method server run", SOON, || async {
        let below = descendants_of(id);
        (below.len() >= 2).then_some(below)
    })
    .await;
    assert_eq!(agent.stop().await.code(), Some(0));
    for process in below {
        Process::wait_until_gone(process, SOON).await;
    }
}
