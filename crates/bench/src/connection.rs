//! A persistent connection, as used by programs that call or emit often.

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
    headers: Vec<(&'static str, &'static str)>,
}

impl Connection {
    pub async fn open(user: &TestUser) -> anyhow::Result<Self> {
        Self::open_to(&user.http(), user).await
    }

    pub async fn open_to(http: &Http, user: &TestUser) -> anyhow::Result<Self> {
        let Http::Tcp(address) = http else {
            anyhow::bail!("the test server does not listen on TCP")
        };
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The task ends when its sender is dropped.
        tokio::spawn(connection);
        Ok(Self {
            sender,
            authorization: format!("Bearer {}", user.token),
            host: address.to_string(),
            headers: Vec::new(),
        })
    }

    /// Sets the headers of all later requests.
    pub fn headers(&mut self, headers: &[(&'static str, &'static str)]) {
        self.headers = headers.to_vec();
    }

    pub async fn post(&mut self, path: &str, body: &Bytes) -> anyhow::Result<(StatusCode, Bytes)> {
        let mut request = Request::post(path);
        for (name, value) in &self.headers {
            request = request.header(*name, *value);
        }
        let request = request
            .header(header::HOST, &self.host)
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .body(Full::new(body.clone()))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    }
}
