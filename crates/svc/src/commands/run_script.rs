//! `svc run-script`: runs a Python script with the embedded engine, or serves methods with a
//! script.
//!
//! The parts of the method server (spec 4.4): [`setup`] runs the setup script once and takes a
//! snapshot. [`serve`] reads [`requests`] and passes them to seats ([`seat`]) through one queue
//! ([`jobs`]). Each seat has a worker process, which creates a new evaluator for every request.
//! [`answers`] writes the results. [`watch`] runs the setup again when a file changes.

mod answers;
mod jobs;
mod requests;
mod seat;
mod serve;
mod setup;
mod watch;

use std::{
    num::NonZeroUsize,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::builder::RangedI64ValueParser;
use svc_script::{Evaluator, Limits};

use super::{
    Shell,
    own_script::{self, OwnScript},
};
use crate::exit::{Exit, Outcome};

/// Run a Python script, or serve methods with one; needs no installed Python
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc run-script tidy.py --dry-run\n  \
                   svc run-script --json-rpc setup.py --watch")]
pub struct Args {
    /// The script and its arguments; `-` reads the script from stdin
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "json_rpc",
        value_name = "FILE [ARGS]"
    )]
    script: Vec<String>,
    /// Run as a method server; this setup script assigns a handler to each method
    #[arg(long, value_name = "SETUP", help_heading = METHOD_SERVER_OPTIONS)]
    json_rpc: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options that only a method server has.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = METHOD_SERVER_OPTIONS)]
struct ServerArgs {
    /// Run the setup script again when a file that it loaded changes
    #[arg(long, requires = "json_rpc")]
    watch: bool,
    /// Seconds that a request may take [default: 30]
    #[arg(long, requires = "json_rpc", value_name = "SECONDS", value_parser = in_range(1..=3600))]
    timeout: Option<u32>,
    /// Memory that a request may use, in MiB [default: 256]
    #[arg(long, requires = "json_rpc", value_name = "MIB", value_parser = in_range(16..=65_536))]
    memory_mb: Option<u32>,
    /// Requests that run at the same time, each in its own process [default: one per core]
    #[arg(long, requires = "json_rpc", value_name = "N", value_parser = in_range(1..=256))]
    workers: Option<u32>,
}

fn in_range(range: RangeInclusive<i64>) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(range)
}

/// Heading of the options for method servers.
const METHOD_SERVER_OPTIONS: &str = "Options of a method server";

/// Limits of one request, and the number of workers.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Counted from the arrival of the request: the wait for a worker is included.
    timeout_seconds: u32,
    memory_mb: u32,
    workers: usize,
}

impl Bounds {
    fn of(args: &ServerArgs) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            timeout_seconds: args.timeout.unwrap_or(30),
            memory_mb: args.memory_mb.unwrap_or(256),
            workers: args.workers.map_or_else(cores, |workers| workers as usize),
        }
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }

    fn memory_bytes(&self) -> usize {
        self.memory_mb as usize * 1024 * 1024
    }
}

pub fn run(shell: &Shell, args: Args) -> Outcome {
    shell.start_command_logs()?;
    let bounds = Bounds::of(&args.server);
    match args.json_rpc {
        Some(file) => serve::run(shell, file, args.script, bounds, args.server.watch),
        None => run_once(shell, &args.script),
    }
}

fn run_once(shell: &Shell, script_and_args: &[String]) -> Outcome {
    let split = script_and_args.split_first();
    let (file, args) = split.expect("the parser requires a script");
    let environment = &shell.environment;
    let script = OwnScript::read(environment, Path::new(file))?;
    let mut host = script.host(shell.globals.context.as_deref(), environment)?;
    let setting = script.setting(environment, args, Limits::OWN);
    let ran = Evaluator::new(&setting).run(&script.source, &mut host);
    Ok(ran.map_or_else(|error| own_script::report(&error), |()| Exit::Ok))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn parse(arguments: &[&str]) -> Option<Args> {
        let arguments = ["svc", "run-script"].iter().chain(arguments);
        match Cli::try_parse_from(arguments).ok()?.command {
            Command::RunScript(args) => Some(*args),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn arguments_after_the_script_belong_to_the_script() {
        let args = parse(&["a.py", "-o", "--watch", "x"]).expect("accepted");
        assert_eq!(args.script, ["a.py", "-o", "--watch", "x"]);
        assert!(!args.server.watch);
        assert_eq!(parse(&["-"]).expect("accepted").script, ["-"]);
    }

    #[test]
    fn options_of_a_method_server_require_json_rpc() {
        let args = parse(&["--json-rpc", "setup.py", "--watch", "--timeout", "5"]);
        let args = args.expect("accepted");
        assert!(args.server.watch && args.script.is_empty());
        let bounds = Bounds::of(&args.server);
        assert_eq!((bounds.timeout_seconds, bounds.memory_mb), (5, 256));
        assert!(bounds.workers >= 1);
        for refused in [
            &[][..],
            &["--watch", "a.py"],
            &["--timeout", "5", "a.py"],
            &["--json-rpc", "a.py", "--timeout", "0"],
            &["--json-rpc", "a.py", "--workers", "0"],
            &["--json-rpc", "a.py", "--memory-mb", "1"],
        ] {
            assert!(parse(refused).is_none(), "{refused:?}");
        }
    }
}
