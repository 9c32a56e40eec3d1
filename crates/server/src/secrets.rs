//! Secrets at rest, encrypted with the key of the data folder or of the zone.
//!
//! Owns the key, the format of encrypted secrets, and which record and purpose each of them belongs
//! to. Must never log or show a key or a secret.

use std::{
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use base64::Engine;
use data_encoding::HEXLOWER_PERMISSIVE;
use svc_core::{
    OidcProviderId, SinkId, SourceId, UserId,
    webhook_secret::{self, BASE64},
};
use svc_crypto::{HmacHash, HmacKey, SEALING_KEY_BYTES, SealingKey, random};
use svc_private::{FolderKind, OwnFolder};
use svc_protocol::env;
use thiserror::Error;
use uuid::Uuid;

/// The key file in the data folder.
pub(crate) const KEY_FILE: &str = "secret.key";
const KEY_BYTES: usize = SEALING_KEY_BYTES;
/// Version of the format: the first byte of every encrypted secret.
const FORMAT_VERSION: u8 = 1;
const NEW_WEBHOOK_SECRET_BYTES: usize = 32;

#[derive(Debug, Error)]
pub enum SecretError {
    #[error("cannot read or create the key file `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "`{}` does not hold a key: expected 32 bytes in base64 or hex; restore the key file of this data folder",
        path.display()
    )]
    BadFile { path: PathBuf },
    #[error(
        "`{}` does not hold a key: expected 32 bytes in base64 or hex (create a key with `openssl rand -base64 32`)",
        env::SECRET_KEY
    )]
    BadVariable,
    #[error("the system provides no random bytes: {0}")]
    Random(String),
    #[error(
        "a stored secret cannot be decrypted: it was encrypted with another key (`{KEY_FILE}` in the data folder, or `{}`), or it was changed",
        env::SECRET_KEY
    )]
    WrongKey,
}

/// The record and the purpose of an encrypted secret: the associated data of its encryption. A secret
/// that is copied into another record or used for another purpose cannot be decrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SecretOf<'a> {
    Sink {
        id: SinkId,
        part: SinkSecret,
        /// The scheme, host and port of the sink's URL. A secret that was given for one receiver is
        /// never sent to another.
        origin: &'a str,
    },
    Source(SourceId),
    OidcProvider(OidcProviderId),
    /// The authenticator app of a user.
    Totp(UserId),
    /// The known text that recognises the key.
    KeyCheck,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SinkSecret {
    /// The key of the signatures: the current one or the previous one.
    Signing,
    Headers,
    ClientKey,
}

impl SecretOf<'_> {
    fn associated_data(self) -> Vec<u8> {
        let (purpose, id, origin) = match self {
            Self::Sink { id, part, origin } => {
                let purpose = match part {
                    SinkSecret::Signing => "sink signing",
                    SinkSecret::Headers => "sink headers",
                    SinkSecret::ClientKey => "sink client key",
                };
                (purpose, id.0, origin)
            }
            Self::Source(id) => ("source", id.0, ""),
            Self::OidcProvider(id) => ("sign-in provider", id.0, ""),
            Self::Totp(user) => ("authenticator app", user.0, ""),
            Self::KeyCheck => ("key check", Uuid::nil(), ""),
        };
        [
            purpose.as_bytes(),
            b" ",
            id.as_bytes(),
            b" ",
            origin.as_bytes(),
        ]
        .concat()
    }
}

/// The key that encrypts secrets at rest.
pub struct SecretKey {
    key: SealingKey,
    /// Derives keys for other purposes.
    derivation: HmacKey,
}

impl SecretKey {
    /// Uses the key in `from_env` (`SVC_SECRET_KEY`, which the servers of a zone share). Without
    /// it, uses the key file of the data folder, and creates the file at the first start.
    pub fn load_or_create(data_dir: &Path, from_env: Option<String>) -> Result<Self, SecretError> {
        // Always generated, so that a system without random bytes fails here, at the start.
        let new_key = random::bytes().map_err(|error| SecretError::Random(error.to_string()))?;
        let bytes = match from_env {
            Some(text) => parse_key(&text).ok_or(SecretError::BadVariable)?,
            None => read_or_create(data_dir, &new_key)?,
        };
        Ok(Self::new(&bytes))
    }

    fn new(bytes: &[u8; KEY_BYTES]) -> Self {
        Self {
            key: SealingKey::new(bytes),
            derivation: HmacKey::new(HmacHash::Sha256, bytes),
        }
    }

    /// A key for another purpose. The servers of a zone derive the same key.
    pub fn derive(&self, purpose: &str) -> [u8; KEY_BYTES] {
        let purpose = format!("svc key for {purpose}");
        let tag = self.derivation.sign(purpose.as_bytes());
        let mut key = [0; KEY_BYTES];
        key.copy_from_slice(tag.as_ref());
        key
    }

    pub fn seal(&self, of: SecretOf<'_>, secret: &[u8]) -> Vec<u8> {
        let sealed = self
            .key
            .seal(secret, &of.associated_data())
            .expect("the system provided random bytes when the key was loaded");
        [[FORMAT_VERSION].as_slice(), &sealed].concat()
    }

