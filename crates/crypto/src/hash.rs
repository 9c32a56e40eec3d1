//! SHA-256.

use ring::digest::{Context, SHA256, digest};

pub const HASH_BYTES: usize = 32;

/// A hash of bytes that arrive one after the other.
#[derive(Clone)]
pub struct Sha256(Context);

impl Sha256 {
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    pub fn finish(self) -> [u8; HASH_BYTES] {
        to_array(self.0.finish().as_ref())
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; HASH_BYTES] {
    to_array(digest(&SHA256, bytes.as_ref()).as_ref())
}

/// The hash of the parts one after the other. Their lengths are not part of the hash.
pub fn sha256_of_parts(parts: &[&[u8]]) -> [u8; HASH_BYTES] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finish()
}

fn to_array(hash: &[u8]) -> [u8; HASH_BYTES] {
    hash.try_into().expect("a hash of SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of FIPS 180-4.
    const OF_ABC: [u8; HASH_BYTES] = [
        0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22,
        0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00,
        0x15, 0xad,
    ];

    #[test]
    fn the_published_example_has_the_published_hash() {
        assert_eq!(sha256("abc"), OF_ABC);
        assert_eq!(sha256_of_parts(&[b"a", b"", b"bc"]), OF_ABC);
        let mut hash = Sha256::default();
        hash.update("ab");
        hash.update(b"c");
        assert_eq!(hash.clone().finish(), OF_ABC);
        assert_ne!(sha256_of_parts(&[b"abc", b"\0"]), OF_ABC);
    }
}
