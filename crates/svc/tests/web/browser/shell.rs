//! The frame of every page: the session, the event stream of all tabs, the first load, the keys.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{TestUser, eventually, fixture};

use super::{
    SOON,
    flow::{Flow, credentials, run},
    install::Browser,
    site::{Site, embedded, server},
};

#[tokio::test]
async fn after_the_session_ends_a_login_dialog_lets_the_page_continue() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let ben = server.user("ben").await;
    let facts = json!({"ann": credentials(&ann), "ben": credentials(&ben)});
    run(&browser, "session", &server, &facts).await;
}

/// The user's quota is one stream, so the server would reject a second stream of any tab.
#[tokio::test]
async fn eight_tabs_share_one_event_stream_and_release_it_when_hidden() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let root = server.user_with("root", &["admin"], &[]).await;
    let path = format!("/api/users/{}", ann.id);
    let quotas = json!({"quotas": {"streams": 1}});
    root.patch(&path, quotas).await.expect(200);
    let facts = json!({"ann": credentials(&ann)});
    let mut flow = Flow::start(&browser, "tabs", &server, &facts);
    let event = flow.until("emit").await;
    ann.emit(event.as_str().unwrap(), json!({})).await;
    flow.go_on().await;
    flow.until("expect that the only stream is in use").await;
    ann.get("/api/events/stream").await.expect(429);
    flow.go_on().await;
    flow.until("open and close a stream").await;
    open_stream(&ann).await;
    flow.go_on().await;
    let event = flow.until("emit").await;
    ann.emit(event.as_str().unwrap(), json!({})).await;
    flow.go_on().await;
    flow.until("expect that the only stream is in use").await;
    ann.get("/api/events/stream").await.expect(429);
    flow.go_on().await;
    flow.until("open and close a stream").await;
    open_stream(&ann).await;
    flow.go_on().await;
    flow.end().await;
}

/// Waits until the user can open a stream, and closes that stream.
async fn open_stream(user: &TestUser) {
    eventually("the stream is released", SOON, || async {
        // A rejection is answered at once, but the machine may be busy. The answer of an open
        // stream never ends, so a timeout means that the stream was opened.
        let asking = user.get("/api/events/stream");
        let answer = tokio::time::timeout(Duration::from_secs(3), asking).await;
        answer.is_err()
    })
    .await;
}

#[tokio::test]
async fn the_frame_of_a_page_helps_with_slow_servers_keys_and_failures() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::shop(server()).await;
    run(&browser, "shell", &site.server, &site.facts).await;
}

#[tokio::test]
async fn the_first_visit_makes_few_requests_and_the_second_requests_no_file() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::shop(embedded()).await;
    run(&browser, "second-visit", &site.server, &site.facts).await;
}

#[tokio::test]
async fn the_checklist_ticks_only_what_the_user_did() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut site = Site::shop(server()).await;
    let eve = site.server.user("eve").await;
    let root = site.server.user_with("root", &["admin"], &[]).await;
    site.facts["eve"] = credentials(&eve);
    site.facts["root"] = credentials(&root);
    let mut flow = Flow::start(&browser, "checklist", &site.server, &site.facts);
    flow.until("call a method").await;
    let called = eve.call("user.ben.greet", json!({})).await;
    assert_ne!(called, Value::Null);
    flow.go_on().await;
    flow.end().await;
}

#[tokio::test]
async fn lists_have_small_charts_and_a_sink_has_statistics() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::shop(server()).await;
    run(&browser, "statistics", &site.server, &site.facts).await;
}

#[tokio::test]
async fn the_overview_shows_calls_of_the_last_month_and_of_all_users() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut server = server().start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let root = server.user_with("root", &["admin"], &[]).await;
    let space = ann.space("shop").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    for _ in 0..3 {
        ann.call("echo", json!({})).await;
    }
    ann.call("nowhere", json!({})).await;
    ben.call("nowhere", json!({})).await;
    agent.stop().await;
    // The calls were recorded by an earlier process of the server.
    server.restart().await;
    let facts = json!({"ann": credentials(&ann), "root": credentials(&root)});
    run(&browser, "overview", &server, &facts).await;
}
