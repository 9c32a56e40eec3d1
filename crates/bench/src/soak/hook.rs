//! A receiver of webhooks. It only counts the requests, so that its memory does not grow.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{Router, routing::post};
use bytes::Bytes;
use tokio::task::JoinHandle;

pub struct Hook {
    pub url: String,
    received: Arc<AtomicU64>,
    serving: JoinHandle<()>,
}

impl Hook {
    pub async fn start() -> anyhow::Result<Self> {
        let received = Arc::<AtomicU64>::default();
        let counter = received.clone();
        let handler = move |_: Bytes| {
            counter.fetch_add(1, Ordering::Relaxed);
            async {}
        };
        let router = Router::new().route("/hook", post(handler));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            url,
            received,
            serving,
        })
    }

    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
