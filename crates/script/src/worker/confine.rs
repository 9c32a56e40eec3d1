//! Takes from a worker what its scripts must not have, before the first of them comes.
//!
//! The engine gives scripts nothing by itself; this is for the day it has a hole. Limits of the
//! operating system bound memory; a filter of system calls leaves a sandboxed worker its pipes,
//! its memory, its threads and the clock.

#[cfg(target_os = "linux")]
mod system_calls;

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{child::Role, gauge::Usage};

/// What a script's memory may cost beyond itself: the stack of the thread it runs on, and memory
/// the allocator has reserved ahead.
const HEADROOM_BYTES: usize = 192 * 1024 * 1024;
/// Open files of a sandboxed worker: three pipes and the gauge, and some air.
const FILES_MAX: u64 = 16;

/// Sets every limit; gives back what this machine does not have. `now` is what the process uses
/// so far.
pub(super) fn confine(role: Role, now: Usage) -> io::Result<Option<String>> {
    set_soft(Resource::Core, 0)?;
    let memory = |bytes: usize| {
        let all = now.address_space.saturating_add(bytes);
        u64::try_from(all.saturating_add(HEADROOM_BYTES)).unwrap_or(u64::MAX)
    };
    match role {
        Role::Space { memory_bytes } => {
            // Soft: what a handler starts is not a handler, and has its own size.
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

/// Runs `start` without the limit on memory of [`Role::Space`], which a process inherits.
pub(crate) fn without_memory_limit<T>(start: impl FnOnce() -> T) -> T {
    let limit = getrlimit(Resource::As);
    let lifted = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Refused, the process starts with the limit.
    let _ = setrlimit(Resource::As, lifted);
    let started = start();
    let _ = setrlimit(Resource::As, limit);
    started
}

/// A limit that processes this one starts may lift.
fn set_soft(resource: Resource, limit: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(limit, |maximum| limit.min(maximum)));
    Ok(setrlimit(resource, Rlimit { current, maximum })?)
}

/// A limit that nobody lifts.
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

    // Other processes of the same user do not look into it. Not vital.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    system_calls::filter()
        .err()
        .map(|error| format!("system calls of scripts are not filtered on this machine: {error}"))
}

#[cfg(not(target_os = "linux"))]
fn filter_system_calls() -> Option<String> {
    Some("system calls of scripts are filtered on Linux only".to_owned())
}
