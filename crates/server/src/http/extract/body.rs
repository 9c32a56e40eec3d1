//! Reads the bodies of requests, within limits of size, time and memory.

use std::{
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use axum::{BoxError, body::HttpBody};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Frame;

use crate::{
    http::error::ApiError,
    limits::{ByteBudget, Reservation},
};

#[derive(Debug)]
pub struct CompleteBody {
    pub bytes: Bytes,
    /// Whether the body may have arrived later than the head. If so, the caller may have been
    /// revoked since the head was checked.
    pub waited: bool,
}

impl CompleteBody {
    fn immediate(bytes: Bytes) -> Self {
        Self {
            bytes,
            waited: false,
        }
    }
}

/// Reads a whole body. `reservation` accounts for the memory of a body that arrives in pieces.
pub async fn read_body<B>(
    body: B,
    max: usize,
    time_max: Duration,
    reservation: Reservation<&ByteBudget>,
) -> Result<CompleteBody, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = pin!(body);
    let first = match futures_util::poll!(body.frame()) {
        Poll::Ready(Some(Ok(frame))) => Some(frame),
        Poll::Ready(Some(Err(error))) => return Err(unreadable(error)),
        Poll::Ready(None) => return Ok(CompleteBody::immediate(Bytes::new())),
        Poll::Pending => None,
    };
    // Most bodies arrive with the head, in one piece. They need no copy and no timer.
    if let Some(data) = first.as_ref().and_then(Frame::data_ref)
        && data.len() <= max
        && body.is_end_stream()
    {
        return Ok(CompleteBody::immediate(data.clone()));
    }
    // Boxed, because otherwise the future of every call would be larger by the size of this future.
    let reading = Box::pin(tokio::time::timeout(
        time_max,
        read_pieces(body, first, max, reservation),
    ));
    let read = reading.await.unwrap_or_else(|_| {
        let seconds = time_max.as_secs();
        Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "body_too_slow",
            format!("the body did not arrive within {seconds} seconds"),
        ))
    });
    read.map(|bytes| CompleteBody {
        bytes,
        waited: true,
    })
}

/// Reads a body; `first` is the piece that was already taken from it, if any.
async fn read_pieces<B>(
    mut body: Pin<&mut B>,
    mut first: Option<Frame<Bytes>>,
    max: usize,
    mut reservation: Reservation<&ByteBudget>,
) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut whole = BytesMut::new();
    loop {
        let frame = match first.take() {
            Some(frame) => frame,
            None => match body.frame().await {
                Some(frame) => frame.map_err(unreadable)?,
                None => return Ok(whole.freeze()),
            },
        };
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.len() > max - whole.len() {
            return Err(ApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                format!("the body has more than {max} bytes"),
            ));
        }
        reservation.grow_to(whole.len() + data.len())?;
        whole.extend_from_slice(&data);
        // The buffer may have grown by more than the piece.
        reservation.grow_to(whole.capacity())?;
    }
}

fn unreadable(error: impl Into<BoxError>) -> ApiError {
    let error = error.into();
    tracing::debug!("the body of a request could not be read: {error}");
    let detail = "the body did not arrive completely; send the request again";
    ApiError::bad_request("invalid_body", detail)
}

#[cfg(test)]
mod tests;
