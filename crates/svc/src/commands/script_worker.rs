//! A process that runs scripts for the server or for `svc run-script --json-rpc`, which start it.

use svc_script::worker::child::{self, Role};

use crate::exit::{Exit, Outcome};

/// A process that runs scripts; svc starts it
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("role").required(true))]
pub struct Args {
    /// Take scripts that may do nothing but compute
    #[arg(long, group = "role")]
    sandbox: bool,
    /// Take handlers of the user's own
    #[arg(long, group = "role")]
    space: bool,
    /// Memory a script may use
    #[arg(long, value_name = "MIB", default_value_t = 128)]
    memory_mb: usize,
}

pub fn run(args: &Args) -> Outcome {
    let memory_bytes = args.memory_mb.saturating_mul(1024 * 1024);
    let role = if args.sandbox {
        Role::Sandbox { memory_bytes }
    } else {
        Role::Space { memory_bytes }
    };
    // What went wrong was said on stderr, where whoever started this reads.
    Ok(match child::main(role) {
        0 => Exit::Ok,
        _ => Exit::Failure,
    })
}
