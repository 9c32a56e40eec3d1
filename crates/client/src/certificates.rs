//! Decides which certificates of servers are trusted, and explains why a certificate is not
//! trusted.
//!
//! A certificate made by `openssl req -x509` is its own authority. The verifier of rustls never
//! accepts an authority as the certificate of a server. A server may use such a certificate if the
//! CA file contains exactly this certificate. Its dates and names are checked too.

use std::{error::Error, fmt, io, net::IpAddr, sync::Arc};

use svc_core::Timestamp;
use tokio_rustls::rustls::{
    self, CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{
        CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    },
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};
use x509_cert::der::Decode;

/// The time at which a certificate expires. `None` if the certificate cannot be read.
pub fn end(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
    let certificate = x509_cert::Certificate::from_der(certificate).ok()?;
    let end = certificate.tbs_certificate.validity.not_after;
    Some(time(UnixTime::since_unix_epoch(end.to_unix_duration())))
}

/// Decides about the certificates of servers. In each case the server must have the private key of
/// its certificate.
#[derive(Debug)]
pub struct Verifier {
    accepted: Accepted,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
enum Accepted {
    /// Certificates that a trusted authority has signed, and server certificates that the CA file
    /// itself contains (`named`).
    Trusted {
        webpki: Arc<WebPkiServerVerifier>,
        named: Vec<CertificateDer<'static>>,
    },
    /// Any certificate. Only for requests without a credential to an address of this machine.
    Any,
}

impl Verifier {
    /// `roots` holds at least one authority; `named` are the certificates of the CA file.
    pub fn new(
        roots: Arc<RootCertStore>,
        named: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Self {
        let algorithms = provider.signature_verification_algorithms;
        let webpki = WebPkiServerVerifier::builder_with_provider(roots, provider);
        let webpki = webpki.build().expect("there are roots, and no CRLs");
        Self {
            accepted: Accepted::Trusted { webpki, named },
            algorithms,
        }
    }

    pub fn of_any_certificate(provider: &CryptoProvider) -> Self {
        Self {
            accepted: Accepted::Any,
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Accepted::Trusted { webpki, named } = &self.accepted else {
            return Ok(ServerCertVerified::assertion());
        };
        let checked =
            webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            // The dates are valid: webpki checks them before it checks whether the certificate is
            // an authority.
            Err(rustls::Error::InvalidCertificate(error))
                if is_own_authority(&error)
                    && named.iter().any(|one| one.as_ref() == end_entity.as_ref()) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn is_own_authority(error: &CertificateError) -> bool {
    webpki_error(error) == Some(&webpki::Error::CaUsedAsEndEntity)
}

/// The error of webpki, if rustls has no variant of its own for this error.
fn webpki_error(error: &CertificateError) -> Option<&webpki::Error> {
    match error {
        CertificateError::Other(other) => other.0.downcast_ref(),
        _ => None,
    }
}

/// Why a TLS connection was not made, and what to do.
#[derive(Debug)]
pub struct TlsFailure {
    pub why: String,
    pub remedy: String,
}

impl fmt::Display for TlsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.why, self.remedy)
    }
}

impl Error for TlsFailure {}

impl TlsFailure {
    /// The explanation in an error of [`crate::transport::connect`], if it has one.
    pub fn find(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Replaces the error text of the TLS library if this module has a better one.
    pub fn explain(error: io::Error, host: &str) -> io::Error {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner.and_then(|inner| Self::of(inner, host)) {
            Some(failure) => io::Error::new(error.kind(), failure),
            None => error,
        }
    }

    fn of(error: &rustls::Error, host: &str) -> Option<Self> {
        let failure = |why: &str, remedy: String| {
            Some(Self {
                why: why.to_owned(),
                remedy,
            })
        };
        match error {
            rustls::Error::InvalidCertificate(error) => Some(Self::of_certificate(error, host)),
            rustls::Error::InvalidMessage(_) => failure(
                "the answer is not TLS",
                "if the server has no certificate, use an http:// address".to_owned(),
            ),
            rustls::Error::AlertReceived(_) => failure(
                "the server ended the TLS handshake",
                "its log may say why; svc needs TLS 1.2 or 1.3".to_owned(),
            ),
            _ => None,
        }
    }

    fn of_certificate(error: &CertificateError, host: &str) -> Self {
        let (why, remedy) = match error {
            CertificateError::UnknownIssuer => (
                "its certificate comes from an authority that this machine does not trust".into(),
                format!("give the authority's certificate {CA_FILE}"),
            ),
            CertificateError::NotValidForNameContext { presented, .. } => {
                (describe_names(presented, host), add_name(host))
            }
            CertificateError::NotValidForName => (
                format!("its certificate is not for `{host}`"),
                add_name(host),
            ),
            CertificateError::ExpiredContext { not_after, .. } => (
                format!("its certificate expired at {}", time(*not_after)),
                "renew the certificate, or correct the clock of this machine".into(),
            ),
            CertificateError::NotValidYetContext { not_before, .. } => (
                format!("its certificate is valid only from {}", time(*not_before)),
                "correct the clock of this machine, or the certificate".into(),
            ),
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => (
                "its certificate is not for servers".into(),
                "its extended key usage must include serverAuth".into(),
            ),
            error => match webpki_error(error) {
                Some(webpki::Error::CaUsedAsEndEntity) => (
                    "its certificate is self-signed and not trusted here".into(),
                    format!("give the certificate itself {CA_FILE}"),
                ),
                Some(webpki::Error::UnsupportedCertVersion) => (
                    "its certificate has an old version of X.509".into(),
                    "create a certificate of version 3, as `openssl req -x509` does".into(),
                ),
                _ => (
                    "its certificate is damaged, or of a kind that is not supported".into(),
                    "`openssl x509 -text -noout -in FILE` shows a certificate; RSA with 2048 bits or more, ECDSA P-256 and Ed25519 work".into(),
                ),
            },
        };
        Self { why, remedy }
    }
}

const CA_FILE: &str = "with --ca-file to `svc login` and `svc agent start`, or in SVC_CA_FILE";

fn describe_names(presented: &[String], host: &str) -> String {
    // webpki writes `DnsName("localhost")` and `IpAddress(127.0.0.1)`.
    let names: Vec<_> = presented
        .iter()
        .filter_map(|name| name.split_once('(')?.1.strip_suffix(')'))
        .map(|name| format!("`{}`", name.trim_matches('"')))
        .collect();
    if names.is_empty() {
        return "its certificate names no host: it has no subjectAltName".to_owned();
    }
    format!(
        "its certificate is for {}, not for `{host}`",
        names.join(", ")
    )
}

fn add_name(host: &str) -> String {
    let kind = match host.parse::<IpAddr>() {
        Ok(_) => "IP",
        Err(_) => "DNS",
    };
    format!(
        "use a name of the certificate, or create a certificate with: openssl req -x509 … -addext subjectAltName={kind}:{host}"
    )
}

fn time(at: UnixTime) -> Timestamp {
    Timestamp(i64::try_from(at.as_secs().saturating_mul(1_000)).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod depth_tests;
#[cfg(test)]
mod tests;
