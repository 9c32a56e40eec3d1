//! Users do not see controls for actions that they may not take, and administrators manage users,
//! groups, roles and templates in the pages.

use serde_json::json;
use svc_testkit::{fixture, method};

use super::{
    flow::{credentials, run},
    install::Browser,
    site::{Site, server},
};

#[tokio::test]
async fn a_user_without_permissions_sees_neither_buttons_nor_data() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut site = Site::shop(server()).await;
    let nobody = site.server.user_with("nobody", &[], &[]).await;
    site.facts["nobody"] = credentials(&nobody);
    run(&browser, "no-permissions", &site.server, &site.facts).await;
    // None of the attempts had an effect.
    let spaces = site.ann.list("/api/spaces", "spaces").await;
    assert!(spaces.iter().all(|space| space["owner"] != json!("nobody")));
}

#[tokio::test]
async fn users_groups_and_roles_changed_in_the_page_take_effect_at_once() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let facts = json!({"ann": credentials(&ann)});
    run(&browser, "people", &server, &facts).await;
}

#[tokio::test]
async fn templates_groups_and_tables_are_administered_in_the_pages() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    server.groups(&["packers"]).await;
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let ben = server.user_with("ben", &["user"], &["packers"]).await;
    let space = ann.space("warehouse").await;
    let pack = method("pack", "echo")
        .shared()
        .line("groups", r#"["packers"]"#);
    let methods = fixture().with(pack).with(method("weigh", "echo"));
    let _agent = space.publish(methods).await;
    // Ben is a member of the group and has a script sink. Dora never signed in.
    let source = "import svc.event as event\nprint(event.type())\n";
    let script = json!({"name": "log", "kind": "sink", "source": source});
    let script = ben.post("/api/scripts", script).await.expect(201).json();
    ben.sink(json!({
        "name": "log", "type": "script", "patterns": "custom.none",
        "script": {"script_id": script["id"]},
    }))
    .await;
    let dora = json!({"username": "dora", "password": "a password of dora"});
    ann.post("/api/users", dora).await.expect(201);
    let facts = json!({"ann": credentials(&ann), "ben": credentials(&ben)});
    run(&browser, "administration", &server, &facts).await;
}
