use std::{net::Ipv4Addr, sync::atomic::Ordering};

use super::{testing::connections, *};

fn address(host: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, host).into()
}

/// Fills a table with connections of these addresses.
async fn fill(connections: &Connections, hosts: &[u8]) -> Vec<Registration> {
    let mut open = Vec::new();
    for &host in hosts {
        let admitted = connections.admit(address(host)).await;
        open.push(admitted.expect("below the limit"));
    }
    open
}

/// The indexes of the connections that were ordered to close.
fn closed(open: &[Registration]) -> Vec<usize> {
    let is_closed = |registration: &Registration| registration.slot().order() == Order::Close;
    (0..open.len()).filter(|&n| is_closed(&open[n])).collect()
}

#[tokio::test]
async fn each_address_has_its_own_limit() {
    let connections = connections(10, 2);
    let open = fill(&connections, &[1, 1, 2]).await;
    let refused = connections.admit(address(1)).await.err();
    let refused = refused.expect("over the limit").to_string();
    assert!(refused.contains("`max_connections`"), "{refused}");
    assert!(refused.contains('2'), "{refused}");
    // A link is not counted.
    open[0].slot().note_link();
    let again = connections
        .admit(address(1))
        .await
        .expect("one became a link");
    assert!(connections.admit(address(1)).await.is_err());
    drop((open, again));
    assert!(connections.0.state.lock().addresses.is_empty());
    assert!(connections.0.state.lock().open.is_empty());
}

#[tokio::test]
async fn this_machine_and_proxies_have_no_limit() {
    let connections = connections(10, 1);
    for exempt in ["127.0.0.1", "::1", "10.1.2.3", "::ffff:10.1.2.3"] {
        let address = exempt.parse().expect("an address");
        let first = connections.admit(address).await;
        assert!(connections.admit(address).await.is_ok(), "{exempt}");
        drop(first);
    }
    // A /64 network counts as one client.
    let first = connections.admit("2001:db8::1".parse().expect("an address"));
    let _first = first.await.expect("the first");
    let second = connections.admit("2001:db8::2".parse().expect("an address"));
    assert!(second.await.is_err());
}

#[tokio::test]
async fn a_full_server_closes_the_most_dispensable_connection() {
    let connections = connections(4, 4);
    let open = fill(&connections, &[1, 2, 3, 4]).await;
    for registration in &open[1..] {
        registration.slot().note_head();
    }
    for registration in &open[2..] {
        registration.slot().note_authenticated();
    }
    open[1].slot().note_idle();
    open[2].slot().idle_since.store(1, Ordering::Relaxed);
    open[3].slot().note_busy();
    let later = 10_000;
    let mut state = connections.0.state.lock();
    assert!(state.close_one(later));
    assert_eq!(closed(&open), [0], "no head");
    assert!(state.close_one(later));
    assert_eq!(closed(&open), [0, 1], "no credential");
    assert!(state.close_one(later));
    assert_eq!(closed(&open), [0, 1, 2], "idle");
    assert!(!state.close_one(later), "a request is in progress");
}

#[tokio::test]
async fn the_address_with_the_most_connections_loses_its_connections_first() {
    let connections = connections(40, 40);
    let open = fill(&connections, &[1, 2, 2, 2, 1]).await;
    let mut state = connections.0.state.lock();
    for expected in [&[1][..], &[1, 2], &[1, 2, 3], &[0, 1, 2, 3]] {
        assert!(state.close_one(5));
        assert_eq!(closed(&open), expected);
    }
}

#[tokio::test]
async fn a_connection_that_sent_a_request_after_the_scan_stays_open() {
    let connections = connections(40, 40);
    let open = fill(&connections, &[1, 1, 1]).await;
    let mut state = connections.0.state.lock();
    assert!(state.close_one(5));
    // The scan of `close_one` chose this connection as the next one.
    open[1].slot().note_head();
    open[1].slot().note_busy();
    assert!(state.close_one(5));
    assert_eq!(closed(&open), [0, 2]);
}

#[tokio::test]
async fn a_connection_has_time_limits_for_its_head_for_idling_and_for_stalling() {
    let connections = connections(4, 4);
    let open = fill(&connections, &[1]).await;
    let slot = open[0].slot();
    let due = |now| slot.order_if_overdue(now, 30, 60);
    let start = slot.accepted_at();
    assert_eq!(due(start + 30), None);
    assert_eq!(due(start + 31), Some(Order::Close));
    slot.note_head();
    let stream = slot.begin_stream();
    assert_eq!(due(start + 1_000), None);
    drop(stream);
    slot.idle_since.store(start + 1_000, Ordering::Relaxed);
    assert_eq!(due(start + 1_030), None);
    assert_eq!(due(start + 1_031), Some(Order::Finish));
    assert_eq!(due(start + 1_061), Some(Order::Close));
    slot.note_busy();
    slot.note_stalled();
    slot.stalled_since.store(start, Ordering::Relaxed);
    assert_eq!(due(start + 61), Some(Order::Close));
    slot.note_link();
    assert_eq!(due(start + 61), None);
}
