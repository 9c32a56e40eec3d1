//! The program of a method server while it runs: waits for its end, and sends signals.
//!
//! Dropping a [`Program`] kills its whole process group.

use std::{io, process::ExitStatus};

use rustix::process::Signal;
use tokio::process::Child;

#[cfg(test)]
use super::simulated::SimulatedProgram;
use crate::child::ProcessGroup;

pub enum Program {
    Process {
        /// `None` after the group was killed, because its id may then belong to other processes.
        /// This field must be dropped before `child`: dropping `child` reaps the leader and so
        /// frees the id.
        group: Option<ProcessGroup>,
        child: Child,
    },
    #[cfg(test)]
    Simulated(SimulatedProgram),
}

impl Program {
    /// Waits until the program has exited.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Process { child, .. } => child.wait().await,
            #[cfg(test)]
            Self::Simulated(program) => Ok(program.wait().await),
        }
    }

    /// Asks the process group to end (SIGTERM).
    pub fn terminate(&self) {
        match self {
            Self::Process { group, .. } => {
                if let Some(group) = group {
                    group.signal(Signal::TERM);
                }
            }
            #[cfg(test)]
            Self::Simulated(program) => program.terminate(),
        }
    }

    /// Kills the process group.
    pub fn kill(&mut self) {
        match self {
            Self::Process { group, .. } => *group = None,
            #[cfg(test)]
            Self::Simulated(program) => program.kill(),
        }
    }
}
