//! The text form of credentials: `svc_pat_…`, `svc_agt_…`.
//!
//! A credential is a prefix for its kind, 32 random bytes in hex, and a checksum. The checksum
//! detects mistyped or truncated credentials without a look-up. The store holds only a hash of the
//! whole text.

use data_encoding::HEXLOWER;

use crate::text_enum::text_enum;

/// The number of random bytes in a credential.
pub const SECRET_BYTES: usize = 32;

text_enum! {
    /// The kind of a credential, with the prefix of its text.
    CredentialKind {
        /// A user's API token.
        ApiToken = "svc_pat_",
        /// A space's agent token.
        AgentToken = "svc_agt_",
        /// The value of the session cookie.
        Session = "svc_ses_",
        /// The secret in the one-time setup link, with which the first administrator is created.
        Setup = "svc_set_",
        /// The secret in the one-click sign-in link of `svc up`.
        SignIn = "svc_sgn_",
        /// A token with which an app acts for a user.
        AccessToken = "svc_oat_",
        /// A token with which an app gets its next access token.
        RefreshToken = "svc_ort_",
        /// The code that an app exchanges for its first tokens.
        AuthorizationCode = "svc_oac_",
        /// The code with which a machine without a browser waits for a login.
        DeviceCode = "svc_odc_",
        /// The secret of an app that an administrator added.
        ClientSecret = "svc_ocs_",
        /// The secret of a login that waits for its second factor. No route accepts it as a
        /// credential.
        PendingLogin = "svc_lgn_",
        /// The secret in the URL of a source.
        SourceUrl = "svc_src_",
    }
}

impl CredentialKind {
    /// Formats random bytes as a credential.
    pub fn format(self, secret: &[u8; SECRET_BYTES]) -> String {
        let mut text = String::from(self.as_str());
        HEXLOWER.encode_append(secret, &mut text);
        let checksum = crc32fast::hash(text.as_bytes());
        HEXLOWER.encode_append(&checksum.to_be_bytes(), &mut text);
        text
    }

    /// The kind of a well-formed credential; `None` for anything else.
    pub fn recognise(text: &str) -> Option<Self> {
        let mut kinds = Self::ALL.iter().copied();
        let kind = kinds.find(|kind| text.starts_with(kind.as_str()))?;
        let body_end = kind.as_str().len() + 2 * SECRET_BYTES;
        if text.len() != body_end + 8 || !text.is_ascii() {
            return None;
        }
        let (body, checksum) = text.split_at(body_end);
        let expected = crc32fast::hash(body.as_bytes()).to_be_bytes();
        (HEXLOWER.decode(checksum.as_bytes()).ok()? == expected).then_some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s5_credentials_carry_their_kind_and_a_checksum() {
        for &kind in CredentialKind::ALL {
            let text = kind.format(&[7; SECRET_BYTES]);
            assert!(text.starts_with(kind.as_str()));
            assert_eq!(CredentialKind::recognise(&text), Some(kind));
            assert_eq!(CredentialKind::recognise(&text[..text.len() - 1]), None);
            assert_eq!(CredentialKind::recognise(&text.replace("07", "08")), None);
        }
        assert_eq!(CredentialKind::recognise("svc_pat_"), None);
        assert_eq!(CredentialKind::recognise(""), None);
        assert_eq!(CredentialKind::recognise(&"é".repeat(40)), None);
    }

    #[test]
    fn the_checksum_has_hex_digits_only() {
        let mut credentials = (0..=u8::MAX).map(|byte| {
            let text = CredentialKind::ApiToken.format(&[byte; SECRET_BYTES]);
            let (body, checksum) = text.split_at(text.len() - 8);
            (body.to_owned(), checksum.to_owned())
        });
        let found = credentials.find_map(|(body, checksum)| {
            let rest = checksum.strip_prefix('0')?;
            Some(format!("{body}+{rest}"))
        });
        let signed = found.expect("a checksum that begins with a zero");
        assert_eq!(CredentialKind::recognise(&signed), None);
    }
}
