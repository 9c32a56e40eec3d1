//! The server's certificate: read at the start, and again when its files change.

use std::{fs, net::SocketAddr, path::PathBuf, time::Duration};

use svc_testkit::{Process, TempDir, TestAuthority, TestCertificate, TestServer, eventually};

use crate::SOON;

/// The server checks the certificate files every 2 s. It reads changed files at the second check
/// after the change.
const RELOAD_LIMIT: Duration = SOON.saturating_mul(2);

/// The files that a server reads.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new(certificate: &TestCertificate) -> Self {
        let files = Self {
            folder: TempDir::new().unwrap(),
        };
        files.write(&certificate.certificate, &certificate.key);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, certificate: &str, key: &str) {
        fs::write(self.path("key.pem"), key).unwrap();
        fs::write(self.path("cert.pem"), certificate).unwrap();
    }

    async fn start(&self) -> (TestServer, SocketAddr) {
        let [cert, key] = ["cert.pem", "key.pem"].map(|name| self.path(name));
        let args = [
            "--tls-cert",
            cert.to_str().unwrap(),
            "--tls-key",
            key.to_str().unwrap(),
        ];
        let server = TestServer::builder().args(&args).start().await;
        let address = server.url().trim_start_matches("https://").parse();
        let address = address.unwrap();
        (server, address)
    }
}

async fn wait_for_certificate(
    authority: &TestAuthority,
    address: SocketAddr,
    expected: &TestCertificate,
) {
    eventually(
        "the server shows the new certificate",
        RELOAD_LIMIT,
        || async { authority.connect(address).await.has_certificate(expected) },
    )
    .await;
}

#[tokio::test]
async fn a_changed_certificate_is_served_without_a_restart() {
    let authority = TestAuthority::new("private");
    let [first, second] = [(); 2].map(|()| authority.server(&["127.0.0.1"]));
    let files = Files::new(&first);
    let (mut server, address) = files.start().await;
    let mut open = authority.connect(address).await;
    assert!(open.has_certificate(&first));
    files.write(&second.certificate, &second.key);
    wait_for_certificate(&authority, address, &second).await;
    // An existing connection stays open.
    let answer = open.get("/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let metrics = open.get("/metrics").await;
    let line = r#"svc_tls_reloads_total{outcome="used"} 1"#;
    assert!(metrics.contains(line), "{metrics}");
    let used = "new connections get the changed certificate";
    server.process().wait_for_log(used, SOON).await;
}

#[tokio::test]
async fn files_that_cannot_be_used_leave_the_former_certificate_in_service() {
    let authority = TestAuthority::new("private");
    let [first, second] = [(); 2].map(|()| authority.server(&["127.0.0.1"]));
    let files = Files::new(&first);
    let (mut server, address) = files.start().await;
    let refused = "stays in use";

    files.write("-----BEGIN CERTIFICATE-----\nnot base64\n", &first.key);
    let line = server.process().wait_for_log(refused, RELOAD_LIMIT).await;
    let path = files.path("cert.pem").display().to_string();
    assert!(
        line.contains(&format!("cannot read the certificate `{path}`: ")),
        "{line}"
    );
    assert!(authority.connect(address).await.has_certificate(&first));

    // The certificate was replaced, but the key was not.
    files.write(&second.certificate, &first.key);
    let other_key = "is not the private key of the certificate";
    let line = server.process().wait_for_log(other_key, RELOAD_LIMIT).await;
    assert!(line.contains("key.pem"), "{line}");
    assert!(authority.connect(address).await.has_certificate(&first));

    fs::remove_file(files.path("key.pem")).unwrap();
    let line = server
        .process()
        .wait_for_log("No such file", RELOAD_LIMIT)
        .await;
    assert!(line.contains("cannot read the private key"), "{line}");

    // The key is renewed by a symbolic link to another file, as certbot does.
    fs::write(files.path("key2.pem"), &second.key).unwrap();
    std::os::unix::fs::symlink("key2.pem", files.path("key.pem")).unwrap();
    wait_for_certificate(&authority, address, &second).await;
    // Each change is reported once.
    let log = server.log();
    assert_eq!(log.matches(refused).count(), 3, "{log}");
}

#[tokio::test]
async fn a_key_of_another_certificate_is_refused_at_the_start() {
    let authority = TestAuthority::new("private");
    let [first, second] = [(); 2].map(|()| authority.server(&["127.0.0.1"]));
    let files = Files::new(&first);
    let (server, _) = files.start().await;
    files.write(&first.certificate, &second.key);
    let folder = TempDir::new().unwrap();
    let command = server.second_server(&folder.path().join("data"));
    let mut refused = Process::spawn("refused server", command);
    assert!(!refused.wait_for_exit(SOON).await.success());
    let said = refused.stderr();
    assert!(
        said.contains("is not the private key of the certificate"),
        "{said}"
    );
    for name in ["cert.pem", "key.pem"] {
        assert!(
            said.contains(&files.path(name).display().to_string()),
            "{said}"
        );
    }
}
