//! Comparisons whose duration does not depend on the compared bytes.

use subtle::ConstantTimeEq;

/// Whether a secret and a presented value are equal. The duration shows whether their lengths are
/// equal, but not where they differ. Compare hashes if the length is a secret too.
pub fn is_equal(secret: impl AsRef<[u8]>, presented: impl AsRef<[u8]>) -> bool {
    secret.as_ref().ct_eq(presented.as_ref()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_bytes_of_equal_length_are_equal() {
        let secret = "050471";
        assert!(is_equal(secret, "050471"));
        assert!(is_equal("", ""));
        for length in 0..secret.len() {
            assert!(!is_equal(secret, &secret[..length]), "{length} characters");
            assert!(!is_equal(&secret[..length], secret), "{length} characters");
        }
        assert!(!is_equal(secret, "0504710"));
        for place in 0..secret.len() {
            for bit in 0..8 {
                let mut other = secret.as_bytes().to_vec();
                other[place] ^= 1 << bit;
                assert!(!is_equal(secret, &other), "bit {bit} of byte {place}");
            }
        }
        // Differences that cancel each other out in a sum or in an exclusive or.
        for other in ["050417", "504071", "051461", "\u{0}50471"] {
            assert!(!is_equal(secret, other), "{other:?}");
        }
    }
}
