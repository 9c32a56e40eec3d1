//! Rules of sign-in with an OpenID Connect provider: which tokens are valid for this server, and
//! what their claims mean here. The server verifies the signature (`jose`) before it applies the
//! other rules.

mod claims;
pub mod jose;
mod return_path;
mod tokens;
mod user_name;

pub use claims::{CLAIM_VALUES_MAX, ClaimValues, Claims, find_values, has_required};
pub use return_path::is_local_path;
pub use tokens::{
    ExpectedToken, IdTokenSubject, LOGOUT_TOKEN_LIFETIME, LogoutSubject, TokenError,
    check_id_token, check_logout_token,
};
pub use user_name::propose_user_name;
