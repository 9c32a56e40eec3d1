//! `/api/auth/passkeys`: logins with passkeys, and a user's own passkeys.

use svc_core::PasskeyId;
use svc_protocol::api::{
    self, CreatedPasskey, NewPasskey, Passkey, PasskeyChallenge, PasskeyCreation, PasskeyLogin,
    PasskeyPatch, PasskeyRequest, PasswordProof,
};

use super::{extract::Json, handlers::handlers};

handlers! {
    challenge(app, client, body: PasskeyChallenge) -> Json<PasskeyRequest> =
        app.second_factors.challenge_passkey(body, client.address, client.origin).await?;
    login(app, client, body: PasskeyLogin) -> WithCookies<Json<api::User>> = {
        let (details, origin) = (client.details(), client.origin.clone());
        let session = app.second_factors.log_in_with_passkey(body, details, origin).await?;
        client.logged_in(&app, &session)
    };
    begin(app, client, caller, body: PasswordProof) -> Json<PasskeyCreation> =
        app.second_factors.begin_passkey(&caller, body, client.address, client.origin).await?;
    create(app, client, caller, body: NewPasskey) -> Created<CreatedPasskey> =
        app.second_factors.add_passkey(&caller, body, client.origin).await?;
    patch(app, caller, id: PasskeyId, body: PasskeyPatch) -> Json<Passkey> =
        app.second_factors.rename_passkey(&caller, id, body).await?;
    remove(app, client, caller, id: PasskeyId, body: PasswordProof) -> NoContent =
        app.second_factors.remove_passkey(&caller, id, body, client.address).await?;
}
