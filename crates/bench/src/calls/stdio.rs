//! A: a parent and a child over stdio, which is as much as any method server can take.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

/// Lines under way at one time.
const WINDOW: u64 = 64;

/// What the pipe alone gives.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    /// Microseconds of one round trip, one at a time.
    pub round_trip: f64,
    /// Lines per second, 64 under way.
    pub rate: f64,
}

pub fn measure(time: Duration) -> anyhow::Result<Pipe> {
    Ok(Pipe {
        round_trip: round_trip(time)?,
        rate: rate(time)?,
    })
}

fn line(id: u64, lines: &mut Vec<u8>) {
    let text = "x".repeat(64);
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{{\"n\":{id},\"text\":\"{text}\"}},\"id\":{id}}}\n"
    );
    lines.extend_from_slice(line.as_bytes());
}

fn start() -> anyhow::Result<Child> {
    let child = Command::new(std::env::current_exe()?)
        .arg("echo-method-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    Ok(child)
}

fn round_trip(time: Duration) -> anyhow::Result<f64> {
    let mut child = start()?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    let mut stdout = BufReader::new(child.stdout.take().context("a pipe")?);
    let (mut times, mut request, mut answer) = (Vec::new(), Vec::new(), String::new());
    let until = Instant::now() + time;
    for id in 1.. {
        let begun = Instant::now();
        if begun > until {
            break;
        }
        request.clear();
        answer.clear();
        line(id, &mut request);
        stdin.write_all(&request)?;
        stdout.read_line(&mut answer)?;
        times.push(begun.elapsed());
        ensure!(answer.ends_with(&format!(",\"id\":{id}}}\n")), "{answer}");
    }
    drop(stdin);
    child.wait()?;
    times.sort_unstable();
    let median = times.get(times.len() / 2).context("no round trip")?;
    Ok(median.as_secs_f64() * 1e6)
}

fn rate(time: Duration) -> anyhow::Result<f64> {
    let mut child = start()?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    let mut stdout = child.stdout.take().context("a pipe")?;
    let (mut buffer, mut requests) = (vec![0; 256 * 1024], Vec::new());
    let (mut sent, mut received, mut more) = (0, 0, WINDOW);
    let begun = Instant::now();
    while begun.elapsed() < time {
        requests.clear();
        for _ in 0..more {
            sent += 1;
            line(sent, &mut requests);
        }
        stdin.write_all(&requests)?;
        let count = stdout.read(&mut buffer)?;
        more = memchr::memchr_iter(b'\n', &buffer[..count]).count() as u64;
        received += more;
    }
    let rate = received as f64 / begun.elapsed().as_secs_f64();
    ensure!(received <= sent, "more answers than requests");
    let _ = child.kill();
    child.wait()?;
    Ok(rate)
}
