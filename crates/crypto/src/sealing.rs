//! Encryption of secrets at rest (ChaCha20-Poly1305, RFC 8439).

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::random::{self, RandomError};

pub const SEALING_KEY_BYTES: usize = 32;

/// A key that encrypts and decrypts.
pub struct SealingKey(LessSafeKey);

impl SealingKey {
    pub fn new(bytes: &[u8; SEALING_KEY_BYTES]) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes)
            .expect("a key of this algorithm has 32 bytes");
        Self(LessSafeKey::new(key))
    }

    /// Encrypts a text: 12 random bytes (the nonce), the encrypted text and 16 bytes that prove that
    /// nothing was changed. `aad` is not encrypted. The text can only be decrypted with the same
    /// `aad`.
    pub fn seal(&self, text: &[u8], aad: &[u8]) -> Result<Vec<u8>, RandomError> {
        let nonce = random::bytes::<NONCE_LEN>()?;
        let mut encrypted = text.to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(aad),
                &mut encrypted,
            )
            .expect("a text in memory is shorter than the limit of the algorithm, 256 GiB");
        Ok([nonce.as_slice(), &encrypted].concat())
    }

    /// Decrypts what `seal` returned. `None` if the key or `aad` is another, or if a byte was
    /// changed.
    pub fn open(&self, sealed: &[u8], aad: &[u8]) -> Option<Vec<u8>> {
        let (nonce, encrypted) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut text = encrypted.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.0.open_in_place(nonce, Aad::from(aad), &mut text);
        let length = opened.ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_key_aad_and_bytes_decrypt() {
        let key = SealingKey::new(&[1; SEALING_KEY_BYTES]);
        let sealed = key.seal(b"secret", b"sink 1").expect("random bytes");
        assert_eq!(sealed.len(), 12 + 6 + 16);
        assert_eq!(key.open(&sealed, b"sink 1").expect("opened"), b"secret");
        assert_ne!(sealed, key.seal(b"secret", b"sink 1").expect("sealed"));
        assert!(key.open(&sealed, b"sink 2").is_none());
        let other = SealingKey::new(&[2; SEALING_KEY_BYTES]);
        assert!(other.open(&sealed, b"sink 1").is_none());
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(key.open(&changed, b"sink 1").is_none(), "{place}");
            assert!(key.open(&sealed[..place], b"sink 1").is_none(), "{place}");
        }
    }
}
