//! A worker process for the tests of this crate: `svc script-worker` without the rest of `svc`.

use svc_script::worker::child::{self, Role};

/// The allocator of `svc`: the memory limits depend on how it reserves memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [role, mebibytes] = args.as_slice() else {
        panic!("usage: script-worker --sandbox|--space MEBIBYTES");
    };
    let memory_bytes = mebibytes.parse::<usize>().expect("a number") * 1024 * 1024;
    let role = match role.as_str() {
        "--sandbox" => Role::Sandbox { memory_bytes },
        "--space" => Role::Space { memory_bytes },
        other => panic!("`{other}` is not a role"),
    };
    std::process::exit(child::main(role));
}
