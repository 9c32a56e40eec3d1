//! Keyed hashes (HMAC, RFC 2104).

use ring::hmac;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HmacHash {
    /// Only where a protocol requires SHA-1: codes of authenticator apps, and some senders of
    /// requests.
    Sha1,
    Sha256,
    Sha512,
}

/// A key for one hash.
#[derive(Clone)]
pub struct HmacKey(hmac::Key);

/// The result: 20, 32 or 64 bytes.
pub struct HmacTag(hmac::Tag);

impl HmacKey {
    pub fn new(hash: HmacHash, secret: &[u8]) -> Self {
        let algorithm = match hash {
            HmacHash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            HmacHash::Sha256 => hmac::HMAC_SHA256,
            HmacHash::Sha512 => hmac::HMAC_SHA512,
        };
        Self(hmac::Key::new(algorithm, secret))
    }

    pub fn sign(&self, message: &[u8]) -> HmacTag {
        HmacTag(hmac::sign(&self.0, message))
    }

    /// Signs the parts one after the other. Their lengths are not signed.
    pub fn sign_parts(&self, parts: &[&[u8]]) -> HmacTag {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(part);
        }
        HmacTag(context.sign())
    }

    /// Whether the tag belongs to the message. Takes the same time wherever the tags differ.
    pub fn verify(&self, message: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.0, message, tag).is_ok()
    }
}

impl AsRef<[u8]> for HmacTag {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2202, section 3, case 2, and of RFC 4231, section 4.3.
    #[test]
    fn the_published_examples_have_the_published_tags() {
        let message = b"what do ya want for nothing?";
        for (hash, expected) in [
            (HmacHash::Sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
            (
                HmacHash::Sha256,
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                HmacHash::Sha512,
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
            ),
        ] {
            let key = HmacKey::new(hash, b"Jefe");
            let tag = key.sign(message);
            assert_eq!(hex(&tag), expected, "{hash:?}");
            let parts = key.sign_parts(&[b"what do ya want", b"", b" for nothing?"]);
            assert_eq!(hex(&parts), expected, "{hash:?}");
            assert!(key.verify(message, tag.as_ref()));
            assert!(!key.verify(b"another message", tag.as_ref()));
            assert!(!key.verify(message, &tag.as_ref()[1..]));
            assert!(!HmacKey::new(hash, b"jefe").verify(message, tag.as_ref()));
        }
    }

    fn hex(tag: &HmacTag) -> String {
        tag.as_ref().iter().map(|b| format!("{b:02x}")).collect()
    }
}
