use std::convert::Infallible;

use futures_util::stream::{self, StreamExt};
use http::HeaderMap;
use http_body_util::{Full, StreamBody};

use super::*;
use crate::limits::{Account, ByteBudget};

const MAX: usize = 10;

async fn read_body<B>(body: B, max: usize, time_max: Duration) -> Result<CompleteBody, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let budget = Arc::new(ByteBudget::of_bodies(1024 * 1024));
    super::read_body(body, max, time_max, (&budget, Account::Connection(1))).await
}

/// Reads a body that arrives in pieces; `None` is a piece that never arrives.
async fn read(pieces: &[Option<&'static str>]) -> Result<Bytes, String> {
    let ends = !pieces.contains(&None);
    let frames: Vec<_> = pieces
        .iter()
        .map_while(|piece| piece.map(|piece| Frame::data(Bytes::from_static(piece.as_bytes()))))
        .map(Ok::<_, Infallible>)
        .collect();
    let frames = stream::iter(frames);
    let time_max = Duration::from_millis(50);
    let read = if ends {
        let trailers = stream::iter([Ok(Frame::trailers(HeaderMap::new()))]);
        read_body(StreamBody::new(frames.chain(trailers)), MAX, time_max).await
    } else {
        let frames = frames.chain(stream::pending());
        read_body(StreamBody::new(frames), MAX, time_max).await
    };
    read.map(|received| received.bytes)
        .map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn a_body_is_read_whole_in_one_or_many_pieces() {
    for (pieces, expected) in [
        (&[][..], ""),
        (&[Some("0123456789")], "0123456789"),
        (&[Some("0123"), Some(""), Some("456789")], "0123456789"),
    ] {
        assert_eq!(read(pieces).await.as_deref(), Ok(expected.as_bytes()));
    }
    let whole = read_body(Full::from("0123456789"), MAX, Duration::ZERO).await;
    let whole = whole.expect("a body");
    assert_eq!(&whole.bytes[..], b"0123456789");
    assert!(!whole.waited, "the caller need not be resolved again");
}

#[tokio::test]
async fn a_body_that_is_too_large_or_too_slow_is_refused() {
    for (pieces, code) in [
        (&[Some("0123456789x")][..], "body_too_large"),
        (&[Some("0123456789"), Some("x")], "body_too_large"),
        (&[None], "body_too_slow"),
        (&[Some("0123"), None], "body_too_slow"),
    ] {
        let refusal = read(pieces).await.expect_err(code);
        assert!(refusal.contains(code), "{refusal}");
    }
    let large = read_body(Full::from("0123456789x"), MAX, Duration::ZERO).await;
    let refusal = large.err().map(|error| format!("{error:?}"));
    assert!(refusal.is_some_and(|refusal| refusal.contains("body_too_large")));
}

#[tokio::test]
async fn a_complete_body_is_counted_until_its_request_ends() {
    let budget = Arc::new(ByteBudget::of_bodies(1024 * 1024));
    let read = async |pieces: Vec<Bytes>| {
        let counted = (&budget, Account::Connection(1));
        let time_max = Duration::from_secs(10);
        let read = match &pieces[..] {
            [whole] => {
                let body = Full::new(whole.clone());
                super::read_body(body, 100_000, time_max, counted).await
            }
            _ => {
                let pieces = pieces.into_iter().map(Frame::data);
                let body = StreamBody::new(stream::iter(pieces.map(Ok::<_, Infallible>)));
                super::read_body(body, 100_000, time_max, counted).await
            }
        };
        read.expect("a body")
    };
    for sizes in [&[30_000][..], &[20_000, 20_000, 1], &[100], &[50, 50]] {
        let size: usize = sizes.iter().sum();
        let pieces = || sizes.iter().map(|size| vec![b'x'; *size].into()).collect();
        let memory = BodyMemory::default();
        let mut extensions = Extensions::new();
        extensions.insert(memory.clone());
        let bytes = read(pieces()).await.into_bytes_of(&extensions);
        drop((bytes, extensions));
        assert_eq!(budget.all_bytes(), size, "the request has not ended");
        drop(memory);
        assert_eq!(budget.all_bytes(), 0);
        let part = read(pieces()).await.into_bytes().slice(..1);
        assert_eq!(budget.all_bytes(), size, "a part of the body is left");
        drop(part);
        assert_eq!(budget.all_bytes(), 0);
    }
}
