//! One connection between the agent and the server. It delays bytes, stalls, and is cut.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use svc_simulation::Random;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// Bytes that wait at each end, as in the buffers of a socket.
const BUFFER_BYTES: usize = 64 * 1024;

pub struct Wire {
    pub number: u64,
    random: Mutex<Random>,
    /// Nothing passes before this time.
    stalled_until: Mutex<Instant>,
    /// Bytes that pass before the cut, in both directions together.
    bytes_left: Mutex<Option<usize>>,
    /// Whether the ends do not notice the cut.
    is_silent: AtomicBool,
    cut: CancellationToken,
    was_disturbed: AtomicBool,
    /// When the server accepted the link.
    pub welcomed: Mutex<Option<Instant>>,
    /// All calls that the server sent on this connection.
    pub sent: Mutex<BTreeSet<u64>>,
}

impl Wire {
    /// A new connection, with the end of the agent and the end of the server.
    pub fn open(number: u64, random: Random) -> (Arc<Self>, DuplexStream, DuplexStream) {
        let wire = Arc::new(Self {
            number,
            random: Mutex::new(random),
            stalled_until: Mutex::new(Instant::now()),
            bytes_left: Mutex::default(),
            is_silent: AtomicBool::new(false),
            cut: CancellationToken::new(),
            was_disturbed: AtomicBool::new(false),
            welcomed: Mutex::default(),
            sent: Mutex::default(),
        });
        let (agent, near_agent) = duplex(BUFFER_BYTES);
        let (server, near_server) = duplex(BUFFER_BYTES);
        let (from_agent, to_agent) = split(near_agent);
        let (from_server, to_server) = split(near_server);
        tokio::spawn(Arc::clone(&wire).pump(from_agent, to_server));
        tokio::spawn(Arc::clone(&wire).pump(from_server, to_agent));
        (wire, agent, server)
    }

    /// Whether frames may have been late or lost.
    pub fn was_disturbed(&self) -> bool {
        self.was_disturbed.load(Ordering::Relaxed)
    }

    pub fn stall(&self, time: Duration) {
        self.was_disturbed.store(true, Ordering::Relaxed);
        *self.stalled_until.lock() = Instant::now() + time;
    }

    /// Cuts the connection after some bytes, which may be in the middle of a frame.
    pub fn cut_after(&self, bytes: usize, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::Relaxed);
        *self.bytes_left.lock() = Some(bytes);
    }

    /// Removes a cut that has not happened yet.
    pub fn forgo_cut(&self) {
        *self.bytes_left.lock() = None;
    }

    pub fn cut_now(&self) {
        self.is_silent.store(false, Ordering::Relaxed);
        self.cut();
    }

    fn cut(&self) {
        self.was_disturbed.store(true, Ordering::Relaxed);
        self.cut.cancel();
    }

    async fn pump(
        self: Arc<Self>,
        mut from: ReadHalf<DuplexStream>,
        mut to: WriteHalf<DuplexStream>,
    ) {
        tokio::select! {
            biased;
            () = self.cut.cancelled() => {}
            () = self.pass(&mut from, &mut to) => return,
        }
        if self.is_silent.load(Ordering::Relaxed) {
            // Keeps both ends open.
            std::future::pending::<()>().await;
        }
    }

    async fn pass(&self, from: &mut ReadHalf<DuplexStream>, to: &mut WriteHalf<DuplexStream>) {
        let mut buffer = vec![0; BUFFER_BYTES];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let latency = 1 + self.random.lock().below(20);
            sleep(Duration::from_millis(latency)).await;
            self.wait_while_stalled().await;
            let passes = self.take_bytes(count);
            if to.write_all(&buffer[..passes]).await.is_err() {
                return;
            }
            if passes < count {
                self.cut();
                std::future::pending::<()>().await;
            }
        }
        self.wait_while_stalled().await;
        // The other end may be closed already.
        let _ = to.shutdown().await;
    }

    async fn wait_while_stalled(&self) {
        loop {
            let until = *self.stalled_until.lock();
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }

    /// How many of these bytes pass before the cut.
    fn take_bytes(&self, count: usize) -> usize {
        let mut left = self.bytes_left.lock();
        match &mut *left {
            None => count,
            Some(left) => {
                let passes = count.min(*left);
                *left -= passes;
                passes
            }
        }
    }
}
