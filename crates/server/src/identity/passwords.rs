//! Hashes and verifies passwords with argon2id, on a few separate threads. Hashing is slow on
//! purpose. To keep one client from blocking others, clients take turns and no client can fill the
//! queue.

use std::{net::IpAddr, time::Duration};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use svc_pool::{FairPool, PoolError, PoolOptions};
use svc_protocol::api::{PASSWORD_MAX, PASSWORD_MIN};

use svc_core::UserId;

use super::policy::PasswordPolicy;
use crate::{limits::network, records::RecordError};

/// Retry delay for clients when the queue is full.
const BUSY_RETRY: Duration = Duration::from_secs(1);

/// The client that is charged for the hashing of a password.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Payer {
    /// A client that is not authenticated yet.
    Address(IpAddr),
    User(UserId),
    /// The setup of a new server.
    Server,
}

impl Payer {
    pub(super) fn address(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

pub(super) struct Passwords {
    argon2: Argon2<'static>,
    /// Verified for unknown users, so that the answer takes as long as for known users.
    decoy_hash: String,
    threads: FairPool<Payer>,
}

impl Passwords {
    pub(super) fn new(policy: &PasswordPolicy) -> Result<Self, RecordError> {
        let params = Params::new(policy.memory_kib, policy.passes, 1, None).map_err(internal)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        Ok(Self {
            decoy_hash: hash(&argon2, "nobody")?,
            argon2,
            threads: FairPool::new(PoolOptions {
                name: "passwords",
                threads: policy.concurrency,
                running_per_user: policy.concurrency,
                jobs_per_user: policy.concurrency + policy.waiting_per_payer,
                waiting_max: policy.waiting_max,
                evicts: true,
            }),
        })
    }

    /// Checks the length of a new password and hashes it.
    pub(super) async fn hash(&self, payer: Payer, password: String) -> Result<String, RecordError> {
        check_length(&password)?;
        let argon2 = self.argon2.clone();
        let hashing = self.threads.run(payer, move |_| hash(&argon2, &password));
        hashing.await.map_err(refusal)?
    }

    /// Whether a password matches the stored hash. Without a hash, the answer is `false` and takes
    /// the same time.
    pub(super) async fn verify(
        &self,
        payer: Payer,
        password: String,
        stored: Option<String>,
    ) -> Result<bool, RecordError> {
        if password.len() > PASSWORD_MAX {
            return Ok(false);
        }
        let argon2 = self.argon2.clone();
        let exists = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.decoy_hash.clone());
        let verifying = self.threads.run(payer, move |_| {
            let stored = PasswordHash::new(&stored).map_err(internal)?;
            Ok::<_, RecordError>(argon2.verify_password(password.as_bytes(), &stored).is_ok())
        });
        let matches = verifying.await.map_err(refusal)??;
        Ok(matches && exists)
    }
}

fn refusal(error: PoolError) -> RecordError {
    match error {
        PoolError::UserFull { .. } | PoolError::Full => RecordError::TooManyAttempts {
            retry_after: BUSY_RETRY,
        },
        PoolError::Failed => internal(error),
    }
}

fn check_length(password: &str) -> Result<(), RecordError> {
    if password.chars().count() < PASSWORD_MIN || password.len() > PASSWORD_MAX {
        return Err(RecordError::new(
            "invalid_password",
            format!(
                "a password must have at least {PASSWORD_MIN} characters and at most {PASSWORD_MAX} bytes"
            ),
        ));
    }
    Ok(())
}

fn hash(argon2: &Argon2<'_>, password: &str) -> Result<String, RecordError> {
    Ok(argon2
        .hash_password(password.as_bytes())
        .map_err(internal)?
        .to_string())
}

fn internal(error: impl std::fmt::Display) -> RecordError {
    RecordError::Internal(format!("cannot hash or verify a password: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passwords() -> Passwords {
        Passwords::new(&PasswordPolicy {
            memory_kib: 64,
            passes: 1,
            concurrency: 1,
            waiting_max: 8,
            waiting_per_payer: 8,
        })
        .expect("valid parameters")
    }

    #[tokio::test]
    async fn hashes_are_argon2id_and_verify_only_their_password() {
        let passwords = passwords();
        let hash = passwords
            .hash(Payer::Server, "correct horse".into())
            .await
            .expect("valid");
        assert!(hash.starts_with("$argon2id$v=19$"), "{hash}");
        let verify =
            |password: &str, stored| passwords.verify(Payer::Server, password.into(), stored);
        assert_eq!(verify("correct horse", Some(hash.clone())).await, Ok(true));
        assert_eq!(verify("wrong horse", Some(hash)).await, Ok(false));
        // The password of the decoy hash is not accepted either.
        assert_eq!(verify("nobody", None).await, Ok(false));
    }

    #[tokio::test]
    async fn passwords_have_8_to_1024_characters() {
        let passwords = passwords();
        for (password, good) in [
            ("1234567".to_owned(), false),
            ("12345678".to_owned(), true),
            ("x".repeat(1_024), true),
            ("x".repeat(1_025), false),
        ] {
            let length = password.len();
            assert_eq!(
                passwords.hash(Payer::Server, password).await.is_ok(),
                good,
                "{length}"
            );
        }
    }
}
