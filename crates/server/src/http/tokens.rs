//! `/api/tokens`: API tokens (spec 5.3).

use svc_core::TokenId;
use svc_protocol::api::{CredentialQuery, NewToken, Token, Tokens};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId, Query},
};
use crate::{app::App, identity::Caller};

pub async fn list(
    app: App,
    caller: Caller,
    Query(query): Query<CredentialQuery>,
    page: PageRequest,
) -> ApiResult<Json<Tokens>> {
    let listing = app.identity.list_tokens(&caller, query.user, page);
    Ok(Json(listing.await?))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewToken>,
) -> ApiResult<Created<Token>> {
    Ok(Created(app.identity.create_token(&caller, new).await?))
}

pub async fn get(app: App, caller: Caller, PathId(id): PathId<TokenId>) -> ApiResult<Json<Token>> {
    Ok(Json(app.identity.get_token(&caller, id).await?))
}

pub async fn delete(app: App, caller: Caller, PathId(id): PathId<TokenId>) -> ApiResult<NoContent> {
    app.identity.delete_token(&caller, id).await?;
    Ok(NoContent)
}
