//! The `Authorization` header that a connection sent last, with the key of its token: the hash by
//! which the directory finds the caller.
//!
//! A program sends the same token with every call. Checking and hashing the token costs more than
//! finding the target of the call, so the result is kept. The caller is looked up by the key for
//! every request, so a revoked token is rejected at once.

use parking_lot::Mutex;
use svc_store::Hash;

use crate::identity::AccessDenied;

/// Longer headers are not kept. A header with a token of this server is shorter.
const HEADER_BYTES_MAX: usize = 256;

#[derive(Default)]
pub struct LastToken(Mutex<Option<(Box<[u8]>, Hash)>>);

impl LastToken {
    /// The key of the token in this header: the kept key, or else the key that `find` returns.
    pub fn key(
        &self,
        header: &[u8],
        find: impl FnOnce() -> Result<Option<Hash>, AccessDenied>,
    ) -> Result<Option<Hash>, AccessDenied> {
        let mut last = self.0.lock();
        if let Some((kept, key)) = &*last
            && is_same(kept, header)
        {
            return Ok(Some(*key));
        }
        let found = find()?;
        if let Some(key) = found
            && header.len() <= HEADER_BYTES_MAX
        {
            *last = Some((header.into(), key));
        }
        Ok(found)
    }
}

/// Compares all bytes, so that the duration does not reveal how many bytes match: behind a proxy,
/// several clients may share a connection.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).map(|(one, other)| one ^ other);
    one.len() == other.len() && differences.fold(0, |all, one| all | one) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_header_gets_the_kept_key() {
        let last = LastToken::default();
        let find = |header: &str, key: u8| {
            let found = last.key(header.as_bytes(), || Ok(Some([key; 32])));
            found.ok().flatten().expect("a key")[0]
        };
        assert_eq!(find("Bearer a", 1), 1);
        assert_eq!(find("Bearer a", 2), 1, "kept");
        assert_eq!(find("Bearer ab", 1), 1);
        assert_eq!(find("Bearer ba", 3), 3, "the same differences twice");
        assert_eq!(find("Bearer a", 1), 1);
        for other in ["Bearer b", "Bearer ", "Bearer aa", "bearer a"] {
            assert_eq!(find(other, 3), 3, "{other}");
            assert_eq!(find("Bearer a", 1), 1);
        }
    }

    #[test]
    fn an_invalid_token_is_not_kept() {
        let last = LastToken::default();
        let refused = last.key(b"Bearer a", || Err(AccessDenied::Unknown));
        assert!(refused.is_err());
        assert_eq!(last.key(b"Bearer a", || Ok(None)).ok(), Some(None));
        let longest = [b'a'; HEADER_BYTES_MAX];
        for key in [1, 2] {
            let found = last.key(&longest, || Ok(Some([key; 32])));
            assert_eq!(found.ok(), Some(Some([1; 32])), "kept");
        }
        let long = [b'a'; HEADER_BYTES_MAX + 1];
        for key in [1, 2] {
            let found = last.key(&long, || Ok(Some([key; 32])));
            assert_eq!(found.ok(), Some(Some([key; 32])));
        }
    }
}
