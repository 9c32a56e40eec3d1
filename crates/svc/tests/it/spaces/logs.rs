//! Filters of a space's log.

use serde_json::{Value, json};
use svc_testkit::{TestServer, eventually, fixture, get_eventually};

use crate::SOON;

#[tokio::test]
async fn a_log_can_be_filtered_and_searched() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("noise")).await;
    for _ in 0..2 {
        ann.call("noise", json!({})).await;
    }
    let read = async |query: &str| -> Value {
        let path = format!("{}/logs?{query}", space.path());
        ann.get(&path).await.expect(200).json()
    };
    let lines = |page: &Value| page["logs"].as_array().expect("logs").clone();
    let page = get_eventually("the method server writes its lines", SOON, || async {
        let page = read("search=HELLO").await;
        (lines(&page).len() == 2).then_some(page)
    })
    .await;
    let found = lines(&page);
    let source = found[0]["source"].as_str().expect("a source");
    assert!(
        found.iter().all(|line| line.to_string().contains("hello")),
        "{page}"
    );
    // The cursor passes lines that do not match, so that a reader who follows the log does not read
    // them again.
    let none = read("search=zzz").await;
    assert_eq!(lines(&none), Vec::<Value>::new());
    eventually("the cursor is at the end of the log", SOON, || async {
        let end = read("limit=1").await["next_cursor"].clone();
        read("search=zzz").await["next_cursor"] == end
    })
    .await;
    let of_source = lines(&read(&format!("source={source}")).await);
    assert!(
        of_source.iter().all(|line| line["source"] == source),
        "{of_source:?}"
    );
    assert_eq!(lines(&read("source=script").await), Vec::<Value>::new());
    // A line without a level is shown at every level.
    assert_eq!(lines(&read("level=error&search=hello").await), found);
    // With `limit=1`, the answer has the first match after the cursor, and a cursor at this match.
    let first = read("cursor=0&limit=1&search=hello").await;
    assert_eq!(lines(&first).len(), 1);
    assert_eq!(first["next_cursor"], found[0]["n"].to_string());

    for wrong in [
        "level=loud".to_owned(),
        format!("search={}", "x".repeat(257)),
    ] {
        let path = format!("{}/logs?{wrong}", space.path());
        assert_eq!(ann.get(&path).await.expect(400).code(), "invalid_query");
    }
    let shown = agent
        .cli()
        .run(&["methods", "logs", "--search", "hello", "--source", source])
        .await
        .expect(0);
    assert_eq!(
        shown.stdout.lines().count(),
        found.len(),
        "{}",
        shown.stdout
    );
    agent
        .cli()
        .run(&["methods", "logs", "--level", "loud"])
        .await
        .expect(2);
}
