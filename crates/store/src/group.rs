//! Groups: commands of one type that run together, so that all of them need only a few round trips
//! to the database.
//!
//! A group runs as one part of a transaction. If the group fails, none of its commands has an
//! effect, and each of them runs again by itself. So a command that fails does not make the others
//! fail.

use std::{
    any::{Any, TypeId},
    panic::{AssertUnwindSafe, catch_unwind},
};

use tokio::sync::oneshot;

use super::{
    engine::{Command, Outcome, run_caught},
    error::StoreError,
    sql::Tx,
};

/// A command that can run together with others of its type.
pub trait Grouped: Send + Sized + 'static {
    type Answer: Send + 'static;
    type Error: From<StoreError> + Send + 'static;

    /// Runs the commands together, with the same effect as one after the other. The result has one
    /// item for each command; `None` for a command that must run by itself. A command whose item is
    /// an error must have written nothing.
    fn run_together(
        tx: &mut Tx<'_>,
        commands: &[&Self],
    ) -> Result<Vec<GroupedResult<Self>>, StoreError>;

    fn run_alone(&self, tx: &mut Tx<'_>) -> Result<Self::Answer, Self::Error>;
}

/// `None`: the command must run by itself.
pub type GroupedResult<G> = Option<Result<<G as Grouped>::Answer, <G as Grouped>::Error>>;

/// A grouped command and the channel for its answer.
pub(super) struct GroupedJob<G: Grouped> {
    pub(super) command: G,
    pub(super) answer: oneshot::Sender<Result<G::Answer, G::Error>>,
}

impl<G: Grouped> Command for GroupedJob<G> {
    fn run(self: Box<Self>, tx: &mut Tx<'_>) -> Outcome {
        let Self { command, answer } = *self;
        Outcome::new(run_caught(|| command.run_alone(tx)), answer)
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        let _ = self.answer.send(Err(error.into()));
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn new_group(&self) -> Option<(TypeId, Box<dyn Group>)> {
        let group = Members::<G> {
            jobs: Vec::new(),
            results: Vec::new(),
        };
        Some((TypeId::of::<G>(), Box::new(group)))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The commands of one type in a batch. The trait hides their type.
pub(super) trait Group {
    /// Adds a command of the group's type.
    fn add(&mut self, command: Box<dyn Any>);

    /// Runs all commands together. An error leaves the group unchanged.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError>;

    /// Removes and returns the commands without a result. They must run by themselves.
    fn take_rest(&mut self) -> Vec<Box<dyn Command>>;

    /// The outcomes of the commands that have a result.
    fn into_outcomes(self: Box<Self>) -> Vec<Outcome>;

    /// All commands, without their results.
    fn into_commands(self: Box<Self>) -> Vec<Box<dyn Command>>;
}

struct Members<G: Grouped> {
    jobs: Vec<GroupedJob<G>>,
    /// One for each job, after the group has run.
    results: Vec<GroupedResult<G>>,
}

impl<G: Grouped> Group for Members<G> {
    fn add(&mut self, command: Box<dyn Any>) {
        if let Ok(job) = command.downcast() {
            self.jobs.push(*job);
        }
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let commands: Vec<_> = self.jobs.iter().map(|job| &job.command).collect();
        let run = || G::run_together(tx, &commands);
        let results = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(StoreError::Panicked))?;
        if results.len() != commands.len() {
            return Err(StoreError::NoRow);
        }
        self.results = results;
        Ok(())
    }

    fn take_rest(&mut self) -> Vec<Box<dyn Command>> {
        let mut rest: Vec<Box<dyn Command>> = Vec::new();
        for index in (0..self.results.len()).rev() {
            if self.results[index].is_none() {
                self.results.remove(index);
                rest.push(Box::new(self.jobs.remove(index)));
            }
        }
        rest.reverse();
        rest
    }

    fn into_outcomes(self: Box<Self>) -> Vec<Outcome> {
        let ran = self.jobs.into_iter().zip(self.results);
        ran.filter_map(|(job, result)| Some(Outcome::new(result?, job.answer)))
            .collect()
    }

    fn into_commands(self: Box<Self>) -> Vec<Box<dyn Command>> {
        let jobs = self.jobs.into_iter();
        jobs.map(|job| Box::new(job) as _).collect()
    }
}

#[cfg(test)]
mod tests;
