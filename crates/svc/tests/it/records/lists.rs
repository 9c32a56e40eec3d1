//! Lists: pages, and cursors, which belong to their list.

use serde_json::Value;
use svc_testkit::TestUser;

use super::{
    kinds::Kind,
    world::{World, id_of},
};

/// Records that each list has at least.
const NAMES: [&str; 3] = ["one", "two", "three"];

async fn page(user: &TestUser, kind: &Kind, query: &str) -> Value {
    let path = format!("{}?{query}", kind.path);
    user.get(&path).await.expect(200).json()
}

fn ids_of(page: &Value, list: &str) -> Vec<String> {
    let records = page[list].as_array().unwrap().iter();
    records.map(|record| id_of(record).to_owned()).collect()
}

#[tokio::test]
async fn the_pages_of_a_list_have_each_record_once_and_in_one_order() {
    let world = World::new().await;
    for (kind, list) in Kind::listed() {
        for name in NAMES {
            world.create(kind, name).await;
        }
        let manager = world.manager(kind);
        let whole = page(manager, kind, "limit=1000").await;
        assert_eq!(whole["next_cursor"], Value::Null, "{}", kind.path);
        let whole = ids_of(&whole, list);
        assert!(whole.len() >= NAMES.len(), "{} {whole:?}", kind.path);
        for limit in [1, 2, whole.len()] {
            let (mut seen, mut cursor) = (Vec::new(), String::new());
            loop {
                let query = format!("limit={limit}{cursor}");
                let page = page(manager, kind, &query).await;
                let records = ids_of(&page, list);
                let expected = limit.min(whole.len() - seen.len());
                assert_eq!(records.len(), expected, "{}?{query}", kind.path);
                seen.extend(records);
                let Some(next) = page["next_cursor"].as_str() else {
                    break;
                };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(seen, whole, "{} limit {limit}", kind.path);
        }
    }
}

#[tokio::test]
async fn a_list_refuses_the_cursor_of_another_list_and_limits_out_of_range() {
    let world = World::new().await;
    let mut cursors = Vec::new();
    for (kind, _) in Kind::listed() {
        world.create(kind, "one").await;
        world.create(kind, "two").await;
        let page = page(world.manager(kind), kind, "limit=1").await;
        let cursor = page["next_cursor"].as_str();
        let cursor = cursor.unwrap_or_else(|| panic!("{}: {page}", kind.path));
        cursors.push((kind.path, cursor.to_owned()));
    }
    for (kind, list) in Kind::listed() {
        let manager = world.manager(kind);
        let others = cursors.iter().filter(|(path, _)| *path != kind.path);
        let wrong = others.map(|(_, cursor)| format!("cursor={cursor}"));
        let invalid = ["cursor=", "cursor=x", "limit=0", "limit=1001"];
        for query in wrong.chain(invalid.map(str::to_owned)) {
            let path = format!("{}?{query}", kind.path);
            let refused = manager.get(&path).await.expect(400);
            assert_eq!(refused.code(), "invalid_page", "{path}");
        }
        // An id alone is no cursor.
        let records = world.list(manager, kind).await;
        let path = format!("{}?cursor={}", kind.path, id_of(&records[0]));
        let refused = manager.get(&path).await.expect(400);
        assert_eq!(refused.code(), "invalid_page", "{list}");
    }
}
