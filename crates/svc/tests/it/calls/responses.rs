//! Method servers with invalid JSON-RPC responses: the caller gets an error and does not wait.

use serde_json::json;
use svc_testkit::{RegistrationToml, TestServer, error_code, result};

use crate::SOON;

/// A word in the params selects the response, which is invalid or unusual.
const SCRIPTED: &str = r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}
  case $line in
    *neither*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id}" ;;
    *bare*) echo "{\"id\":$id}" ;;
    *both*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":1,\"error\":{\"code\":1}}" ;;
    *textual*) echo "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":1}" ;;
    *words*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":\"it failed\"}" ;;
    *typo*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"resutl\":1}" ;;
    *float*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id.0,\"result\":1}" ;;
    *old*) echo "{\"id\":$id,\"result\":1,\"error\":null}" ;;
    *noisy*) echo "$line"; echo "{\"id\":$id,\"level\":\"info\"}"
      echo "{\"id\":900719925474099,\"result\":1}"; echo "{\"jsonrpc\":\"2.0\",\"id\":900719925474098}"
      echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":1}" ;;
  esac
done"#;

#[tokio::test]
async fn s7_an_invalid_response_of_a_method_server_is_an_error_at_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = RegistrationToml::shell(SCRIPTED).timeout(3_600).plain("x");
    let _agent = space.publish(registration).await;
    for (how, detail) in [
        ("neither", "neither `result` nor `error`"),
        ("bare", "neither `result` nor `error`"),
        ("typo", "neither `result` nor `error`"),
        ("both", "both `result` and `error`"),
        ("textual", "the `id` as text"),
        ("words", "is not an object"),
    ] {
        let answer = ann.call("x", json!({"how": how})).await;
        assert_eq!(error_code(&answer), -32603, "{how}: {answer}");
        let data = &answer["error"]["data"];
        assert_eq!(data["reason"], "invalid_response", "{how}");
        let said = data["detail"].as_str().unwrap();
        assert!(said.contains(detail), "{how}: {said}");
        space.wait_for_log(detail, SOON).await;
    }
    for how in ["float", "old", "noisy"] {
        let answer = ann.call("x", json!({"how": how})).await;
        assert_eq!(result(&answer), &json!(1), "{how}");
    }
    // A response whose id belongs to no call is only logged.
    space.wait_for_log("900719925474099", SOON).await;
    space.wait_for_log("900719925474098", SOON).await;
}
