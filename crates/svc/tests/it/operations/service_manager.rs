//! Messages to a service manager: `NOTIFY_SOCKET` and the watchdog.

use std::{
    os::{linux::net::SocketAddrExt, unix::net},
    time::Duration,
};

use svc_testkit::{TempDir, TestServer};
use tokio::net::UnixDatagram;

/// The socket of a service manager.
pub struct Manager {
    socket: UnixDatagram,
    /// The value of `NOTIFY_SOCKET`.
    pub name: String,
    _folder: TempDir,
}

impl Manager {
    /// A socket with a path.
    pub fn at_path() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("notify");
        Self {
            socket: UnixDatagram::bind(&path).unwrap(),
            name: path.to_str().unwrap().to_owned(),
            _folder: folder,
        }
    }

    /// An abstract socket, as older service managers use.
    fn abstract_socket() -> Self {
        let folder = TempDir::new().unwrap();
        // The name of the folder is unique on this machine.
        let name = folder.path().to_str().unwrap().trim_start_matches('/');
        let address = net::SocketAddr::from_abstract_name(name).unwrap();
        let socket = net::UnixDatagram::bind_addr(&address).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self {
            socket: UnixDatagram::from_std(socket).unwrap(),
            name: format!("@{name}"),
            _folder: folder,
        }
    }

    pub async fn next(&self) -> String {
        let mut message = [0; 1_024];
        let received = tokio::time::timeout(crate::SOON, self.socket.recv(&mut message));
        let length = received.await.expect("a message").unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    }

    /// Skips messages until one contains `text`.
    pub async fn wait_for(&self, text: &str) -> String {
        for _ in 0..100 {
            let message = self.next().await;
            if message.contains(text) {
                return message;
            }
        }
        panic!("no message contains `{text}`");
    }
}

#[tokio::test]
async fn a_server_reports_that_it_is_ready_and_that_it_stops() {
    for manager in [Manager::at_path(), Manager::abstract_socket()] {
        let mut server = TestServer::builder()
            .env("NOTIFY_SOCKET", &manager.name)
            .start()
            .await;
        let ready = manager.next().await;
        let status = format!("STATUS=listening on {}", server.url());
        assert_eq!(ready, format!("READY=1\n{status}"), "{}", manager.name);
        server
            .http()
            .request("GET", "/readyz", &[], "")
            .await
            .expect(200);
        // Without WATCHDOG_USEC there is no message in between.
        assert_eq!(server.terminate().await.code(), Some(0));
        assert_eq!(manager.next().await, "STOPPING=1\nSTATUS=stopping");
    }
}

#[tokio::test]
async fn a_server_that_does_not_start_is_never_ready() {
    let manager = Manager::at_path();
    let mut server = TestServer::builder()
        .embedded()
        .env("NOTIFY_SOCKET", &manager.name)
        .start()
        .await;
    manager.wait_for("READY=1").await;
    server
        .edit_database(
            "INSERT INTO schema_migrations (version, name, applied_at, compatible_since) \
             VALUES (999, 'later', 0, 999)",
        )
        .await;
    manager.wait_for("STOPPING=1").await;
    let command = server.second_server(&server.data_dir());
    let mut refused = svc_testkit::Process::spawn("refused server", command);
    assert!(!refused.wait_for_exit(crate::SOON).await.success());
    let mut message = [0; 100];
    assert!(manager.socket.try_recv(&mut message).is_err());
}

#[tokio::test]
async fn the_watchdog_gets_no_messages_while_writes_hang() {
    let manager = Manager::at_path();
    let server = TestServer::builder()
        .embedded()
        .env("NOTIFY_SOCKET", &manager.name)
        .env(
            "WATCHDOG_USEC",
            &Duration::from_secs(4).as_micros().to_string(),
        )
        .start()
        .await;
    manager.wait_for("READY=1").await;
    assert_eq!(manager.next().await, "WATCHDOG=1");
    assert_eq!(manager.next().await, "WATCHDOG=1");
    // Another process holds the write lock: the server answers, but cannot write.
    let lock = server.lock_writes();
    let stuck = manager.wait_for("STATUS=").await;
    assert!(stuck.contains("takes no writes"), "{stuck}");
    for _ in 0..3 {
        let message = manager.next().await;
        assert!(message.starts_with("STATUS="), "{message}");
    }
    assert!(server.log().contains("takes no writes"), "{}", server.log());
    drop(lock);
    manager.wait_for("WATCHDOG=1").await;
    assert_eq!(manager.next().await, "WATCHDOG=1");
}

#[tokio::test]
async fn a_lost_service_manager_does_not_disturb_a_server() {
    let manager = Manager::at_path();
    let server = TestServer::builder()
        .env("NOTIFY_SOCKET", &manager.name)
        .env("WATCHDOG_USEC", "200000")
        .start()
        .await;
    manager.wait_for("WATCHDOG=1").await;
    drop(manager);
    svc_testkit::eventually("the loss is logged", crate::SOON, || async {
        server.log().contains("to the service manager")
    })
    .await;
    server
        .http()
        .request("GET", "/readyz", &[], "")
        .await
        .expect(200);
}
