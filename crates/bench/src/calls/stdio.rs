//! Reference A: a parent process and a child process exchange lines over stdio. No call of a method
//! server can be faster than that.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

use super::exchange::{FIRST, Template};

/// Lines in flight at one time.
const WINDOW: u64 = 64;

/// The results of the pipe alone.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    /// Microseconds of a round trip, with one line in flight.
    pub round_trip: f64,
    /// Lines per second, with 64 lines in flight.
    pub rate: f64,
}

pub fn measure(time: Duration) -> anyhow::Result<Pipe> {
    Ok(Pipe {
        round_trip: round_trip(time)?,
        rate: rate(time)?,
    })
}

/// A line and its response. The number is in the params of the line, in the result of the response,
/// and is the id of both.
fn templates() -> (Template, Template) {
    let params = format!(r#"{{"n":{FIRST},"text":"{}"}}"#, "x".repeat(64));
    let line =
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{params},\"id\":{FIRST}}}\n");
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"result\":{params},\"id\":{FIRST}}}\n");
    (
        Template::new(line.into_bytes()),
        Template::new(answer.into_bytes()),
    )
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
    let (mut line, mut answer) = templates();
    let (mut times, mut answered) = (Vec::new(), Vec::new());
    let until = Instant::now() + time;
    for number in 1.. {
        let begun = Instant::now();
        if begun > until {
            break;
        }
        answered.clear();
        stdin.write_all(line.with(number))?;
        stdout.read_until(b'\n', &mut answered)?;
        times.push(begun.elapsed());
        check(&answered, answer.with(number))?;
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
    let (mut line, mut answer) = templates();
    let (mut buffer, mut requests) = (vec![0; 256 * 1024], Vec::new());
    // The expected responses, in the order of the requests.
    let mut expected = Vec::new();
    let (mut sent, mut received, mut more) = (0, 0, WINDOW);
    let begun = Instant::now();
    while begun.elapsed() < time {
        requests.clear();
        for _ in 0..more {
            sent += 1;
            requests.extend_from_slice(line.with(sent));
            expected.extend_from_slice(answer.with(sent));
        }
        stdin.write_all(&requests)?;
        let count = stdout.read(&mut buffer)?;
        ensure!(count > 0, "the child has ended");
        check(&buffer[..count], &expected[..count.min(expected.len())])?;
        expected.drain(..count);
        more = memchr::memchr_iter(b'\n', &buffer[..count]).count() as u64;
        received += more;
    }
    let rate = received as f64 / begun.elapsed().as_secs_f64();
    let _ = child.kill();
    child.wait()?;
    Ok(rate)
}

fn check(answered: &[u8], expected: &[u8]) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy;
    ensure!(
        answered == expected,
        "the child answered `{}` instead of `{}`",
        text(answered),
        text(expected)
    );
    Ok(())
}
