//! The way of an answer to its client: its memory is counted for the caller until the last byte is
//! written, and the table of connections sees how fast the client reads it.
//!
//! Small answers pass unchanged. Over HTTP/2 they are counted from a smaller size on, because one
//! connection has many answers at a time.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::Version;
use hyper::body::{Body as _, Frame, SizeHint};
use svc_core::UserId;
use tokio::sync::Notify;

use super::{
    connections::{PROGRESS_BYTES, Slot, UnreadAnswer},
    door::ResponseFuture,
    error::ApiError,
};
use crate::limits::{AnswerHold, BudgetFull, UNCOUNTED_BYTES_MAX};

/// Answers of up to this size are not counted over HTTP/2.
pub const HTTP2_UNCOUNTED_BYTES_MAX: usize = 1024;

/// The user for whom the memory of an answer counts. An extension of responses.
#[derive(Clone, Copy)]
pub struct Payer {
    pub user: UserId,
    /// False for the answer to a change. The change is committed, and only this answer may contain
    /// its new secret.
    pub may_be_refused: bool,
}

/// Where an answer goes: a connection, and over HTTP/2 one of its streams.
pub struct Outlet {
    slot: Arc<Slot>,
    stream: Option<Arc<Notify>>,
}

/// The answer of a handler, on its way to the client.
pub struct Sending {
    answering: ResponseFuture,
    /// `None` after the answer.
    outlet: Option<Outlet>,
}

impl Sending {
    pub fn new(answering: ResponseFuture, outlet: Outlet) -> Self {
        Self {
            answering,
            outlet: Some(outlet),
        }
    }
}

impl Future for Sending {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let response = match ready!(self.answering.as_mut().poll(context)) {
            Ok(response) => response,
            Err(never) => match never {},
        };
        Poll::Ready(Ok(match self.outlet.take() {
            Some(outlet) => outlet.send(response),
            None => response,
        }))
    }
}

impl Outlet {
    /// For the answer to the request that a connection has just received.
    pub fn new(slot: &Arc<Slot>, version: Version) -> Self {
        Self {
            slot: Arc::clone(slot),
            stream: (version == Version::HTTP_2).then(|| slot.announce_stream()),
        }
    }

    /// Prepares an answer for sending: counts its memory for the payer, and watches its progress.
    fn send(self, mut response: Response) -> Response {
        // Only streams of events have a body of unknown size. Their bytes are made when the
        // connection takes them.
        let size = response.body().size_hint().exact();
        let uncounted_max = match self.stream {
            Some(_) => HTTP2_UNCOUNTED_BYTES_MAX,
            None => UNCOUNTED_BYTES_MAX,
        };
        if size.is_some_and(|bytes| bytes <= uncounted_max as u64) {
            return response;
        }
        let extensions = response.extensions_mut();
        let hold = extensions.remove::<Arc<AnswerHold>>();
        let payer = extensions.remove::<Payer>();
        let may_be_refused = payer.is_none_or(|payer| payer.may_be_refused);
        let payer = payer.map(|payer| payer.user);
        match self.count(hold, payer, size) {
            Ok(hold) => response.map(|body| self.watch(body, payer, hold)),
            Err(_) if !may_be_refused => response.map(|body| self.watch(body, payer, None)),
            Err(full) => ApiError::from(full).into_response(),
        }
    }

    fn count(
        &self,
        hold: Option<Arc<AnswerHold>>,
        payer: Option<UserId>,
        size: Option<u64>,
    ) -> Result<Option<Arc<AnswerHold>>, BudgetFull> {
        let (Some(payer), Some(size)) = (payer, size) else {
            return Ok(hold);
        };
        let hold = hold.unwrap_or_default();
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        hold.set(self.slot.answers(), payer, bytes)?;
        Ok(Some(hold))
    }

    fn watch(self, body: Body, payer: Option<UserId>, hold: Option<Arc<AnswerHold>>) -> Body {
        Body::new(WatchedBody {
            body,
            rest: Bytes::new(),
            answer: self.slot.begin_answer(self.stream, payer, hold),
        })
    }
}

/// A body that is sent in pieces of at most [`PROGRESS_BYTES`].
struct WatchedBody {
    body: Body,
    /// The part of the last frame that is not sent yet.
    rest: Bytes,
    answer: Arc<UnreadAnswer>,
}

/// A piece of an answer. The answer is unread until all of its pieces are written.
struct Piece {
    bytes: Bytes,
    _answer: Arc<UnreadAnswer>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl WatchedBody {
    fn next_piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(self.rest.len().min(PROGRESS_BYTES));
        self.answer.note_taken(bytes.len());
        Frame::data(Bytes::from_owner(Piece {
            bytes,
            _answer: Arc::clone(&self.answer),
        }))
    }
}

impl hyper::body::Body for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let polled = Pin::new(&mut self.body).poll_frame(context);
            if polled.is_pending() {
                self.answer.note_source_waits();
            }
            match ready!(polled).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        Poll::Ready(Some(Ok(self.next_piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let hint = self.body.size_hint();
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + rest);
        }
        whole
    }
}
