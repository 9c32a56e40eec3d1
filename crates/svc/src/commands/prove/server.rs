//! `svc prove-server`: a server of `svc prove`. It is an ordinary server that also obeys the proving
//! process: it ends with that process, moves its clock on request, and gets an error instead of
//! being killed if a file is too large.

use std::{
    io::{self, BufRead},
    path::Path,
    thread,
};

use tokio::signal::unix::{SignalKind, signal};

use crate::{
    commands::{
        Shell,
        server::{self, StartArgs},
    },
    exit::{Exit, Failure, OrFail, Outcome},
    runtime,
};

/// The file that marks the folder of a run. The data folders of its servers are in that folder.
pub const MARKER: &str = "svc-prove.txt";
/// `SIGXFSZ` on Linux and macOS: a write beyond the limit of the size of files.
const FILE_TOO_LARGE: i32 = 25;

pub fn run(shell: &Shell, args: StartArgs) -> Outcome {
    if !args.data_dir.as_deref().is_some_and(is_of_a_run) {
        return Err(
            Failure::usage("`svc prove-server` starts only inside a run of `svc prove`")
                .hint("svc server start runs a server; svc prove tests one"),
        );
    }
    end_with_parent()?;
    survive_file_limit()?;
    thread::spawn(|| obey(io::stdin().lock()));
    server::start(shell, args)
}

fn is_of_a_run(data_dir: &Path) -> bool {
    data_dir
        .parent()
        .is_some_and(|folder| folder.join(MARKER).is_file())
}

/// On Linux, lets the system kill this process when the proving process ends, even while this
/// process is frozen. On other systems, [`obey`] ends this process.
fn end_with_parent() -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .or_fail("cannot arrange that this process ends together with `svc prove`")?;
    Ok(())
}

/// A write beyond the limit of the size of files kills a process by default. With a handler, the
/// write fails instead, as on a full disk. The handler stays when the runtime is dropped.
fn survive_file_limit() -> Result<(), Failure> {
    runtime::single()?.block_on(async {
        signal(SignalKind::from_raw(FILE_TOO_LARGE))
            .map(drop)
            .or_fail("cannot listen for signals")
    })
}

/// Reads the orders of the proving process. Ends this process when the proving process is gone.
fn obey(orders: impl BufRead) {
    for order in orders.lines().map_while(Result::ok) {
        match order.strip_prefix("clock ").map(str::parse) {
            Some(Ok(millis)) => svc_clock::shift(millis),
            _ => eprintln!("unknown order of `svc prove`: {order}"),
        }
    }
    std::process::exit(Exit::Failure.code().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_a_run_are_accepted() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("server-0");
        assert!(!is_of_a_run(&data));
        std::fs::write(folder.path().join(MARKER), "").expect("the folder is writable");
        assert!(is_of_a_run(&data));
        assert!(!is_of_a_run(&data.join("deeper")));
    }
}
