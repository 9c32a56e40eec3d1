//! Benchmarks of the product, as commands. Each starts the real `svc` program and prints the
//! results. Only `cost` is used by a test: it counts system calls and measures no time.
//!
//! ```sh
//! cargo build --profile dist --ignore-rust-version -p svc -p svc-bench --bins --examples
//! target/dist/svc-bench calls
//! target/dist/svc-bench cost
//! target/dist/svc-bench links 2000 10
//! target/dist/svc-bench events 64 64
//! target/dist/svc-bench events --one-sink /path/to/an/older/svc 5
//! target/dist/svc-bench engines 64 64
//! target/dist/svc-bench journal 1000000
//! target/dist/svc-bench zone /path/to/an/older/svc 5
//! target/dist/svc-bench zone-links 2000 10
//! target/dist/svc-bench scripts 5
//! target/dist/svc-bench mcp 20
//! target/dist/svc-bench neighbours
//! target/dist/svc-bench soak --hours 8
//! target/dist/svc-bench compare /path/to/an/older/svc 15
//! target/dist/svc-bench observe 15
//! ```

mod calls;
mod connection;
mod cost;
mod engines;
mod events;
mod journal;
mod links;
mod mcp;
mod neighbours;
mod one_sink;
mod scripts;
mod soak;
mod zone;
mod zone_links;

use anyhow::{Context, bail};

/// Usage of the commands whose modules have no `USAGE`.
const OTHERS: &str = "cost [--required] | links [LINKS] [METHODS PER LINK] | events [CLIENTS] [RECEIVERS] | engines [CLIENTS] [RECEIVERS] | scripts [ROUNDS] | mcp [ROUNDS]";

/// The allocator of the product, so that the programs that `svc` is compared with use it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    if std::env::args().any(|arg| arg == "--help" || arg == "-h") {
        println!("{}", usage());
        return Ok(());
    }
    let single = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    match command.as_str() {
        "echo-method-server" => calls::echo::serve(),
        "spin" => spin(),
        "burn" => neighbours::burn(&args.next().unwrap_or_default()),
        "bare-echo" => single()?.block_on(calls::references::bare_echo()),
        "http-to-stdio" => single()?.block_on(calls::references::http_to_stdio()),
        _ => tokio::runtime::Runtime::new()?.block_on(measure(&command, args)),
    }
}

/// Keeps a core busy until stdin ends.
fn spin() -> anyhow::Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0)
    });
    loop {
        std::hint::spin_loop();
    }
}

async fn measure(command: &str, mut args: impl Iterator<Item = String>) -> anyhow::Result<()> {
    match command {
        "cost" => cost::check(args.next().as_deref() == Some("--required")).await,
        "calls" => calls::run(calls::Settings::parse(args)?).await,
        "links" => {
            let links = number(args.next(), 2_000)?;
            let methods = number(args.next(), 10)?;
            links::run(links, methods).await
        }
        "events" => {
            let first = args.next();
            if first.as_deref() == Some("--one-sink") {
                let old = args.next();
                let rounds = number(args.next(), 5)?;
                return one_sink::run(old.as_ref().map(AsRef::as_ref), rounds).await;
            }
            let clients = number(first, 64)?;
            let receivers = number(args.next(), 64)?;
            events::run(clients, receivers).await
        }
        "engines" => {
            let clients = number(args.next(), 64)?;
            let receivers = number(args.next(), 64)?;
            engines::run(clients, receivers).await
        }
        "journal" => journal::run(number(args.next(), 1_000_000)?).await,
        "scripts" => scripts::run(number(args.next(), 5)?).await,
        "mcp" => mcp::run(number(args.next(), 20)?).await,
        "bare-route" => mcp::bare_route().await,
        "neighbours" => neighbours::run(args).await,
        "soak" => soak::run(args).await,
        "compare" => {
            let old = args.next().with_context(usage)?;
            calls::compare::run(old.as_ref(), number(args.next(), 15)?).await
        }
        "observe" => calls::compare::observe(number(args.next(), 15)?).await,
        "zone" => {
            let old = args.next();
            let rounds = number(args.next(), 5)?;
            let clients = number(args.next(), 192)?;
            let delays = args.next().unwrap_or_else(|| zone::DELAYS.to_owned());
            zone::run(old.as_ref().map(AsRef::as_ref), rounds, clients, &delays).await
        }
        "zone-links" => {
            let agents = number(args.next(), 2_000)?;
            let methods = number(args.next(), 10)?;
            zone_links::run(agents, methods).await
        }
        "zone-agents" => zone_links::agents().await,
        "zone-host" => zone::host(&args.next().unwrap_or_default()).await,
        "one-sink-host" => one_sink::host(&args.next().unwrap_or_default()).await,
        "compare-host" => calls::compare::host(&args.next().unwrap_or_default()).await,
        "attack" => {
            let (name, brief) = (args.next(), args.next());
            neighbours::attack(&name.unwrap_or_default(), &brief.unwrap_or_default()).await
        }
        _ => bail!(usage()),
    }
}

fn number(arg: Option<String>, default: usize) -> anyhow::Result<usize> {
    arg.map_or(Ok(default), |arg| {
        arg.parse()
            .with_context(|| format!("`{arg}` is not a number; {}", usage()))
    })
}

fn usage() -> String {
    format!(
        "usage: svc-bench {} | {} | {} | {} | {} | {} | {} | {} | {OTHERS}",
        calls::USAGE,
        journal::USAGE,
        one_sink::USAGE,
        zone::USAGE,
        zone_links::USAGE,
        calls::compare::USAGE,
        neighbours::USAGE,
        soak::USAGE
    )
}
