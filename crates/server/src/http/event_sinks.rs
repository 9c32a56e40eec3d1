//! `/api/event-sinks` (spec 6.3, 6.6).

use axum::extract::Path;
use svc_core::SinkId;
use svc_protocol::api::{
    Backtest, BacktestResult, Deliveries, Delivery, DeliveryQuery, NewSink, Preview, PreviewResult,
    Replay, ReplayResult, Resend, ResendResult, RotateSecret, SecretRotation, Sink, SinkPatch,
    Sinks,
};
use svc_store::deliveries::DeliveryPage;

use super::{
    error::{ApiError, ApiResult},
    extract::Json,
    handlers::handlers,
};
use crate::{app::App, identity::Caller};

handlers! {
    list(app, caller, page) -> Json<Sinks> = app.event_sinks.list(&caller, page).await?.into_list();
    create(app, caller, body: NewSink) -> Created<Sink> = app.event_sinks.create(&caller, body).await?;
    get(app, caller, id: SinkId) -> Json<Sink> = app.event_sinks.get(&caller, id).await?;
    patch(app, caller, id: SinkId, body: SinkPatch) -> Json<Sink> =
        app.event_sinks.patch(&caller, id, body).await?;
    delete(app, caller, id: SinkId) -> NoContent = app.event_sinks.delete(&caller, id).await?;
    preview(app, request: Preview) -> Json<PreviewResult> =
        app.event_sinks.preview(&request.caller, request.body).await?;
    test(app, id: SinkId, request: Preview) -> Json<PreviewResult> =
        app.event_sinks.test(&request.caller, id, request.body).await?;
    rotate_secret(app, caller, id: SinkId, body: RotateSecret) -> Json<SecretRotation> =
        app.event_sinks.rotate_secret(&caller, id, body).await?;
    replay(app, caller, id: SinkId, body: Replay) -> Json<ReplayResult> =
        app.event_sinks.replay(&caller, id, body).await?;
    backtest(app, id: SinkId, request: Backtest) -> Json<BacktestResult> =
        app.event_sinks.backtest(&request.caller, id, request.body).await?;
    deliveries(app, caller, id: SinkId, query: DeliveryQuery) -> Json<Deliveries> = {
        let page = DeliveryPage::parse(query.cursor.as_deref(), query.limit)?;
        let page = page.with_exchanges(query.exchanges).only_tried(query.tried);
        let page = app.event_sinks.deliveries(&caller, id, query.state, page).await?;
        Deliveries {
            deliveries: page.items,
            next_cursor: page.next_cursor,
        }
    };
    resend_many(app, caller, id: SinkId, body: Resend) -> Json<ResendResult> =
        app.event_sinks.resend_many(&caller, id, body).await?;
}

pub async fn resend(
    app: App,
    caller: Caller,
    Path((id, n)): Path<(String, String)>,
) -> ApiResult<Json<Delivery>> {
    let unknown = || ApiError::not_found("this delivery");
    let id = id.parse().map_err(|_| unknown())?;
    let n = n.parse().map_err(|_| unknown())?;
    Ok(Json(app.event_sinks.resend(&caller, id, n).await?))
}
