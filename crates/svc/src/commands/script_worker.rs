//! `svc script-worker`: a process that runs scripts. The server and `svc run-script --json-rpc`
//! start it.

use svc_script::worker::child::{self, Role};

use crate::exit::{Exit, Outcome};

/// Run scripts; svc starts this process
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("role").required(true))]
pub struct Args {
    /// Run scripts without access to the operating system
    #[arg(long, group = "role")]
    sandbox: bool,
    /// Run the user's handlers
    #[arg(long, group = "role")]
    space: bool,
    /// Memory that a script may use, in MiB
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
    // The worker has printed its error on stderr, which its parent reads.
    Ok(match child::main(role) {
        0 => Exit::Ok,
        _ => Exit::Failure,
    })
}
