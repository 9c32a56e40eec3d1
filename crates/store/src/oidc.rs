//! OpenID Connect: providers, the accounts that users have there, and sign-ins in progress.

pub mod grants;
pub mod identities;
pub mod logins;
pub mod logouts;
pub mod memberships;
pub mod providers;
pub mod sessions;
