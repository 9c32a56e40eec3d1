use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use svc_crypto::tls;
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{PrivateKeyDer, pem::PemObject},
    },
};

use super::*;
use crate::{
    target::{Target, read_ca_file},
    transport::connect,
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testkit/fixtures")
        .join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(fixture(name)).expect("a certificate")
}

/// Connects to a server that has the certificate `server`. The client trusts the certificates of
/// `ca_file`.
async fn connect_to(host: &str, server: &str, ca_file: Option<&str>) -> Result<(), String> {
    // Listen on all addresses: one test connects to 127.0.0.2.
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let key = match server {
        "cert.pem" => "key.pem",
        _ => "self-signed-key.pem",
    };
    let key = PrivateKeyDer::from_pem_file(fixture(key)).expect("a key");
    let config = ServerConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate(server)], key)
        .expect("usable");
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("accepted");
        let _ = TlsAcceptor::from(Arc::new(config)).accept(stream).await;
    });
    let ca_file = ca_file.map(fixture);
    let target = Target::parse(&format!("https://{host}:{port}"), ca_file.as_deref());
    let connected = connect(&target.expect("an address")).await;
    serving.abort();
    connected.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_self_signed_certificate_is_trusted_if_the_ca_file_holds_it() {
    for host in ["localhost", "127.0.0.1"] {
        let connected = connect_to(host, "self-signed.pem", Some("self-signed.pem")).await;
        assert_eq!(connected, Ok(()), "{host}");
        let connected = connect_to(host, "cert.pem", Some("ca.pem")).await;
        assert_eq!(connected, Ok(()), "{host}");
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_rejected_with_a_remedy() {
    for (server, ca_file, why, remedy) in [
        (
            "self-signed.pem",
            Some("ca.pem"),
            "its certificate is self-signed and not trusted here",
            "--ca-file",
        ),
        // The CA file has another certificate with the same key and the same subject.
        (
            "self-signed.pem",
            Some("self-signed-no-name.pem"),
            "its certificate is self-signed and not trusted here",
            "--ca-file",
        ),
        (
            "cert.pem",
            Some("self-signed.pem"),
            "its certificate comes from an authority that this machine does not trust",
            "--ca-file",
        ),
        (
            "self-signed-no-name.pem",
            Some("self-signed-no-name.pem"),
            "its certificate names no host: it has no subjectAltName",
            "-addext subjectAltName=DNS:localhost",
        ),
    ] {
        let said = connect_to("localhost", server, ca_file).await;
        let said = said.expect_err(server);
        assert!(said.starts_with(why) && said.contains(remedy), "{said}");
    }
    let said = connect_to("127.0.0.2", "self-signed.pem", Some("self-signed.pem")).await;
    let said = said.expect_err("another address");
    assert!(
        said.starts_with("its certificate is for `localhost`, `127.0.0.1`, not for `127.0.0.2`"),
        "{said}"
    );
    assert!(said.contains("subjectAltName=IP:127.0.0.2"), "{said}");
}

#[test]
fn the_dates_of_a_self_signed_certificate_are_checked() {
    let named = read_ca_file(&fixture("self-signed.pem")).expect("readable");
    let mut roots = RootCertStore::empty();
    roots.add(named[0].clone()).expect("an authority");
    let provider = tls::provider();
    let verifier = Verifier::new(Arc::new(roots), named.clone(), provider);
    let host = ServerName::try_from("localhost").expect("a name");
    let verify = |seconds: u64| {
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        verifier
            .verify_server_cert(&named[0], &[], &host, &[], now)
            .map(drop)
            .map_err(|error| TlsFailure::of(&error, "localhost").expect("explained").why)
    };
    assert_eq!(verify(1_800_000_000), Ok(()));
    let said = verify(1_000_000_000).expect_err("too early");
    assert_eq!(
        said,
        "its certificate is valid only from 2024-01-01T00:00:00.000Z"
    );
    let said = verify(5_000_000_000).expect_err("too late");
    assert_eq!(said, "its certificate expired at 2124-01-01T00:00:00.000Z");
}

#[tokio::test]
async fn a_server_without_tls_is_reported_as_such() {
    use tokio::io::AsyncWriteExt;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepted");
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let url = format!("https://127.0.0.1:{port}");
    let target = Target::parse(&url, Some(&fixture("ca.pem"))).expect("an address");
    let error = connect(&target).await.map(drop).expect_err("no TLS");
    assert!(
        error.to_string().starts_with("the answer is not TLS"),
        "{error}"
    );
}

#[test]
fn other_errors_keep_their_text() {
    let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused");
    let kept = TlsFailure::explain(refused, "localhost");
    assert_eq!(kept.to_string(), "refused");
    let unsupported = rustls::Error::InvalidCertificate(CertificateError::BadEncoding);
    let said = TlsFailure::of(&unsupported, "h").expect("explained");
    assert!(!said.to_string().contains("BadEncoding"), "{said}");
}
