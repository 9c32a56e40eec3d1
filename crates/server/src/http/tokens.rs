//! `/api/tokens`: a user's own tokens (spec 5.3).

use svc_core::TokenId;
use svc_protocol::api::{NewToken, Token, Tokens};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId},
};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, caller: Caller, page: PageRequest) -> ApiResult<Json<Tokens>> {
    Ok(Json(app.identity.list_tokens(&caller, page).await?))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewToken>,
) -> ApiResult<Created<Token>> {
    Ok(Created(app.identity.create_token(&caller, new).await?))
}

pub async fn delete(app: App, caller: Caller, PathId(id): PathId<TokenId>) -> ApiResult<NoContent> {
    app.identity.delete_token(&caller, id).await?;
    Ok(NoContent)
}
