//! OpenID Connect: providers, the accounts that users have at them, sign-ins in progress, and the
//! sessions and tokens that follow from a sign-in.

pub mod grants;
pub mod identities;
pub mod logins;
pub mod logouts;
pub mod providers;
pub mod sessions;
