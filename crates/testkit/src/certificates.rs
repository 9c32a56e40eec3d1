//! Certificates that a test creates: a private authority, and certificates of servers and clients.

use std::{net::SocketAddr, sync::Arc};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use svc_crypto::tls;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    },
};

/// A private certificate authority.
pub struct TestAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct TestCertificate {
    pub certificate: String,
    pub key: String,
}

impl TestAuthority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key");
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).expect("a certificate"),
        }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate of a server with these names or addresses.
    pub fn server(&self, names: &[&str]) -> TestCertificate {
        self.sign(server_params(names))
    }

    pub fn expired_server(&self, names: &[&str]) -> TestCertificate {
        let mut params = server_params(names);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(params)
    }

    pub fn client(&self, name: &str) -> TestCertificate {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// Connects to a server as a client that trusts only this authority.
    pub async fn connect(&self, address: SocketAddr) -> TestTlsConnection {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("an authority");
        let config = ClientConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .expect("known versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tcp = TcpStream::connect(address)
            .await
            .expect("the server listens");
        let name = ServerName::from(address.ip());
        let connected = TlsConnector::from(Arc::new(config)).connect(name, tcp);
        TestTlsConnection(connected.await.expect("a trusted certificate"))
    }

    fn sign(&self, params: CertificateParams) -> TestCertificate {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer);
        TestCertificate {
            certificate: certificate.expect("a certificate").pem(),
            key: key.serialize_pem(),
        }
    }
}

/// A connection of a client to a server under test.
pub struct TestTlsConnection(TlsStream<TcpStream>);

impl TestTlsConnection {
    /// Whether the server showed this certificate.
    pub fn has_certificate(&self, certificate: &TestCertificate) -> bool {
        let shown = self.0.get_ref().1.peer_certificates();
        shown.is_some_and(|chain| chain[0] == certificate.chain()[0])
    }

    /// Sends a request over HTTP/1.1 and returns the whole answer. The connection stays open.
    pub async fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let sent = self.0.write_all(request.as_bytes()).await;
        sent.expect("the connection is open");
        let mut answer = Vec::new();
        while !is_complete(&answer) {
            let read = self.0.read_buf(&mut answer).await.expect("an answer");
            assert!(read > 0, "the answer ends too early");
        }
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// Whether the bytes are a whole answer: a head, and a body as long as its `content-length`.
fn is_complete(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    length.and_then(|length| length.parse().ok()) == Some(body.len())
}

fn server_params(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("valid names");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

impl TestCertificate {
    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        vec![certificate.expect("a certificate")]
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("a key")
    }
}
