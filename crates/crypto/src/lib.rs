//! The cryptography of svc: hashes, HMACs, signatures, encryption, random numbers, comparisons in
//! constant time, and the provider of TLS.
//!
//! The only crate that names the cryptography library (ring), so that another library can be chosen
//! here. A test (`tests/facade.rs`) keeps this rule. No function of this crate logs or keeps a
//! secret. Passwords are hashed elsewhere (argon2).

mod compare;
mod hash;
mod hmac;
pub mod random;
mod sealing;
mod signature;
#[cfg(feature = "tls")]
pub mod tls;

pub use compare::is_equal;
pub use hash::{HASH_BYTES, Sha256, sha256, sha256_of_parts};
pub use hmac::{HmacHash, HmacKey, HmacTag};
pub use random::RandomError;
pub use sealing::{SEALING_KEY_BYTES, SealingKey};
pub use signature::{RsaKey, RsaPadding, SignatureScheme, verify};
