//! Scripts, written and run in the page.

use serde_json::json;

use super::{
    flow::{credentials, run},
    install::Browser,
    site::server,
};

#[tokio::test]
async fn a_script_is_written_corrected_and_run() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let source = "import svc.event as event\nprint('order', event.data()['order'])\n";
    let sink = ann.script("sink", "log", source).await;
    ann.emit("order.shipped", json!({"order": "A-17"})).await;
    let keeper = json!({
        "name": "keeper", "type": "script", "patterns": "custom.order.*",
        "script": {"script_id": sink.id},
    });
    ann.post("/api/event-sinks", keeper).await.expect(201);
    let admin = server.admin().await;
    let startup = admin.global_script("startup", "prepare", "x = 1\n").await;
    let small = json!({"name": "small", "startup_script_id": startup.id});
    admin.post("/api/templates", small).await.expect(201);
    let words = ann.script("library", "words", "y = 2\n").await;
    let speak = "from words import y\n\ndef main(params):\n    return y\n";
    ann.script("tool", "speak", speak).await;
    let facts = json!({
        "ann": credentials(&ann), "sink": sink.id, "startup": startup.id, "library": words.id,
    });
    run(&browser, "script", &server, &facts).await;
    let scripts = ann.list("/api/scripts", "scripts").await;
    let double = scripts.iter().find(|script| script["name"] == "double");
    let source = double.unwrap()["source"].as_str().unwrap();
    assert!(source.contains("* 2"));
}
