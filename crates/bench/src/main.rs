//! Measurements of the product, as commands: each starts the real `svc` program and prints what it
//! saw. Figures here never decide a test.
//!
//! ```sh
//! cargo build --release -p svc && cargo run --release -p svc-bench -- links 2000 10
//! cargo build --release -p svc && cargo run --release -p svc-bench -- events 64 64
//! cargo build --release -p svc --examples --bins && cargo run --release -p svc-bench -- scripts 5
//! cargo build --release -p svc --examples --bins && cargo run --release -p svc-bench -- mcp 20
//! ```

mod connection;
mod events;
mod links;
mod mcp;
mod scripts;

use anyhow::{Context, bail};

const USAGE: &str = "usage: svc-bench links [LINKS] [METHODS PER LINK] | events [CLIENTS] [RECEIVERS] | scripts [ROUNDS] | mcp [ROUNDS]";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("links") => {
            let links = number(args.next(), 2_000)?;
            let methods = number(args.next(), 10)?;
            links::run(links, methods).await
        }
        Some("events") => {
            let clients = number(args.next(), 64)?;
            let receivers = number(args.next(), 64)?;
            events::run(clients, receivers).await
        }
        Some("scripts") => scripts::run(number(args.next(), 5)?).await,
        Some("mcp") => mcp::run(number(args.next(), 20)?).await,
        Some("bare-route") => mcp::bare_route().await,
        _ => bail!(USAGE),
    }
}

fn number(arg: Option<String>, default: usize) -> anyhow::Result<usize> {
    arg.map_or(Ok(default), |arg| {
        arg.parse()
            .with_context(|| format!("`{arg}` is not a number; {USAGE}"))
    })
}
