//! Secrets at rest, encrypted with the key of the data folder or of the zone.
//!
//! Owns the key, the format of encrypted secrets and the format of webhook secrets. Must never log
//! or show a key or a secret.

use std::{
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use data_encoding::HEXLOWER_PERMISSIVE;
use svc_crypto::{HmacHash, HmacKey, SEALING_KEY_BYTES, SealingKey, random};
use svc_private::{FolderKind, OwnFolder};
use svc_protocol::env;
use thiserror::Error;

/// The key file in the data folder.
pub(crate) const KEY_FILE: &str = "secret.key";
const KEY_BYTES: usize = SEALING_KEY_BYTES;
/// Version of the format: the first byte of every encrypted secret.
const FORMAT_VERSION: u8 = 1;
const WEBHOOK_SECRET_PREFIX: &str = "whsec_";
/// The lengths of a secret that Standard Webhooks allows, in bytes.
const WEBHOOK_SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
const NEW_WEBHOOK_SECRET_BYTES: usize = 32;

/// Base64 with or without padding: webhook secrets are written in both ways.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

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
    #[error(
        "a webhook secret is `{WEBHOOK_SECRET_PREFIX}` and the base64 of {} to {} bytes; leave it out to get a new one",
        WEBHOOK_SECRET_BYTES.start(),
        WEBHOOK_SECRET_BYTES.end()
    )]
    BadWebhookSecret,
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

    /// Encrypts a secret for one record. `aad` identifies the record, so that a secret copied into
    /// another record cannot be decrypted there. For the secret of a sink, `aad` begins with the
    /// bytes of the sink's id.
    pub fn encrypt(&self, secret: &[u8], aad: &[u8]) -> Vec<u8> {
        let sealed = self
            .key
            .seal(secret, aad)
            .expect("the system provided random bytes when the key was loaded");
        [[FORMAT_VERSION].as_slice(), &sealed].concat()
    }

    pub fn decrypt(&self, encrypted: &[u8], aad: &[u8]) -> Result<Vec<u8>, SecretError> {
        encrypted
            .strip_prefix(&[FORMAT_VERSION])
            .and_then(|sealed| self.key.open(sealed, aad))
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
    let bytes = random::bytes::<NEW_WEBHOOK_SECRET_BYTES>()
        .expect("the system provided random bytes when the key was loaded");
    format!("{WEBHOOK_SECRET_PREFIX}{}", BASE64.encode(bytes))
}

/// The signing key in a webhook secret.
pub fn parse_webhook_secret(text: &str) -> Result<Vec<u8>, SecretError> {
    text.strip_prefix(WEBHOOK_SECRET_PREFIX)
        .and_then(|encoded| BASE64.decode(encoded).ok())
        .filter(|bytes| WEBHOOK_SECRET_BYTES.contains(&bytes.len()))
        .ok_or(SecretError::BadWebhookSecret)
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

    fn key_in(folder: &Path) -> SecretKey {
        SecretKey::load_or_create(folder, None).expect("a key")
    }

    #[test]
    fn the_key_is_created_once_and_readable_by_its_owner_only() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sealed = key_in(folder.path()).encrypt(b"secret", b"sink 1");
        let path = folder.path().join(KEY_FILE);
        let mode = fs::metadata(&path).expect("made").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
        let again = key_in(folder.path());
        assert_eq!(
            again.decrypt(&sealed, b"sink 1").expect("same key"),
            b"secret"
        );
    }

    #[test]
    fn decryption_requires_the_same_key_record_and_bytes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let key = key_in(folder.path());
        let sealed = key.encrypt(b"secret", b"sink 1");
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        assert_ne!(sealed, key.encrypt(b"secret", b"sink 1"), "fresh nonce");
        assert!(matches!(
            key.decrypt(&sealed, b"sink 2"),
            Err(SecretError::WrongKey)
        ));
        let other = SecretKey::load_or_create(folder.path(), Some("ab".repeat(32))).expect("a key");
        let error = other.decrypt(&sealed, b"sink 1").expect_err("another key");
        assert!(error.to_string().contains("another key"), "{error}");
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(key.decrypt(&changed, b"sink 1").is_err(), "{place}");
            assert!(key.decrypt(&sealed[..place], b"sink 1").is_err(), "{place}");
        }
    }

    #[test]
    fn keys_are_32_bytes_in_base64_or_hex() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let load = |text: &str| SecretKey::load_or_create(folder.path(), Some(text.to_owned()));
        let sealed = load(&"00".repeat(32)).expect("hex").encrypt(b"x", b"");
        let same = load(&BASE64.encode([0; 32])).expect("base64");
        assert_eq!(same.decrypt(&sealed, b"").expect("the same key"), b"x");
        for bad in ["", "x", "00", &"0".repeat(63), &BASE64.encode([0; 31])] {
            assert!(matches!(load(bad), Err(SecretError::BadVariable)), "{bad}");
        }
        fs::write(folder.path().join(KEY_FILE), "broken").expect("writable");
        assert!(matches!(
            SecretKey::load_or_create(folder.path(), None),
            Err(SecretError::BadFile { .. })
        ));
    }

    #[test]
    fn webhook_secrets_are_whsec_and_base64() {
        let secret = new_webhook_secret();
        assert_eq!(parse_webhook_secret(&secret).expect("valid").len(), 32);
        assert_ne!(secret, new_webhook_secret());
        let unpadded = format!("whsec_{}", BASE64.encode([7; 25]).trim_end_matches('='));
        assert_eq!(parse_webhook_secret(&unpadded).expect("valid"), [7; 25]);
        for bad in ["", "whsec_", "whsec_c2hvcnQ=", "secret", "whsec_%%%"] {
            assert!(parse_webhook_secret(bad).is_err(), "{bad}");
        }
    }
}
