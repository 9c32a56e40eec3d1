//! `/api/event-sinks` (spec 6.3, 6.6).

use axum::extract::Path;
use svc_core::SinkId;
use svc_protocol::api::{
    Backtest, BacktestResult, Deliveries, Delivery, DeliveryQuery, NewSink, Preview, PreviewResult,
    Replay, ReplayResult, Resend, ResendResult, RotateSecret, SecretRotation, Sink, SinkPatch,
    Sinks,
};
use svc_store::{PageRequest, deliveries::DeliveryPage};

use super::{
    error::{ApiError, ApiResult},
    extract::{Created, Json, NoContent, PathId, Query, Submission},
};
use crate::{app::App, identity::Caller};

pub async fn list(app: App, caller: Caller, page: PageRequest) -> ApiResult<Json<Sinks>> {
    Ok(Json(app.event_sinks.list(&caller, page).await?.into_list()))
}

pub async fn create(
    app: App,
    caller: Caller,
    Json(new): Json<NewSink>,
) -> ApiResult<Created<Sink>> {
    Ok(Created(app.event_sinks.create(&caller, new).await?))
}

pub async fn get(app: App, caller: Caller, PathId(id): PathId<SinkId>) -> ApiResult<Json<Sink>> {
    Ok(Json(app.event_sinks.get(&caller, id).await?))
}

pub async fn patch(
    app: App,
    caller: Caller,
    PathId(id): PathId<SinkId>,
    Json(patch): Json<SinkPatch>,
) -> ApiResult<Json<Sink>> {
    Ok(Json(app.event_sinks.patch(&caller, id, patch).await?))
}

pub async fn delete(app: App, caller: Caller, PathId(id): PathId<SinkId>) -> ApiResult<NoContent> {
    app.event_sinks.delete(&caller, id).await?;
    Ok(NoContent)
}

pub async fn preview(
    app: App,
    Submission { caller, body }: Submission<Preview>,
) -> ApiResult<Json<PreviewResult>> {
    Ok(Json(app.event_sinks.preview(&caller, body).await?))
}

pub async fn test(
    app: App,
    PathId(id): PathId<SinkId>,
    Submission { caller, body }: Submission<Preview>,
) -> ApiResult<Json<PreviewResult>> {
    Ok(Json(app.event_sinks.test(&caller, id, body).await?))
}

pub async fn rotate_secret(
    app: App,
    caller: Caller,
    PathId(id): PathId<SinkId>,
    Json(request): Json<RotateSecret>,
) -> ApiResult<Json<SecretRotation>> {
    Ok(Json(
        app.event_sinks.rotate_secret(&caller, id, request).await?,
    ))
}

pub async fn replay(
    app: App,
    caller: Caller,
    PathId(id): PathId<SinkId>,
    Json(request): Json<Replay>,
) -> ApiResult<Json<ReplayResult>> {
    Ok(Json(app.event_sinks.replay(&caller, id, request).await?))
}

pub async fn backtest(
    app: App,
    PathId(id): PathId<SinkId>,
    Submission { caller, body }: Submission<Backtest>,
) -> ApiResult<Json<BacktestResult>> {
    Ok(Json(app.event_sinks.backtest(&caller, id, body).await?))
}

pub async fn resend_many(
    app: App,
    caller: Caller,
    PathId(id): PathId<SinkId>,
    Json(request): Json<Resend>,
) -> ApiResult<Json<ResendResult>> {
    let resent = app.event_sinks.resend_many(&caller, id, request);
    Ok(Json(resent.await?))
}

pub async fn deliveries(
    app: App,
    caller: Caller,
    PathId(id): PathId<SinkId>,
    Query(query): Query<DeliveryQuery>,
) -> ApiResult<Json<Deliveries>> {
    let page = DeliveryPage::parse(query.cursor.as_deref(), query.limit)?;
    let page = page.with_exchanges(query.exchanges).only_tried(query.tried);
    let listed = app.event_sinks.deliveries(&caller, id, query.state, page);
    let page = listed.await?;
    Ok(Json(Deliveries {
        deliveries: page.items,
        next_cursor: page.next_cursor,
    }))
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
