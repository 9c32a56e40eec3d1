//! Reads the bodies of requests, within limits of size, time and memory.

use std::{
    pin::{Pin, pin},
    sync::{Arc, OnceLock},
    task::Poll,
    time::Duration,
};

use axum::{BoxError, body::HttpBody};
use bytes::Bytes;
use http::Extensions;
use http_body_util::BodyExt;
use hyper::body::Frame;

use crate::{
    http::{error::ApiError, failures},
    limits::{Account, ByteBudget, ChargedBytes, Hold, Reservation},
};

pub struct CompleteBody {
    pub bytes: Bytes,
    /// The memory of the body. Must live as long as the body, or what was made of it.
    pub memory: Hold,
    /// Whether the body may have arrived later than the head. If so, the caller may have been
    /// revoked since the head was checked.
    pub waited: bool,
}

/// The memory of the body of a request. The authentication middleware adds it to the extensions of
/// the request and keeps it until the request ends: a change that waits for its commit still holds
/// the parsed body.
pub type BodyMemory = Arc<OnceLock<Hold>>;

impl CompleteBody {
    /// The bytes, counted until the request with these extensions ends.
    pub fn into_bytes_of(self, extensions: &Extensions) -> Bytes {
        if let Some(memory) = extensions.get::<BodyMemory>() {
            // Never set twice: a request has one body.
            let _ = memory.set(self.memory);
        }
        self.bytes
    }

    /// The bytes, counted as long as a part of them exists.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(ChargedBytes::new(self.bytes, self.memory))
    }
}

/// Reads a whole body, whose memory `budget` counts for the account.
#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` would store its arguments twice"
)]
pub fn read_body<B>(
    body: B,
    max: usize,
    time_max: Duration,
    (budget, account): (&Arc<ByteBudget>, Account),
) -> impl Future<Output = Result<CompleteBody, ApiError>>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    async move {
        let mut body = pin!(body);
        let first = match futures_util::poll!(body.frame()) {
            Poll::Ready(Some(Ok(frame))) => Some(frame),
            Poll::Ready(Some(Err(error))) => return Err(unreadable(error)),
            Poll::Ready(None) => {
                return Ok(CompleteBody {
                    bytes: Bytes::new(),
                    memory: budget.take(account, 0)?,
                    waited: false,
                });
            }
            Poll::Pending => None,
        };
        // Most bodies arrive with the head, in one piece. They need no copy and no timer.
        if let Some(data) = first.as_ref().and_then(Frame::data_ref)
            && data.len() <= max
            && body.is_end_stream()
        {
            return Ok(CompleteBody {
                bytes: data.clone(),
                memory: budget.take(account, data.len())?,
                waited: false,
            });
        }
        // Boxed, because otherwise the future of every call would be larger by the size of this future.
        let reading = Box::pin(tokio::time::timeout(
            time_max,
            read_pieces(body, first, max, budget.begin(account)),
        ));
        let read = reading.await.unwrap_or_else(|_| {
            let seconds = time_max.as_secs();
            Err(ApiError::new(
                failures::BODY_TOO_SLOW,
                format!("the body did not arrive within {seconds} seconds"),
            ))
        });
        read.map(|(bytes, memory)| CompleteBody {
            bytes,
            memory,
            waited: true,
        })
    }
}

/// Reads a body; `first` is the piece that was already taken from it, if any.
async fn read_pieces<B>(
    mut body: Pin<&mut B>,
    mut first: Option<Frame<Bytes>>,
    max: usize,
    mut reservation: Reservation,
) -> Result<(Bytes, Hold), ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut whole = Vec::new();
    loop {
        let frame = match first.take() {
            Some(frame) => frame,
            None => match body.frame().await {
                Some(frame) => frame.map_err(unreadable)?,
                None => break,
            },
        };
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if data.len() > max - whole.len() {
            return Err(ApiError::new(
                failures::BODY_TOO_LARGE,
                format!("the body has more than {max} bytes"),
            ));
        }
        reservation.grow_to(whole.len() + data.len())?;
        whole.extend_from_slice(&data);
        // The buffer may have grown by more than the piece.
        reservation.grow_to(whole.capacity())?;
    }
    // A body may stay for an hour, so its spare memory is freed.
    whole.shrink_to_fit();
    let memory = reservation.settle(whole.len())?;
    Ok((whole.into(), memory))
}

fn unreadable(error: impl Into<BoxError>) -> ApiError {
    let error = error.into();
    tracing::debug!("the body of a request could not be read: {error}");
    let detail = "the body did not arrive completely; send the request again";
    ApiError::new(failures::INVALID_BODY, detail)
}

#[cfg(test)]
mod tests;