    pub fn open(&self, of: SecretOf<'_>, sealed: &[u8]) -> Result<Vec<u8>, SecretError> {
        sealed
            .strip_prefix(&[FORMAT_VERSION])
            .and_then(|sealed| self.key.open(sealed, &of.associated_data()))
            .ok_or(SecretError::WrongKey)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// A new webhook secret, as the text that its owner sees once.
pub fn new_webhook_secret() -> String {
    let key = random::bytes::<NEW_WEBHOOK_SECRET_BYTES>()
        .expect("the system provided random bytes when the key was loaded");
    webhook_secret::encode(&key)
}

fn parse_key(text: &str) -> Option<[u8; KEY_BYTES]> {
    let text = text.trim();
    // A text of this length cannot be a key in base64.
    let bytes = match text.len() == KEY_BYTES * 2 {
        true => HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?,
        false => BASE64.decode(text).ok()?,
    };
    bytes.try_into().ok()
}

fn read_or_create(
    data_dir: &Path,
    new_key: &[u8; KEY_BYTES],
) -> Result<[u8; KEY_BYTES], SecretError> {
    let path = data_dir.join(KEY_FILE);
    let file_error = |source| SecretError::File {
        path: path.clone(),
        source,
    };
    let folder = OwnFolder::open(data_dir, FolderKind::Chosen);
    let checked = folder.and_then(|folder| folder.check_file(KEY_FILE));
    checked.map_err(|refusal| file_error(refusal.into()))?;
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(data_dir, new_key).map_err(file_error)?;
            // Read back: if another process created the file first, use its key.
            fs::read_to_string(&path).map_err(file_error)?
        }
        other => other.map_err(file_error)?,
    };
    let mode = fs::metadata(&path)
        .map_err(file_error)?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        tracing::warn!(
            path = %path.display(),
            "other users can read the key of the stored secrets; set the mode of the file to 0600"
        );
    }
    parse_key(&text).ok_or(SecretError::BadFile { path })
}

/// Creates the file atomically, because a crash must not leave half a key. Never replaces a file,
/// because secrets encrypted with a lost key cannot be recovered.
fn create(data_dir: &Path, key: &[u8; KEY_BYTES]) -> io::Result<()> {
    let folder = OwnFolder::open(data_dir, FolderKind::Chosen)?;
    let text = format!("{}\n", BASE64.encode(key));
    match folder.write_new(KEY_FILE, text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SecretOf<'static> = SecretOf::Source(SourceId(Uuid::from_u128(1)));

    fn key_in(folder: &Path) -> SecretKey {
        SecretKey::load_or_create(folder, None).expect("a key")
    }

    #[test]
    fn the_key_is_created_once_and_readable_by_its_owner_only() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sealed = key_in(folder.path()).seal(ONE, b"secret");
        let path = folder.path().join(KEY_FILE);
        let mode = fs::metadata(&path).expect("made").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
        let again = key_in(folder.path());
        assert_eq!(again.open(ONE, &sealed).expect("same key"), b"secret");
    }

    #[test]
    fn decryption_requires_the_same_key_record_and_bytes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let key = key_in(folder.path());
        let sealed = key.seal(ONE, b"secret");
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        assert_ne!(sealed, key.seal(ONE, b"secret"), "fresh nonce");
        let sink = |id, part, origin| SecretOf::Sink {
            id: SinkId(Uuid::from_u128(id)),
            part,
            origin,
        };
        let all = [
            ONE,
            SecretOf::Source(SourceId(Uuid::from_u128(2))),
            SecretOf::OidcProvider(OidcProviderId(Uuid::from_u128(1))),
            SecretOf::Totp(UserId(Uuid::from_u128(1))),
            SecretOf::KeyCheck,
            sink(1, SinkSecret::Signing, "https://a:443"),
            sink(2, SinkSecret::Signing, "https://a:443"),
            sink(1, SinkSecret::Signing, "https://b:443"),
            sink(1, SinkSecret::Headers, "https://a:443"),
            sink(1, SinkSecret::ClientKey, "https://a:443"),
        ];
        for of in all {
            let opened = key.open(of, &sealed);
            assert_eq!(opened.is_ok(), of == ONE, "{of:?}");
            let other = key.seal(of, b"other");
            for reader in all {
                let opened = key.open(reader, &other);
                assert_eq!(opened.is_ok(), reader == of, "{of:?} as {reader:?}");
            }
        }
        let other = SecretKey::load_or_create(folder.path(), Some("ab".repeat(32))).expect("a key");
        let error = other.open(ONE, &sealed).expect_err("another key");
        assert!(error.to_string().contains("another key"), "{error}");
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(key.open(ONE, &changed).is_err(), "{place}");
            assert!(key.open(ONE, &sealed[..place]).is_err(), "{place}");
        }
    }

    #[test]
    fn keys_are_32_bytes_in_base64_or_hex() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let load = |text: &str| SecretKey::load_or_create(folder.path(), Some(text.to_owned()));
        let sealed = load(&"00".repeat(32)).expect("hex").seal(ONE, b"x");
        let same = load(&BASE64.encode([0; 32])).expect("base64");
        assert_eq!(same.open(ONE, &sealed).expect("the same key"), b"x");
        for bad in ["", "x", "00", &"0".repeat(63), &BASE64.encode([0; 31])] {
            assert!(matches!(load(bad), Err(SecretError::BadVariable)), "{bad}");
        }
        fs::write(folder.path().join(KEY_FILE), "broken").expect("writable");
        assert!(matches!(
            SecretKey::load_or_create(folder.path(), None),
            Err(SecretError::BadFile { .. })
        ));
    }
}
