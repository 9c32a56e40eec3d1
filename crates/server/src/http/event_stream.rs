//! The response of every stream of server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response, Sse,
    sse::{Event as Line, KeepAlive},
};
use futures_util::{Stream, StreamExt};
use http::{HeaderName, HeaderValue};

use super::describe::{Answer, Operation, schema_of};

/// Time between the comments that keep an idle stream open through proxies.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// The response of a stream.
pub struct EventStream(Response);

impl IntoResponse for EventStream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answer for EventStream {
    fn describe(operation: &mut Operation) {
        let body = ("text/event-stream", schema_of::<String> as _);
        operation.answer(
            200,
            "Server-sent events until the client disconnects",
            Some(body),
        );
    }
}

pub fn event_stream(lines: impl Stream<Item = Line> + Send + 'static) -> EventStream {
    // A proxy that buffers whole answers would never forward a stream.
    let unbuffered = (
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    let heartbeat = KeepAlive::new().interval(HEARTBEAT).text("still here");
    let lines = lines.map(Ok::<_, Infallible>);
    EventStream(([unbuffered], Sse::new(lines).keep_alive(heartbeat)).into_response())
}
