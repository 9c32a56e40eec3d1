//! Random numbers of the operating system. They are good enough for keys and secrets.

use thiserror::Error;

#[derive(Clone, Copy, Debug, Error)]
#[error(transparent)]
pub struct RandomError(getrandom::Error);

/// Replaces all bytes by random bytes.
pub fn fill(bytes: &mut [u8]) -> Result<(), RandomError> {
    getrandom::fill(bytes).map_err(RandomError)
}

/// An array of random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

pub fn u32() -> Result<u32, RandomError> {
    getrandom::u32().map_err(RandomError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_secrets_are_different_and_use_all_bytes() {
        let secrets: Vec<[u8; 32]> = (0..64).map(|_| bytes().expect("random bytes")).collect();
        for (at, secret) in secrets.iter().enumerate() {
            assert!(!secrets[..at].contains(secret));
        }
        for place in 0..32 {
            // A byte that is zero in 64 secrets was not drawn.
            assert!(
                secrets.iter().any(|secret| secret[place] != 0),
                "byte {place}"
            );
        }
    }
}
