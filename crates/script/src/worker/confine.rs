//! Restricts a worker before its first script.
//!
//! The engine gives sandboxed scripts no access to the system. This module is a second barrier, in
//! case the engine has a bug. Limits of the operating system bound the memory. A filter of system
//! calls leaves a sandboxed worker only its open files, its memory, its threads and signals, the
//! clock and random numbers.

#[cfg(target_os = "linux")]
mod system_calls;

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{child::Role, gauge::Usage};

/// Address space in addition to a script's memory, mainly for memory that the allocator reserves in
/// advance.
const HEADROOM_BYTES: usize = 192 * 1024 * 1024;
/// The maximum number of open files of a sandboxed worker: three pipes, the gauge, and some spare.
const FILES_MAX: u64 = 16;

/// Sets the limits of the role. Returns a warning if this machine cannot filter system calls. `now`
/// is the current usage of the process.
pub(super) fn confine(role: Role, now: Usage) -> io::Result<Option<String>> {
    set_soft(Resource::Core, 0)?;
    let memory = |bytes: usize| {
        let all = now.address_space.saturating_add(bytes);
        u64::try_from(all.saturating_add(HEADROOM_BYTES)).unwrap_or(u64::MAX)
    };
    match role {
        Role::Space { memory_bytes } => {
            // A soft limit, which `without_memory_limit` lifts for programs that a handler starts.
            set_soft(Resource::As, memory(memory_bytes))?;
            Ok(None)
        }
        Role::Sandbox { memory_bytes } => {
            set_hard(Resource::As, memory(memory_bytes))?;
            set_hard(Resource::Core, 0)?;
            set_hard(Resource::Fsize, 0)?;
            set_hard(Resource::Nofile, FILES_MAX)?;
            Ok(filter_system_calls())
        }
    }
}

/// Runs `start` without the memory limit of [`Role::Space`], which a new process would inherit.
pub(crate) fn without_memory_limit<T>(start: impl FnOnce() -> T) -> T {
    let limit = getrlimit(Resource::As);
    let lifted = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If the limit cannot be lifted, the new process has it too.
    let _ = setrlimit(Resource::As, lifted);
    let started = start();
    let _ = setrlimit(Resource::As, limit);
    started
}

/// Sets a limit that can be lifted again.
fn set_soft(resource: Resource, limit: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(limit, |maximum| limit.min(maximum)));
    Ok(setrlimit(resource, Rlimit { current, maximum })?)
}

/// Sets a limit that cannot be lifted.
fn set_hard(resource: Resource, limit: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let limit = maximum.map_or(limit, |maximum| limit.min(maximum));
    let both = Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    Ok(setrlimit(resource, both)?)
}

#[cfg(target_os = "linux")]
fn filter_system_calls() -> Option<String> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    // Hides this process's memory from other processes of the user. Not essential, so errors are
    // ignored.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    system_calls::filter()
        .err()
        .map(|error| format!("system calls of scripts are not filtered on this machine: {error}"))
}

#[cfg(not(target_os = "linux"))]
fn filter_system_calls() -> Option<String> {
    Some("system calls of scripts are filtered on Linux only".to_owned())
}
