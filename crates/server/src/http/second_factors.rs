//! `/api/auth/second-factor`, `/api/auth/totp` and `/api/auth/recovery-codes`: a user's own second
//! factors. The reset by an administrator is at `/api/users`.

use svc_core::UserId;
use svc_protocol::api::{PasswordProof, RecoveryCodes, SecondFactors, TotpCode, TotpEnrolment};

use super::handlers::handlers;

handlers! {
    get(app, caller) -> Json<SecondFactors> = app.second_factors.find(&caller).await?;
    begin_totp(app, client, caller, body: PasswordProof) -> Json<TotpEnrolment> =
        app.second_factors.begin_totp(&caller, body, client.address).await?;
    confirm_totp(app, caller, body: TotpCode) -> Json<RecoveryCodes> =
        app.second_factors.confirm_totp(&caller, body).await?;
    remove_totp(app, client, caller, body: PasswordProof) -> NoContent =
        app.second_factors.remove_totp(&caller, body, client.address).await?;
    renew_recovery_codes(app, client, caller, body: PasswordProof) -> Json<RecoveryCodes> =
        app.second_factors.renew_recovery_codes(&caller, body, client.address).await?;
    reset(app, caller, id: UserId) -> NoContent = app.second_factors.reset(&caller, id).await?;
}
