//! The settings that a connection was opened with. A request with other settings needs another
//! connection.

use svc_client::TlsSettings;
use svc_crypto::Sha256;

#[derive(PartialEq, Eq)]
pub(super) struct ConnectionSettings {
    url: String,
    /// A digest of the TLS settings; `None` for the defaults.
    tls: Option<[u8; 32]>,
}

impl ConnectionSettings {
    pub(super) fn new(url: &str, tls: TlsSettings<'_>) -> Self {
        let is_default = tls.ca.is_none() && tls.identity.is_none() && !tls.http2;
        Self {
            url: url.to_owned(),
            tls: (!is_default).then(|| digest(tls)),
        }
    }
}

fn digest(tls: TlsSettings<'_>) -> [u8; 32] {
    let (certificate, key) = tls.identity.unzip();
    let mut hash = Sha256::new();
    for text in [tls.ca, certificate, key] {
        // The length separates the texts, and distinguishes an empty text from a missing text.
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        hash.update(length.to_be_bytes());
        hash.update(text.unwrap_or_default());
    }
    hash.update([tls.http2.into()]);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_settings_or_urls_never_share_a_connection() {
        let plain = TlsSettings::default();
        let all = [
            plain,
            TlsSettings {
                http2: true,
                ..plain
            },
            TlsSettings {
                ca: Some(""),
                ..plain
            },
            TlsSettings {
                ca: Some("ab"),
                ..plain
            },
            TlsSettings {
                ca: Some("a"),
                identity: Some(("b", "")),
                ..plain
            },
            TlsSettings {
                identity: Some(("ab", "")),
                ..plain
            },
            TlsSettings {
                identity: Some(("a", "b")),
                ..plain
            },
        ];
        for (index, one) in all.iter().enumerate() {
            for (other_index, other) in all.iter().enumerate() {
                let same =
                    ConnectionSettings::new("u", *one) == ConnectionSettings::new("u", *other);
                assert_eq!(same, index == other_index);
            }
            assert!(ConnectionSettings::new("u", *one) != ConnectionSettings::new("v", *one));
        }
    }
}
