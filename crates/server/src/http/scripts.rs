//! `/api/scripts`.

use svc_core::ScriptId;
use svc_protocol::api::{
    CheckScript, NewScript, RunNewScript, RunScript, Script, ScriptCheck, ScriptPatch, ScriptQuery,
    ScriptRunResult, Scripts,
};

use super::handlers::handlers;

handlers! {
    list(app, caller, query: ScriptQuery, page) -> Json<Scripts> =
        app.scripts.list(&caller, query, page).await?.into_list();
    create(app, caller, body: NewScript) -> Created<Script> = app.scripts.create(&caller, body).await?;
    get(app, caller, id: ScriptId) -> Json<Script> = app.scripts.get(&caller, id).await?;
    patch(app, caller, id: ScriptId, body: ScriptPatch) -> Json<Script> =
        app.scripts.patch(&caller, id, body).await?;
    delete(app, caller, id: ScriptId) -> NoContent = app.scripts.delete(&caller, id).await?;
    check(app, request: CheckScript) -> Json<ScriptCheck> =
        app.scripts.check(&request.caller, request.body.source).await?;
    run_new(app, request: RunNewScript) -> Json<ScriptRunResult> =
        app.scripts.run_new(&request.caller, request.body).await?;
    run(app, id: ScriptId, request: RunScript) -> Json<ScriptRunResult> =
        app.scripts.run(&request.caller, id, request.body).await?;
}
