//! A connection that is kept: what a program that calls or emits often would hold.

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use svc_testkit::{Http, TestUser};
use tokio::net::TcpStream;

pub struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    authorization: String,
    host: String,
}

impl Connection {
    pub async fn open(user: &TestUser) -> anyhow::Result<Self> {
        let Http::Tcp(address) = user.http() else {
            anyhow::bail!("a test server listens on TCP")
        };
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with its sender.
        tokio::spawn(connection);
        Ok(Self {
            sender,
            authorization: format!("Bearer {}", user.token),
            host: address.to_string(),
        })
    }

    pub async fn post(&mut self, path: &str, body: &Bytes) -> anyhow::Result<(StatusCode, Bytes)> {
        let request = Request::post(path)
            .header(header::HOST, &self.host)
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    }
}
