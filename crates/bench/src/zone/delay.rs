//! A proxy that delays every byte in both directions, and counts the statements of PostgreSQL's
//! protocol that pass through it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, sleep_until},
};

pub(super) struct DelayProxy {
    pub(super) port: u16,
    statements: Arc<AtomicU64>,
}

impl DelayProxy {
    /// Forwards connections to a port of this machine.
    pub(super) async fn start(target: u16, delay: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let statements = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&statements);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else {
                    continue;
                };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let counter = StatementCounter::new(Arc::clone(&counted));
                tokio::spawn(forward(from_client, to_server, delay, Some(counter)));
                tokio::spawn(forward(from_server, to_client, delay, None));
            }
        });
        Ok(Self { port, statements })
    }

    pub(super) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }
}

async fn forward(
    mut from: impl AsyncRead + Unpin + Send + 'static,
    mut to: impl AsyncWrite + Unpin,
    delay: Duration,
    mut counter: Option<StatementCounter>,
) {
    let (sender, mut delayed) = mpsc::channel::<(Instant, Vec<u8>)>(1_024);
    tokio::spawn(async move {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let bytes = buffer[..length].to_vec();
            if sender.send((Instant::now() + delay, bytes)).await.is_err() {
                return;
            }
        }
    });
    while let Some((due, bytes)) = delayed.recv().await {
        if !delay.is_zero() {
            sleep_until(due).await;
        }
        if let Some(counter) = &mut counter {
            counter.read(&bytes);
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// Counts `Execute` and `Query` messages of a client.
struct StatementCounter {
    statements: Arc<AtomicU64>,
    /// The head of the message that is being read.
    head: Vec<u8>,
    /// Bytes of this message's body that have not been read yet.
    left: usize,
    /// Whether the current message is the first, which has no type byte.
    is_first: bool,
}

impl StatementCounter {
    fn new(statements: Arc<AtomicU64>) -> Self {
        Self {
            statements,
            head: Vec::new(),
            left: 0,
            is_first: true,
        }
    }

    fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            let type_length = usize::from(!self.is_first);
            while self.left == 0 && self.head.len() < type_length + 4 {
                let Some((first, rest)) = bytes.split_first() else {
                    return;
                };
                self.head.push(*first);
                bytes = rest;
            }
            if self.left == 0 {
                let length: [u8; 4] = self.head[type_length..].try_into().unwrap_or_default();
                self.left = (u32::from_be_bytes(length) as usize).saturating_sub(4);
                if !self.is_first && matches!(self.head[0], b'E' | b'Q') {
                    self.statements.fetch_add(1, Ordering::Relaxed);
                }
                self.is_first = false;
                self.head.clear();
            }
        }
    }
}
