//! Both ways of asking the kernel, with real connections.

use std::io::Write;

use svc_private::own_uid;
use tokio::net::TcpListener;

use super::*;

const WAYS: [PeerLookup; 2] = [PeerLookup::SockDiag, PeerLookup::Table];

async fn listener(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(address).await.expect("binds");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

#[tokio::test]
async fn the_user_of_a_connection_is_found() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (listener, address) = listener(address).await;
        let mut client = std::net::TcpStream::connect(address).expect("connects");
        let (stream, _) = listener.accept().await.expect("accepts");
        for way in WAYS {
            let found = way.user_of(&stream).await;
            assert_eq!(found, Some(own_uid()), "{way:?} {address}");
        }
        // A client that has sent everything, such as `nc -N`, still waits for the answer.
        client.write_all(b"x").expect("writes");
        client
            .shutdown(std::net::Shutdown::Write)
            .expect("shuts down");
        for way in WAYS {
            let found = way.user_of(&stream).await;
            assert_eq!(found, Some(own_uid()), "{way:?} {address}");
        }
    }
}

/// The kernel reports root as the user of such a connection.
#[tokio::test]
async fn a_connection_that_its_peer_has_closed_has_no_user() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (listener, address) = listener(address).await;
        let client = std::net::TcpStream::connect(address).expect("connects");
        let (stream, _) = listener.accept().await.expect("accepts");
        drop(client);
        for way in WAYS {
            assert_eq!(way.user_of(&stream).await, None, "{way:?} {address}");
        }
    }
}

#[tokio::test]
async fn a_client_with_an_ipv6_socket_for_an_ipv4_address_is_found() {
    let (listener, address) = listener("127.0.0.1:0").await;
    let mapped: SocketAddr = format!("[::ffff:127.0.0.1]:{}", address.port())
        .parse()
        .expect("an address");
    let _client = std::net::TcpStream::connect(mapped).expect("connects");
    let (stream, _) = listener.accept().await.expect("accepts");
    for way in WAYS {
        assert_eq!(way.user_of(&stream).await, Some(own_uid()), "{way:?}");
    }
}

#[tokio::test]
async fn without_a_way_every_user_is_unknown() {
    let (listener, address) = listener("127.0.0.1:0").await;
    assert_ne!(
        PeerLookup::for_listener(address),
        PeerLookup::Unavailable,
        "Linux has a way"
    );
    let _client = std::net::TcpStream::connect(address).expect("connects");
    let (stream, _) = listener.accept().await.expect("accepts");
    assert_eq!(PeerLookup::Unavailable.user_of(&stream).await, None);
}

#[test]
fn only_an_open_socket_of_a_client_has_a_user() {
    let socket = |state, inode| Socket {
        state,
        uid: 0,
        inode,
    };
    assert_eq!(socket(1, 7).user(), Some(0));
    assert_eq!(socket(1, 0).user(), None);
    // A connection that is being opened from the port of a closed one, and a listener.
    for state in [2, 6, 7, 10] {
        assert_eq!(socket(state, 7).user(), None);
    }
}
