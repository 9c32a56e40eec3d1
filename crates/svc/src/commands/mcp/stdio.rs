//! `svc mcp stdio`: a bridge. It connects an MCP client, which speaks over stdin and stdout, to
//! `/mcp` of a server, which speaks HTTP.
//!
//! Modules:
//! - `message` reads the lines of the client.
//! - `relay` sends a message to the server and writes the answer.
//! - `listen` keeps the streams of list changes open.
//! - `legacy` has what only clients of earlier versions need.
//!
//! Only messages of the protocol go to stdout, one per line; all else goes to stderr. A
//! `tools/call` is never sent a second time, even if its connection is lost.

mod legacy;
mod listen;
mod message;
mod relay;

use std::{io, sync::Arc, time::Duration};

use svc_agent::{ChildLine, LineReader};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
    time::timeout,
};

use self::{
    message::{INVALID_REQUEST, Message, error_line},
    relay::Bridge,
};
use crate::{
    commands::Shell,
    context,
    exit::{Exit, OrFail, Outcome},
    output::clean,
};

/// Maximum bytes of a line from the client. Higher than the server's limit, so that the server
/// refuses a long request: its refusal names the request and the reason.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum number of messages that wait to be written to stdout.
const WAITING_MAX: usize = 64;
/// How long writing the last answers may take.
const WRITE_MAX: Duration = Duration::from_secs(5);
/// How long to wait for answers after the client has closed stdin.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// Connect an MCP client that speaks over stdin and stdout
///
/// The client starts this command; see `svc mcp config`. The server and the token come from the
/// saved context, or from SVC_URL and SVC_TOKEN.
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc mcp stdio\n  svc mcp config --client claude-desktop --create-token")]
pub struct Args {
    /// Offer two tools that find and call the others, for users with hundreds of tools
    #[arg(long)]
    search: bool,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let connection = context::to_server(shell.globals.context.as_deref(), &shell.environment)?;
    let client = connection.client;
    log(&format!("relays to {}", client.target().url("/mcp")));
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let ended = serve(client, args.search, input, output).await;
    match ended.or_fail("cannot read stdin")? {
        Ended::Input => Ok(Exit::Ok),
        // Exit here: a thread is blocked in a read of stdin and would keep the process alive.
        Ended::Output => std::process::exit(0),
    }
}

/// Which stream the client closed.
#[derive(PartialEq, Eq, Debug)]
enum Ended {
    Input,
    Output,
}

async fn serve(
    client: svc_client::Client,
    search: bool,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<Ended> {
    let (out, lines) = mpsc::channel(WAITING_MAX);
    let mut writer = tokio::spawn(write_lines(lines, output));
    let bridge = Arc::new(Bridge::new(client, search, out.clone()));
    let mut input = LineReader::new(input, LINE_BYTES_MAX);
    loop {
        let line = tokio::select! {
            line = input.next() => line?,
            _ = &mut writer => return Ok(Ended::Output),
        };
        match line {
            None => break,
            Some(ChildLine::TooLong(bytes)) => {
                let why =
                    format!("the line has {bytes} bytes; at most {LINE_BYTES_MAX} are allowed");
                log(&why);
                let _ = out.send(error_line(None, INVALID_REQUEST, &why)).await;
            }
            Some(ChildLine::Whole(line)) if line.trim_ascii().is_empty() => {}
            Some(ChildLine::Whole(line)) => match Message::read(line) {
                Ok(Some(message)) => bridge.take(message).await,
                // The server sends no requests, so it expects no response.
                Ok(None) => log("ignores a response of the client"),
                Err(refusal) => {
                    let _ = out.send(refusal).await;
                }
            },
        }
    }
    bridge.finish(DRAIN_MAX).await;
    // The writer ends when the last sender is dropped.
    drop((bridge, out));
    let _ = timeout(WRITE_MAX, writer).await;
    Ok(Ended::Input)
}

/// Writes each message as one line, until the last sender is dropped or the client has closed the
/// output.
async fn write_lines(mut lines: mpsc::Receiver<Vec<u8>>, mut output: impl AsyncWrite + Unpin) {
    while let Some(mut line) = lines.recv().await {
        line.push(b'\n');
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn log(text: &str) {
    eprintln!("svc mcp stdio: {}", clean(text));
}
