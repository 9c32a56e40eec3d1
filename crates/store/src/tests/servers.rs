//! The servers of a zone, and those that announce an address.

use svc_core::{ServerId, Timestamp};
use uuid::Uuid;

use crate::{
    Tx,
    engines::{TestEngine, on_each_engine},
    servers::{self, ServerRow},
    zone_changes::{self, ZoneChange},
};

fn server(number: u128, advertise_url: &str, seen_at: i64, draining: bool) -> ServerRow {
    ServerRow {
        id: ServerId(Uuid::from_u128(number)),
        url: format!("http://s{number}"),
        svc_version: "0".to_owned(),
        started_at: Timestamp::default(),
        seen_at: Timestamp(seen_at),
        links: 3,
        side_links: 5,
        advertise_url: advertise_url.to_owned(),
        draining,
    }
}

async fn live_servers_with_an_address_are_announced(engine: &TestEngine) {
    let store = engine.open().await;
    let writing = store.write(|tx: &mut Tx<'_>| {
        for row in [
            server(1, "http://a", 100, false),
            server(2, "", 100, false),
            server(3, "http://c", 99, false),
            server(4, "http://d", 100, true),
            server(5, "http://e", 101, false),
        ] {
            assert!(servers::beat(tx, &row)?, "recorded");
            assert_eq!(servers::find(tx, row.id)?, Some(row));
        }
        // A later heartbeat replaces the address.
        assert!(servers::beat(tx, &server(5, "http://f", 102, false))?);
        assert_eq!(servers::list_announced(tx, Timestamp(100), 1)?.len(), 1);
        servers::list_announced(tx, Timestamp(100), 10)
    });
    let announced = writing.await.expect("committed");
    let urls: Vec<_> = announced.iter().map(|row| &row.advertise_url).collect();
    assert_eq!(urls, ["http://a", "http://f"]);
}

#[tokio::test]
async fn a_change_of_the_servers_is_read_by_the_others() {
    let Some(engine) = TestEngine::postgres() else {
        return;
    };
    let store = engine.open().await;
    let telling = |tx: &mut Tx<'_>| zone_changes::append(tx, &ZoneChange::Servers);
    store.write(telling).await.expect("committed");
    let read = |tx: &mut Tx<'_>| zone_changes::list_after(tx, 0, 10);
    let (changes, _) = store.read(read).await.expect("read");
    assert_eq!(changes, [ZoneChange::Servers]);
}

on_each_engine!(live_servers_with_an_address_are_announced,);
