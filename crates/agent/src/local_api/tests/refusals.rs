//! Connections of users without access.

use std::{
    future::ready,
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use axum::Router;
use http::StatusCode;
use tokio::{
    io::DuplexStream,
    sync::{Mutex, mpsc},
    time::Instant,
};

use super::*;
use crate::local_api::{
    gate::Gate,
    serve::{CONNECTIONS_MAX, REFUSAL_TIMEOUT, REFUSALS_MAX, serve},
};

/// Connections of another user that come before the connection of the agent's user.
const FOREIGN: usize = CONNECTIONS_MAX + REFUSALS_MAX;

/// Admits only the connection number [`FOREIGN`], counted from 0.
#[derive(Default)]
struct AdmitsOne(AtomicUsize);

impl Gate<DuplexStream> for AdmitsOne {
    async fn admit(&self, _: &DuplexStream) -> Result<Router, Router> {
        let answer = |status: StatusCode| Router::new().fallback(move || ready(status));
        match self.0.fetch_add(1, Ordering::Relaxed) {
            FOREIGN => Ok(answer(StatusCode::OK)),
            _ => Err(answer(StatusCode::FORBIDDEN)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn silent_connections_of_other_users_delay_no_request_of_the_agents_user() {
    let (sender, accepted) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let serving = tokio::spawn(async move {
        let accepted = &Mutex::new(accepted);
        let accept = || async move {
            let next = accepted.lock().await.recv().await;
            next.ok_or_else(|| io::Error::other("no more connections"))
        };
        serve(accept, AdmitsOne::default(), stopped, Duration::ZERO).await;
    });
    let connect = || {
        let (client, server) = tokio::io::duplex(4 * 1024);
        sender.send(server).expect("serves");
        client
    };
    let request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    let began = Instant::now();
    let mut silent: Vec<_> = (0..FOREIGN).map(|_| connect()).collect();
    let mut own = connect();
    own.write_all(request.as_bytes()).await.expect("writes");
    let mut start = [0; 15];
    own.read_exact(&mut start).await.expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    assert_eq!(began.elapsed(), Duration::ZERO, "no connection had to end");

    // All of them end soon, although they send nothing.
    for stream in &mut silent {
        stream.read_to_end(&mut Vec::new()).await.expect("closed");
    }
    assert!(began.elapsed() < 2 * REFUSAL_TIMEOUT);
    // A refused connection answers one request.
    let refused = exchange(connect(), &format!("{request}{request}")).await;
    assert_eq!(refused.matches("HTTP/1.1 403").count(), 1, "{refused}");
    assert!(refused.contains("connection: close\r\n"), "{refused}");
    stop.cancel();
    serving.await.expect("ends");
}
