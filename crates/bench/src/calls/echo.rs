//! The echo method server of the benchmarks: `svc-bench echo-method-server`.
//!
//! It does as little as possible, so that a benchmark measures mainly the path to this server. It
//! answers the lines in order, and writes the answers to all lines of one read at once.

use std::io::{Read, Write};

use anyhow::Context;

const BUFFER_BYTES: usize = 256 * 1024;

pub fn serve() -> anyhow::Result<()> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut chunk = vec![0; BUFFER_BYTES];
    let mut answers = Vec::with_capacity(BUFFER_BYTES);
    loop {
        let count = input.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        buffer.extend_from_slice(&chunk[..count]);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &buffer) {
            answer(&buffer[start..end], &mut answers)?;
            start = end + 1;
        }
        buffer.drain(..start);
        output.write_all(&answers)?;
        output.flush()?;
        answers.clear();
    }
}

/// Answers one line with its params, or with `null` if it has none. Relies on the form in which
/// agents write it: `…,"params":<params>,"id":<id>}`.
fn answer(line: &[u8], answers: &mut Vec<u8>) -> anyhow::Result<()> {
    let id = memchr::memmem::rfind(line, b",\"id\":").context("a line without an id")?;
    let params = memchr::memmem::find(line, b"\"params\":");
    answers.extend_from_slice(br#"{"jsonrpc":"2.0","result":"#);
    answers.extend_from_slice(params.map_or(b"null".as_slice(), |params| &line[params + 9..id]));
    answers.extend_from_slice(&line[id..]);
    answers.push(b'\n');
    Ok(())
}
