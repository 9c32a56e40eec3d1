//! The load generator: connections that send a request, compare the answer and send the next one.
//!
//! It writes HTTP by hand on its own single-threaded runtime, so that it uses little CPU time, and
//! the same amount in every case.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use super::exchange::Exchange;

const BUFFER_BYTES: usize = 64 * 1024;

/// The measurements of one slice: a short time in which one case runs.
#[derive(Clone, Debug)]
pub struct Slice {
    pub calls: usize,
    pub seconds: f64,
    /// Latency of a request, in microseconds.
    pub p50: f64,
    pub p99: f64,
    /// CPU time of each process, in microseconds per call.
    pub cpu: Vec<f64>,
}

/// Sends requests on several connections for the given time. Returns the latency of each request,
/// and the duration of the whole run.
pub fn run(
    address: SocketAddr,
    exchange: &Exchange,
    connections: usize,
    time: Duration,
) -> anyhow::Result<(Vec<Duration>, Duration)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..connections {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let begun = Instant::now();
        let mut running = JoinSet::new();
        for (index, stream) in streams.into_iter().enumerate() {
            let first = index as u64 * 1_000_000;
            running.spawn(drive(
                stream,
                exchange.clone(),
                first,
                End::At(begun + time),
            ));
        }
        let mut times = Vec::new();
        while let Some(done) = running.join_next().await {
            times.extend(done.context("a connection's task failed")??);
        }
        Ok((times, begun.elapsed()))
    })
}

/// Sends `count` requests one after the other on one connection. Returns the number of answers.
pub fn run_many(address: SocketAddr, exchange: &Exchange, count: usize) -> anyhow::Result<usize> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let times = drive(stream, exchange.clone(), 0, End::After(count)).await?;
        Ok(times.len())
    })
}

/// When a connection stops.
enum End {
    At(Instant),
    After(usize),
}

async fn drive(
    mut stream: TcpStream,
    mut exchange: Exchange,
    first: u64,
    end: End,
) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut number = first;
    loop {
        let begun = Instant::now();
        let is_over = match end {
            End::At(until) => begun >= until,
            End::After(count) => times.len() == count,
        };
        if is_over {
            return Ok(times);
        }
        number += 1;
        stream.write_all(exchange.request.with(number)).await?;
        let body = read_answer(&mut stream, &mut buffer).await?;
        times.push(begun.elapsed());
        ensure!(
            &buffer[body] == exchange.answer.with(number),
            "request {number} got an answer that is not its own"
        );
    }
}

/// Reads one response into the buffer and returns the position of its body. A status other than 200
/// is an error.
pub async fn read_answer(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> anyhow::Result<std::ops::Range<usize>> {
    buffer.clear();
    let mut head = None;
    loop {
        if stream.read_buf(buffer).await? == 0 {
            bail!("the connection ended: {}", String::from_utf8_lossy(buffer));
        }
        if head.is_none() {
            head = memchr::memmem::find(buffer, b"\r\n\r\n").map(|end| end + 4);
        }
        let Some(start) = head else { continue };
        let end = start + content_length(&buffer[..start])?;
        if buffer.len() >= end {
            let is_right = buffer.starts_with(b"HTTP/1.1 200");
            ensure!(is_right, "{}", String::from_utf8_lossy(buffer));
            return Ok(start..end);
        }
    }
}

fn content_length(head: &[u8]) -> anyhow::Result<usize> {
    let name = b"content-length: ";
    let start = memchr::memmem::find(head, name).context("an answer without a length")?;
    let digits = head[start + name.len()..].iter();
    let digits = digits.take_while(|byte| byte.is_ascii_digit());
    Ok(digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0')))
}
