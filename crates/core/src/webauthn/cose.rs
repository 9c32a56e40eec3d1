//! Public keys of authenticators (COSE, RFC 9053): maps of small numbers to numbers and bytes, in
//! CBOR (RFC 8949). The reader rejects all other types of CBOR.

use svc_crypto::{RsaKey, RsaPadding, SignatureScheme};

const ES256: i64 = -7;
const EDDSA: i64 = -8;
const RS256: i64 = -257;
/// The accepted algorithms, the preferred one first. Common authenticators support at least one of
/// them.
pub const ALGORITHMS: [i64; 3] = [ES256, EDDSA, RS256];

/// The maximum number of entries in a key. A valid key has at most five.
const ENTRIES_MAX: u64 = 16;

/// A key. Each variant has one algorithm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PublicKey {
    /// An uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
}

#[derive(Default)]
struct Fields {
    kind: Option<i64>,
    algorithm: Option<i64>,
    /// The curve; `None` for RSA.
    curve: Option<i64>,
    /// The bytes of the labels -1, -2 and -3.
    bytes: [Option<Vec<u8>>; 3],
}

impl PublicKey {
    /// Reads the key at the beginning of `bytes`. Also returns the length of the key.
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader { rest: bytes };
        let mut fields = Fields::default();
        let entries = reader.map()?;
        for _ in 0..entries {
            let name = reader.number()?;
            match (name, reader.value()?) {
                (1, Value::Number(kind)) => fields.kind = Some(kind),
                (3, Value::Number(algorithm)) => fields.algorithm = Some(algorithm),
                (-1, Value::Number(curve)) => fields.curve = Some(curve),
                (-3..=-1, Value::Bytes(bytes)) => {
                    fields.bytes[usize::try_from(-1 - name).ok()?] = Some(bytes.to_vec());
                }
                _ => {}
            }
        }
        let key = fields.into_key()?;
        Some((key, bytes.len() - reader.rest.len()))
    }

    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let plain = |scheme, key: &[u8]| svc_crypto::verify(scheme, key, message, signature);
        match self {
            Self::P256(point) => plain(SignatureScheme::P256Asn1, point),
            Self::Ed25519(key) => plain(SignatureScheme::Ed25519, key),
            Self::Rsa { modulus, exponent } => {
                let key = RsaKey { modulus, exponent };
                key.verify(RsaPadding::Pkcs1, message, signature)
            }
        }
    }
}

impl Fields {
    fn into_key(self) -> Option<PublicKey> {
        let [first, second, third] = self.bytes;
        let of_length = |bytes: Option<Vec<u8>>| bytes.filter(|bytes| bytes.len() == 32);
        match (self.kind?, self.algorithm?, self.curve) {
            (2, ES256, Some(1)) => {
                let (x, y) = (of_length(second)?, of_length(third)?);
                Some(PublicKey::P256([vec![4], x, y].concat()))
            }
            (1, EDDSA, Some(6)) => Some(PublicKey::Ed25519(of_length(second)?)),
            (3, RS256, None) => Some(PublicKey::Rsa {
                modulus: first?,
                exponent: second?,
            }),
            _ => None,
        }
    }
}

enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The type of the next item, and its number or length.
    fn head(&mut self) -> Option<(u8, u64)> {
        let (&first, rest) = self.rest.split_first()?;
        let length = match first & 0x1f {
            small @ 0..=23 => {
                self.rest = rest;
                return Some((first >> 5, u64::from(small)));
            }
            24 => 1,
            25 => 2,
            26 => 4,
            // Longer numbers and items without a length do not occur in keys.
            _ => return None,
        };
        let (number, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        let number = number
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        Some((first >> 5, number))
    }

    fn map(&mut self) -> Option<u64> {
        match self.head()? {
            (5, entries) if entries <= ENTRIES_MAX => Some(entries),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Value<'a>> {
        match self.head()? {
            (0, number) => Some(Value::Number(i64::try_from(number).ok()?)),
            (1, number) => Some(Value::Number(-1 - i64::try_from(number).ok()?)),
            (2, length) => {
                let (bytes, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
                self.rest = rest;
                Some(Value::Bytes(bytes))
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<i64> {
        match self.value()? {
            Value::Number(number) => Some(number),
            Value::Bytes(_) => None,
        }
    }
}
