//! The limits and timings of identity that the configuration or tests can change.

use std::time::Duration;

use serde::Deserialize;

use crate::limits::LoginPolicy;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// A session ends this long after its login, even if it is in use.
    pub session_lifetime: Duration,
    /// Sessions per user; a further login ends the oldest.
    pub sessions_per_user: u32,
    /// How long audit entries are kept.
    pub audit_retention: Duration,
    pub password: PasswordPolicy,
    pub password_login: PasswordLogin,
    pub login: LoginPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            session_lifetime: 30 * DAY,
            sessions_per_user: 50,
            audit_retention: 365 * DAY,
            password: PasswordPolicy::default(),
            password_login: PasswordLogin::All,
            login: LoginPolicy::default(),
        }
    }
}

/// Who may sign in with a password or a passkey instead of an OpenID Connect provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PasswordLogin {
    All,
    /// Users with the role `admin`.
    Admins,
    /// No user. Until a user with the role `admin` has an account of a provider, this value means
    /// `Admins`: otherwise a mistake would lock out all users.
    Off,
}

/// The cost of argon2id, with defaults that follow the advice of OWASP, and limits on how many
/// passwords are hashed or wait at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PasswordPolicy {
    pub memory_kib: u32,
    pub passes: u32,
    /// Passwords hashed at the same time.
    pub concurrency: usize,
    /// The maximum number of waiting passwords. If more come, the new password is rejected, or a
    /// waiting password of the client that has the most waiting passwords.
    pub waiting_max: usize,
    /// The maximum number of waiting passwords of one address or one user.
    pub waiting_per_payer: usize,
}

impl Default for PasswordPolicy {
    fn default() -> Self {
        Self {
            memory_kib: 19 * 1024,
            passes: 2,
            concurrency: 2,
            waiting_max: 64,
            waiting_per_payer: 8,
        }
    }
}
