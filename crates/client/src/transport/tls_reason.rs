//! Why a TLS handshake failed, for users.

use std::io;

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// A sentence without a full stop, about the other side `host`.
pub(super) fn tls_reason(host: &str, error: &io::Error) -> String {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(fault)) => certificate_reason(host, fault),
        Some(Error::InvalidMessage(_)) => format!("`{host}` does not use TLS on this port"),
        Some(Error::PeerIncompatible(_)) => {
            format!("`{host}` supports neither TLS 1.2 nor TLS 1.3 as this program does")
        }
        Some(Error::AlertReceived(
            AlertDescription::CertificateRequired | AlertDescription::HandshakeFailure,
        )) => format!("`{host}` refused the TLS connection; it may require a client certificate"),
        Some(Error::AlertReceived(_)) => format!("`{host}` refused the TLS connection"),
        Some(_) => format!("the TLS connection to `{host}` failed"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            format!("`{host}` closed the connection during the TLS handshake")
        }
        None => error.to_string(),
    }
}

fn certificate_reason(host: &str, fault: &CertificateError) -> String {
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of `{host}` has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of `{host}` is not valid yet; compare the clocks")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the certificate is not for `{host}`, but for another name")
        }
        CertificateError::UnknownIssuer => {
            format!("the certificate of `{host}` comes from an authority that is not trusted here")
        }
        CertificateError::Revoked => format!("the certificate of `{host}` has been revoked"),
        // webpki reports a self-signed certificate with the mark of an authority like this.
        CertificateError::Other(_) => format!(
            "the certificate of `{host}` cannot be used by a server; is it the certificate of an authority?"
        ),
        _ => format!("the certificate of `{host}` is not valid"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_sentences() {
        let reason = |error: Error| tls_reason("a.example", &io::Error::other(error));
        assert_eq!(
            reason(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
            "the certificate of `a.example` comes from an authority that is not trusted here"
        );
        assert_eq!(
            reason(Error::InvalidCertificate(CertificateError::Expired)),
            "the certificate of `a.example` has expired"
        );
        let cut_off = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(
            tls_reason("a.example", &cut_off),
            "`a.example` closed the connection during the TLS handshake"
        );
    }
}
