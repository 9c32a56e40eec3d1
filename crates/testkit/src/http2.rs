//! An HTTP/2 client with one connection, which can send bodies that never end.

use std::{
    convert::Infallible,
    net::{Shutdown, SocketAddr},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Request;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, task::JoinHandle};

use crate::http::Answer;

/// One connection; closed when dropped.
pub struct Http2 {
    address: SocketAddr,
    sender: SendRequest<BoxBody<Bytes, Infallible>>,
    connection: JoinHandle<()>,
    /// Used to close the connection, because unfinished requests would keep it open.
    socket: std::net::TcpStream,
}

/// The body of an answer. The server may send only a few bytes of it before they are read.
pub struct UnreadAnswer(Incoming);

impl UnreadAnswer {
    /// Reads the body, or returns why the server ended it.
    pub async fn read(self) -> Result<Bytes, String> {
        let whole = self.0.collect().await;
        whole
            .map(|whole| whole.to_bytes())
            .map_err(|error| error.to_string())
    }
}

impl Http2 {
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address)
            .await
            .expect("the server listens");
        let stream = stream.into_std().expect("a socket");
        let socket = stream.try_clone().expect("a socket");
        let stream = TcpStream::from_std(stream).expect("a socket");
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("the server supports HTTP/2");
        Self {
            address,
            sender,
            socket,
            connection: tokio::spawn(async move {
                let _ = connection.await;
            }),
        }
    }

    /// Sends a POST and reads the head of the answer.
    pub async fn post_unread(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> UnreadAnswer {
        let mut request = Request::post(format!("http://{}{path}", self.address))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(BodyExt::boxed(Full::new(body)));
        let mut sender = self.sender.clone();
        let answer = sender.send_request(request.expect("well-formed")).await;
        UnreadAnswer(answer.expect("an answer").into_body())
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&self) -> bool {
        self.connection.is_finished()
    }

    /// Sends a POST with a body of these pieces. The body ends only if `is_whole` is set.
    pub fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        pieces: Vec<Bytes>,
        is_whole: bool,
    ) -> JoinHandle<Result<Answer, String>> {
        let mut request = Request::post(format!("http://{}{path}", self.address))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let frames = stream::iter(pieces).map(|piece| Ok(Frame::data(piece)));
        let body = match is_whole {
            true => BodyExt::boxed(StreamBody::new(frames)),
            false => BodyExt::boxed(StreamBody::new(frames.chain(stream::pending()))),
        };
        let request = request.body(body).expect("well-formed");
        let mut sender = self.sender.clone();
        tokio::spawn(async move {
            sender.ready().await.map_err(|error| error.to_string())?;
            let response = sender.send_request(request).await;
            let (head, body) = response.map_err(|error| error.to_string())?.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?;
            Ok(Answer {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.to_bytes(),
            })
        })
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        self.connection.abort();
    }
}
