//! A sandboxed worker process for the tests of this crate: `svc script-worker` without the rest of
//! `svc`.

use svc_script::worker::child::{self, Role};

/// The same allocator as in `svc`, because memory limits depend on how an allocator reserves
/// memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ["script-worker", "--sandbox", "--memory-mb", mebibytes] = args[..] else {
        panic!("usage: script-worker --sandbox --memory-mb MEBIBYTES");
    };
    let memory_bytes = mebibytes.parse::<usize>().expect("a number") * 1024 * 1024;
    std::process::exit(child::main(Role::Sandbox { memory_bytes }));
}
