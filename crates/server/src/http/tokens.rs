//! `/api/tokens`: API tokens (spec 5.3).

use svc_core::TokenId;
use svc_protocol::api::{CredentialQuery, NewToken, Token, Tokens};

use super::handlers::handlers;

handlers! {
    list(app, caller, query: CredentialQuery, page) -> Json<Tokens> =
        app.identity.list_tokens(&caller, query.user, page).await?;
    create(app, caller, body: NewToken) -> Created<Token> = app.identity.create_token(&caller, body).await?;
    get(app, caller, id: TokenId) -> Json<Token> = app.identity.get_token(&caller, id).await?;
    delete(app, caller, id: TokenId) -> NoContent = app.identity.delete_token(&caller, id).await?;
}
