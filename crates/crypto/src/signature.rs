//! Verification of signatures with public keys. svc makes no such signature itself, except in TLS.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// A kind of key, and the form of its signatures. RSA is [`RsaKey`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignatureScheme {
    /// ECDSA with P-256 and SHA-256. The signature is ASN.1, as in passkeys.
    P256Asn1,
    /// ECDSA with P-256 and SHA-256. The signature has two numbers of 32 bytes, as in tokens.
    P256Fixed,
    /// ECDSA with P-384 and SHA-384. The signature has two numbers of 48 bytes.
    P384Fixed,
    Ed25519,
}

/// Whether the signature of the message is valid. A key of ECDSA is an uncompressed point.
pub fn verify(scheme: SignatureScheme, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let algorithm: &'static dyn VerificationAlgorithm = match scheme {
        SignatureScheme::P256Asn1 => &ECDSA_P256_SHA256_ASN1,
        SignatureScheme::P256Fixed => &ECDSA_P256_SHA256_FIXED,
        SignatureScheme::P384Fixed => &ECDSA_P384_SHA384_FIXED,
        SignatureScheme::Ed25519 => &ED25519,
    };
    UnparsedPublicKey::new(algorithm, key)
        .verify(message, signature)
        .is_ok()
}

/// How a signature of RSA with SHA-256 is padded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RsaPadding {
    Pkcs1,
    Pss,
}

/// A public key of RSA: two numbers, the first byte first, without leading zeros.
#[derive(Clone, Copy, Debug)]
pub struct RsaKey<'a> {
    pub modulus: &'a [u8],
    pub exponent: &'a [u8],
}

impl RsaKey<'_> {
    /// Whether the signature of the message is valid. Keys must have 2048 to 8192 bits.
    pub fn verify(&self, padding: RsaPadding, message: &[u8], signature: &[u8]) -> bool {
        let parameters = match padding {
            RsaPadding::Pkcs1 => &RSA_PKCS1_2048_8192_SHA256,
            RsaPadding::Pss => &RSA_PSS_2048_8192_SHA256,
        };
        let key = RsaPublicKeyComponents {
            n: self.modulus,
            e: self.exponent,
        };
        key.verify(parameters, message, signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use ring::{
        rand::SystemRandom,
        signature::{
            ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING,
            ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
            KeyPair,
        },
    };

    use super::*;

    const MESSAGE: &[u8] = b"message";

    /// A public key, and its signature of [`MESSAGE`].
    fn signed_by(algorithm: &'static EcdsaSigningAlgorithm) -> (Vec<u8>, Vec<u8>) {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a key");
        let signature = key.sign(&random, MESSAGE).expect("signed");
        (
            key.public_key().as_ref().to_vec(),
            signature.as_ref().to_vec(),
        )
    }

    fn signed_by_ed25519() -> (Vec<u8>, Vec<u8>) {
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a key");
        let signature = key.sign(MESSAGE);
        (
            key.public_key().as_ref().to_vec(),
            signature.as_ref().to_vec(),
        )
    }

    #[test]
    fn a_signature_is_valid_for_its_own_key_message_and_scheme_only() {
        use SignatureScheme::{Ed25519, P256Asn1, P256Fixed, P384Fixed};
        let all = [
            (P256Asn1, signed_by(&ECDSA_P256_SHA256_ASN1_SIGNING)),
            (P256Fixed, signed_by(&ECDSA_P256_SHA256_FIXED_SIGNING)),
            (P384Fixed, signed_by(&ECDSA_P384_SHA384_FIXED_SIGNING)),
            (Ed25519, signed_by_ed25519()),
        ];
        for (scheme, (key, signature)) in &all {
            assert!(verify(*scheme, key, MESSAGE, signature), "{scheme:?}");
            assert!(!verify(*scheme, key, b"another message", signature));
            assert!(!verify(*scheme, key, MESSAGE, &signature[1..]));
            assert!(!verify(*scheme, &key[1..], MESSAGE, signature));
            for (other, (other_key, _)) in &all {
                if other != scheme {
                    assert!(!verify(*other, key, MESSAGE, signature), "{other:?}");
                    assert!(!verify(*scheme, other_key, MESSAGE, signature));
                }
            }
        }
    }
}
