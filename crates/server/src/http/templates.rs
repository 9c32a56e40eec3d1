//! `/api/templates`.

use svc_core::TemplateId;
use svc_protocol::api::{NewTemplate, Template, TemplatePatch, Templates};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId},
};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, page: PageRequest) -> ApiResult<Json<Templates>> {
    Ok(Json(app.templates.list(page).await?.into_list()))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewTemplate>,
) -> ApiResult<Created<Template>> {
    Ok(Created(app.templates.create(&caller, new).await?))
}

pub async fn get(app: App, PathId(id): PathId<TemplateId>) -> ApiResult<Json<Template>> {
    Ok(Json(app.templates.get(id).await?))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<TemplateId>,
    Json(patch): Json<TemplatePatch>,
) -> ApiResult<Json<Template>> {
    Ok(Json(app.templates.patch(&caller, id, patch).await?))
}

pub async fn delete(
    app: App,
    caller: Caller,
    PathId(id): PathId<TemplateId>,
) -> ApiResult<NoContent> {
    app.templates.delete(&caller, id).await?;
    Ok(NoContent)
}
