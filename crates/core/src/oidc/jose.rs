//! Verifies the signatures of tokens (RFC 7515) with key sets (RFC 7517), and nothing else.
//!
//! The algorithm of a token must belong to the type of the key, so a public key can never be used
//! as the secret of a symmetric algorithm. The algorithm `none` (no signature) and the symmetric
//! algorithms are not implemented.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use svc_crypto::{RsaKey, RsaPadding, SignatureScheme};
use thiserror::Error;

use super::claims::Claims;

/// The maximum bytes of a token.
const TOKEN_BYTES_MAX: usize = 64 * 1024;
/// The maximum number of keys that are read from a key set. Further keys are ignored.
const KEYS_MAX: usize = 100;

/// The algorithms that are accepted, with their names in tokens.
pub const ALGORITHMS: [&str; 6] = ["RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519"];
/// Two names of one algorithm. RFC 9864 replaces the first name by the second.
const ED25519_NAMES: &[&str] = &["EdDSA", "Ed25519"];

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum JoseError {
    #[error("the token is not a signed token: {0}")]
    Malformed(&'static str),
    #[error(
        "the algorithm `{0}` is not accepted; let the provider sign with one of: {all}",
        all = ALGORITHMS.join(", ")
    )]
    Algorithm(String),
    #[error("the provider publishes no key{} for `{algorithm}`", named(kid.as_deref()))]
    UnknownKey {
        kid: Option<String>,
        algorithm: String,
    },
    #[error("the signature of the token is not valid")]
    Signature,
}

/// The name of a key in a sentence. Tokens without a key id name no key.
fn named(kid: Option<&str>) -> String {
    kid.map(|kid| format!(" `{kid}`")).unwrap_or_default()
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that a reader must support. This server supports none.
    crit: Option<serde::de::IgnoredAny>,
}

/// A key set, as a provider publishes it.
#[derive(Clone, Debug, Default)]
pub struct Keys(Vec<Key>);

#[derive(Clone, Debug)]
struct Key {
    kid: Option<String>,
    /// The only algorithm of the key, if the provider names one.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
pub struct KeySet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl From<KeySet> for Keys {
    /// Leaves out keys that this server cannot use: a set may contain keys of any kind.
    fn from(set: KeySet) -> Self {
        let keys = set.keys.into_iter().take(KEYS_MAX);
        let keys = keys.filter_map(|key| Key::read(serde_json::from_value(key).ok()?));
        Self(keys.collect())
    }
}

impl Key {
    fn read(jwk: Jwk) -> Option<Self> {
        let has_other_use = jwk.purpose.is_some_and(|purpose| purpose != "sig");
        let has_other_operations = jwk
            .key_ops
            .is_some_and(|operations| operations.iter().all(|operation| operation != "verify"));
        if has_other_use || has_other_operations {
            return None;
        }
        let bytes = |field: Option<String>| URL_SAFE_NO_PAD.decode(field?).ok();
        // An uncompressed point; every coordinate has the length of the curve.
        let point = |x: Option<String>, y: Option<String>, length: usize| {
            let (x, y) = (bytes(x)?, bytes(y)?);
            (x.len() == length && y.len() == length).then(|| [vec![4], x, y].concat())
        };
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa {
                modulus: without_leading_zeros(bytes(jwk.n)?),
                exponent: without_leading_zeros(bytes(jwk.e)?),
            },
            ("EC", Some("P-256")) => Material::P256(point(jwk.x, jwk.y, 32)?),
            ("EC", Some("P-384")) => Material::P384(point(jwk.x, jwk.y, 48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(jwk.x)?),
            _ => return None,
        };
        Some(Self {
            kid: jwk.kid,
            algorithm: jwk.alg,
            material,
        })
    }

    fn permits(&self, algorithm: &str) -> bool {
        let of_kind: &[&str] = match self.material {
            Material::Rsa { .. } => &["RS256", "PS256"],
            Material::P256(_) => &["ES256"],
            Material::P384(_) => &["ES384"],
            Material::Ed25519(_) => ED25519_NAMES,
        };
        let is_permitted_by = |only: &str| {
            only == algorithm
                || [only, algorithm]
                    .iter()
                    .all(|it| ED25519_NAMES.contains(it))
        };
        of_kind.contains(&algorithm) && self.algorithm.as_deref().is_none_or(is_permitted_by)
    }

    fn verify(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let plain = |scheme, key: &[u8]| svc_crypto::verify(scheme, key, message, signature);
        match &self.material {
            Material::Rsa { modulus, exponent } => {
                let padding = match algorithm {
                    "PS256" => RsaPadding::Pss,
                    _ => RsaPadding::Pkcs1,
                };
                let key = RsaKey { modulus, exponent };
                key.verify(padding, message, signature)
            }
            Material::P256(key) => plain(SignatureScheme::P256Fixed, key),
            Material::P384(key) => plain(SignatureScheme::P384Fixed, key),
            Material::Ed25519(key) => plain(SignatureScheme::Ed25519, key),
        }
    }
}

fn without_leading_zeros(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

impl Keys {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Verifies the signature of a token; returns its claims, which the caller must check.
    pub fn verify(&self, token: &str) -> Result<Claims, JoseError> {
        let payload = self.verify_payload(token)?;
        serde_json::from_slice(&payload)
            .map_err(|_| JoseError::Malformed("its claims are not a JSON object"))
    }

    /// Verifies the signature of a token; returns the signed bytes between its dots.
    fn verify_payload(&self, token: &str) -> Result<Vec<u8>, JoseError> {
        let parts = Parts::split(token)?;
        let Header { alg, kid, crit } = parts.header;
        if crit.is_some() {
            return Err(JoseError::Malformed("it uses extensions (`crit`)"));
        }
        if !ALGORITHMS.contains(&alg.as_str()) {
            return Err(JoseError::Algorithm(alg.chars().take(40).collect()));
        }
        let usable = self.0.iter().filter(|key| key.permits(&alg));
        // Without a key id, any key of the set may be the right one; the set is small.
        let named: Vec<_> = usable
            .filter(|key| kid.is_none() || key.kid == kid)
            .collect();
        if named.is_empty() {
            return Err(JoseError::UnknownKey {
                kid: kid.map(|kid| kid.chars().take(80).collect()),
                algorithm: alg,
            });
        }
        let is_right = |key: &&Key| key.verify(&alg, parts.message, &parts.signature);
        match named.iter().any(is_right) {
            true => Ok(parts.payload),
            false => Err(JoseError::Signature),
        }
    }
}

struct Parts<'a> {
    header: Header,
    payload: Vec<u8>,
    /// The signed bytes.
    message: &'a [u8],
    signature: Vec<u8>,
}

impl<'a> Parts<'a> {
    fn split(token: &'a str) -> Result<Self, JoseError> {
        let malformed = JoseError::Malformed;
        if token.len() > TOKEN_BYTES_MAX {
            return Err(malformed("it is too long"));
        }
        let (message, signature) = token.rsplit_once('.').ok_or(malformed("it has no parts"))?;
        let (header, payload) = message
            .split_once('.')
            .ok_or(malformed("it does not have three parts"))?;
        let decode = |part: &str| {
            URL_SAFE_NO_PAD
                .decode(part)
                .map_err(|_| malformed("a part is not base64url"))
        };
        Ok(Self {
            header: serde_json::from_slice(&decode(header)?)
                .map_err(|_| malformed("its header is not valid"))?,
            payload: decode(payload)?,
            message: message.as_bytes(),
            signature: decode(signature)?,
        })
    }
}

#[cfg(test)]
mod tests;
