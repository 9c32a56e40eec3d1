//! Users, credentials and permissions (spec 2.4, 5).

mod access;
mod accounts;
mod changes;
mod code;
mod held;
mod power;
mod power_shared;
mod quotas;
pub mod revocation;
mod sessions;
mod tokens;
mod usage;
