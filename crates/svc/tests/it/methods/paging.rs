//! Pages of `GET /api/methods`. Without `limit` and `cursor` the list is complete (spec 4.1).

use serde_json::{Value, json};
use svc_testkit::{SimulatedAgents, TestServer, TestUser, fixture, method, raise_open_files_limit};

/// One page: its document and the names on it.
async fn page(user: &TestUser, query: &str) -> (Value, Vec<String>) {
    let document = user.get(&format!("/api/methods?{query}")).await;
    let document = document.expect(200).json();
    let names = document["methods"].as_array().unwrap().iter();
    let names = names.map(|method| method["name"].as_str().unwrap().to_owned());
    let names = names.collect();
    (document, names)
}

/// The names of all pages, in the order they came.
async fn all_pages(user: &TestUser, query: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let (document, names) = page(user, &format!("{query}{cursor}")).await;
        pages.push(names);
        match document["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn s4_1_pages_list_all_methods_in_order_and_end_with_null() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let own = fixture()
        .with(method("zeta", "echo").description("a note"))
        .with(method("alpha", "echo").description("Another NOTE"))
        .with(method("mid", "echo").keywords(&["notes"]))
        .with(method("other", "echo"));
    let _of_ann = ann.space("lab").await.publish(own).await;
    let shared = fixture()
        .with(method("list", "echo").shared().description("a note"))
        .with(method("own", "echo"));
    let _of_bob = bob.space("lab").await.publish(shared).await;

    let complete = ann.get("/api/methods").await.expect(200).json();
    assert_eq!(complete["count"], 5);
    assert_eq!(complete.get("next_cursor"), None);
    let names = ["alpha", "mid", "other", "user.bob.list", "zeta"];
    assert_eq!(ann.method_names().await, names);

    for limit in 1..=6 {
        let pages = all_pages(&ann, &format!("limit={limit}")).await;
        assert_eq!(pages.concat(), names, "limit {limit}");
        assert!(pages.iter().all(|page| page.len() <= limit), "{pages:?}");
        assert_eq!(pages.len(), names.len().div_ceil(limit), "{pages:?}");
    }
    let (first, _) = page(&ann, "limit=2").await;
    assert_eq!(
        (&first["count"], &first["next_cursor"]),
        (&json!(5), &json!("mid"))
    );
    // A page holds the same records as the complete list.
    assert_eq!(first["methods"][1], complete["methods"][1]);
    let (last, rest) = page(&ann, "cursor=mid").await;
    assert_eq!(rest, ["other", "user.bob.list", "zeta"]);
    assert_eq!(
        (&last["count"], &last["next_cursor"]),
        (&json!(5), &Value::Null)
    );

    let pages = all_pages(&ann, "q=note&limit=2").await;
    assert_eq!(pages, [["alpha", "mid"], ["user.bob.list", "zeta"]]);
    let (found, _) = page(&ann, "q=note&limit=1").await;
    assert_eq!(found["count"], 4);
    let (found, names) = page(&ann, "name=mid&limit=1").await;
    assert_eq!(
        (names.as_slice(), &found["next_cursor"]),
        (&["mid".to_owned()][..], &Value::Null)
    );
    let (found, names) = page(&ann, "name=mid&cursor=other").await;
    assert_eq!((names.len(), &found["count"]), (0, &json!(1)));
    for query in ["limit=0", "limit=1001"] {
        let refused = ann.get(&format!("/api/methods?{query}")).await.expect(400);
        assert_eq!(refused.code(), "invalid_page");
    }

    let listed = server.cli(&ann);
    let listed = listed.run(&["method", "list", "--limit", "2", "-o", "json"]);
    let listed = listed.await.expect(0).json();
    assert_eq!(listed["next_cursor"], "mid");
    let args = ["method", "list", "--limit", "2", "--cursor", "mid"];
    let listed = server.cli(&ann).run(&args).await.expect(0);
    assert!(listed.stdout.contains("other"), "{}", listed.stdout);
    assert!(!listed.stdout.contains("zeta"), "{}", listed.stdout);
}

#[tokio::test]
async fn s4_1_changes_between_pages_neither_repeat_nor_hide_other_methods() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let register = async |names: &[&str]| {
        let methods = names.iter().map(|name| method(name, "echo"));
        let file = methods.fold(fixture(), |file, method| file.with(method));
        agent.register(file).await.expect(0);
    };
    register(&["b", "d", "f", "h"]).await;
    let (first, names) = page(&ann, "limit=2").await;
    assert_eq!(
        (names, &first["next_cursor"]),
        (vec!["b".into(), "d".into()], &json!("d"))
    );
    // The method of the cursor is removed, and others are added before and after it.
    register(&["a", "b", "e", "f", "h"]).await;
    let (second, names) = page(&ann, "limit=2&cursor=d").await;
    assert_eq!(
        (names, &second["next_cursor"]),
        (vec!["e".into(), "f".into()], &json!("f"))
    );
    assert_eq!(second["count"], 5);
    register(&["a", "b", "e", "f"]).await;
    let (third, names) = page(&ann, "limit=2&cursor=f").await;
    assert_eq!((names.len(), &third["next_cursor"]), (0, &Value::Null));
}

/// A page describes only its own methods, so it is far smaller than the list.
#[tokio::test]
async fn s4_1_a_page_of_many_methods_is_small() {
    raise_open_files_limit();
    let server = TestServer::builder().large_quotas().start().await;
    let ann = server.user("ann").await;
    let tokens = ann.create_spaces(20, 10).await;
    let agents = SimulatedAgents::link(server.address(), tokens, 1_000, 10).await;
    assert_eq!(agents.len(), 20);
    let answer = ann.get("/api/methods?limit=10").await.expect(200);
    assert!(answer.text().len() < 20_000, "{}", answer.text().len());
    assert_eq!(answer.json()["count"], 20_000);
    let pages = all_pages(&ann, "limit=1000").await;
    assert_eq!(pages.len(), 20);
    let paged = pages.concat();
    assert_eq!(paged, ann.method_names().await);
}
