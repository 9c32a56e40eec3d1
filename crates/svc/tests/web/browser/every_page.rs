//! Checks of the pages. The flows that visit every page fail if `web/tests/browser/pages.js` does
//! not list a route of the interface.

use serde_json::json;
use svc_testkit::TestServerBuilder;

use super::{
    flow::run,
    install::Browser,
    site::{MARKUP, Site, embedded, server},
};

async fn look_at_shop(flow: &'static str, server: TestServerBuilder) {
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::shop(server).await;
    run(&browser, flow, &site.server, &site.facts).await;
}

#[tokio::test]
async fn no_page_has_a_finding_of_axe_or_an_error_in_its_console() {
    look_at_shop("axe", server()).await;
}

#[tokio::test]
async fn no_page_has_a_finding_of_axe_on_a_phone() {
    look_at_shop("axe-phone", server()).await;
}

#[tokio::test]
async fn no_page_scrolls_sideways_on_a_phone() {
    look_at_shop("narrow", server()).await;
}

#[tokio::test]
async fn every_page_works_with_the_files_of_the_binary() {
    look_at_shop("every-page", embedded()).await;
}

#[tokio::test]
async fn every_control_is_reached_by_keyboard() {
    look_at_shop("keyboard", server()).await;
}

#[tokio::test]
async fn markup_from_outside_is_text_on_every_page() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut site = Site::hostile().await;
    site.facts["markup"] = json!(MARKUP);
    run(&browser, "hostile", &site.server, &site.facts).await;
}

/// Not a test: with `SVC_SCREENSHOTS=<folder>`, stores a picture of every page in that folder.
#[tokio::test]
async fn screenshots_of_every_page() {
    let Ok(folder) = std::env::var("SVC_SCREENSHOTS") else {
        eprintln!("SKIPPED: SVC_SCREENSHOTS names no folder for screenshots");
        return;
    };
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut site = Site::shop(server()).await;
    site.facts["folder"] = json!(folder);
    run(&browser, "screenshots", &site.server, &site.facts).await;
}

/// Not a test: with `SVC_PICTURES=<folder>`, stores the pictures of the README in that folder.
#[tokio::test]
async fn pictures_of_the_readme() {
    let Ok(folder) = std::env::var("SVC_PICTURES") else {
        eprintln!("SKIPPED: SVC_PICTURES names no folder for the pictures");
        return;
    };
    let Some(browser) = Browser::find() else {
        return;
    };
    let mut site = Site::shop(server()).await;
    for (event_type, payload) in [
        (
            "deploy.done",
            json!({"commit": "49e067c", "environment": "production"}),
        ),
        (
            "build.failed",
            json!({"commit": "6f2ac2d", "step": "test", "exit_code": 101}),
        ),
        (
            "order.placed",
            json!({"order": "A-4", "customer": "ada@example.org", "total": 48.5}),
        ),
        ("stock.low", json!({"sku": "BK-1024", "left": 3})),
    ] {
        site.ann.emit(event_type, payload).await;
    }
    site.facts["folder"] = json!(folder);
    run(&browser, "pictures", &site.server, &site.facts).await;
}
