//! The response of every stream of server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response, Sse,
    sse::{Event as Line, KeepAlive},
};
use futures_util::{Stream, StreamExt};
use http::{HeaderName, HeaderValue};

/// Time between the comments that keep an idle stream open through proxies.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

pub fn event_stream(lines: impl Stream<Item = Line> + Send + 'static) -> Response {
    // A proxy that buffers whole answers would never forward a stream.
    let unbuffered = (
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    let heartbeat = KeepAlive::new().interval(HEARTBEAT).text("still here");
    let lines = lines.map(Ok::<_, Infallible>);
    ([unbuffered], Sse::new(lines).keep_alive(heartbeat)).into_response()
}
