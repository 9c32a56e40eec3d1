//! `/api/scripts`.

use svc_core::ScriptId;
use svc_protocol::api::{
    CheckScript, NewScript, RunNewScript, RunScript, Script, ScriptCheck, ScriptPatch, ScriptQuery,
    ScriptRunResult, Scripts,
};
use svc_store::PageRequest;

use super::{
    error::ApiResult,
    extract::{Created, Json, NoContent, PathId, Query, Submission},
};
use crate::{app::App, identity::Caller};

pub async fn list(
    app: App,
    caller: Caller,
    Query(query): Query<ScriptQuery>,
    page: PageRequest,
) -> ApiResult<Json<Scripts>> {
    Ok(Json(
        app.scripts.list(&caller, query, page).await?.into_list(),
    ))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewScript>,
) -> ApiResult<Created<Script>> {
    Ok(Created(app.scripts.create(&caller, new).await?))
}

pub async fn get(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScriptId>,
) -> ApiResult<Json<Script>> {
    Ok(Json(app.scripts.get(&caller, id).await?))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScriptId>,
    Json(patch): Json<ScriptPatch>,
) -> ApiResult<Json<Script>> {
    Ok(Json(app.scripts.patch(&caller, id, patch).await?))
}

pub async fn delete(
    app: App,
    caller: Caller,
    PathId(id): PathId<ScriptId>,
) -> ApiResult<NoContent> {
    app.scripts.delete(&caller, id).await?;
    Ok(NoContent)
}

pub async fn check(
    app: App,
    Submission { caller, body }: Submission<CheckScript>,
) -> ApiResult<Json<ScriptCheck>> {
    Ok(Json(app.scripts.check(&caller, body.source).await?))
}

pub async fn run_new(
    app: App,
    Submission { caller, body }: Submission<RunNewScript>,
) -> ApiResult<Json<ScriptRunResult>> {
    Ok(Json(app.scripts.run_new(&caller, body).await?))
}

pub async fn run(
    app: App,
    PathId(id): PathId<ScriptId>,
    request: Submission<RunScript>,
) -> ApiResult<Json<ScriptRunResult>> {
    let ran = app.scripts.run(&request.caller, id, request.body).await?;
    Ok(Json(ran))
}
