//! Spaces: the state of an agent is shown without a reload.

use serde_json::json;

use super::{
    flow::{Flow, credentials},
    install::Browser,
    site::{orders, server},
};

#[tokio::test]
async fn the_page_shows_that_an_agent_disconnected() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("warehouse").await;
    let mut agent = space.publish(orders("ready")).await;
    let facts = json!({"ann": credentials(&ann), "space": {"id": space.id, "name": space.name}});
    let mut flow = Flow::start(&browser, "live-spaces", &server, &facts);

    flow.until("kill the agent").await;
    agent.kill9();
    flow.go_on().await;
    flow.until("start it again").await;
    let mut agent = space.agent().await;
    flow.go_on().await;
    flow.until("stop the agent").await;
    agent.stop().await;
    flow.go_on().await;
    flow.end().await;
}
