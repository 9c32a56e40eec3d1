//! A batch: the commands of one commit.
//!
//! Each command runs in a savepoint of its own, so that a failed command leaves the others as they
//! are. Commands that can run together are one [`Group`], with one savepoint. The only command or
//! group of a batch needs no savepoint: the transaction itself is rolled back.

use std::collections::VecDeque;

use super::{
    connection::Connection,
    engine::{Command, Outcome},
    error::StoreError,
    group::Group,
    sql::Tx,
};

/// Commands in the order of their arrival.
pub(super) type Commands = VecDeque<Box<dyn Command>>;

#[derive(Default)]
pub(super) struct Batch {
    /// Commands that did not run yet.
    commands: Commands,
    /// They run after the commands.
    groups: Vec<Box<dyn Group>>,
    /// Outcomes of the commands that ran.
    outcomes: Vec<Outcome>,
}

impl Batch {
    /// Commands that run one after the other.
    pub(super) fn of(commands: Commands) -> Self {
        Self {
            commands,
            ..Self::default()
        }
    }

    /// The same, but commands of a type that can run together do so.
    pub(super) fn grouped(commands: Commands) -> Self {
        let mut batch = Self::default();
        let mut kinds = Vec::new();
        for command in commands {
            let Some((kind, group)) = command.new_group() else {
                batch.commands.push_back(command);
                continue;
            };
            let index = kinds.iter().position(|known| *known == kind);
            let index = index.unwrap_or_else(|| {
                kinds.push(kind);
                batch.groups.push(group);
                kinds.len() - 1
            });
            batch.groups[index].add(command.into_any());
        }
        batch
    }

    /// Runs the batch in a transaction that has begun, and commits it.
    pub(super) fn run(&mut self, connection: &dyn Connection) -> Result<(), StoreError> {
        let is_single = self.commands.len() + self.groups.len() == 1;
        while let Some(command) = self.commands.pop_front() {
            let is_kept = self.run_command(connection, command, is_single)?;
            if is_single && !is_kept {
                return connection.rollback();
            }
        }
        let mut index = 0;
        while index < self.groups.len() {
            if self.run_group(connection, index, is_single)? {
                index += 1;
            }
        }
        connection.commit()
    }

    /// Returns whether the work of the command is kept.
    fn run_command(
        &mut self,
        connection: &dyn Connection,
        command: Box<dyn Command>,
        is_single: bool,
    ) -> Result<bool, StoreError> {
        if !is_single {
            connection.control(SAVEPOINT)?;
        }
        let outcome = Outcome::of(command, connection);
        let is_kept = outcome.is_kept();
        self.outcomes.push(outcome);
        connection.check_transaction()?;
        if !is_single {
            end_savepoint(connection, is_kept)?;
        }
        Ok(is_kept)
    }

    /// Runs a group, and then those of its commands that must run by themselves. Returns false if the
    /// group failed: it is removed, and all its commands ran by themselves.
    fn run_group(
        &mut self,
        connection: &dyn Connection,
        index: usize,
        is_single: bool,
    ) -> Result<bool, StoreError> {
        if !is_single {
            connection.control(SAVEPOINT)?;
        }
        let mut tx = Tx::on(connection);
        let ran = self.groups[index].run(&mut tx);
        let rest = self.groups[index].take_rest();
        // The commit waits for the outcomes of a single group, which saves a round trip.
        let ran = match is_single && rest.is_empty() {
            true => ran.and(tx.failure()),
            false => ran.and(tx.end()),
        };
        connection.check_transaction()?;
        if is_single {
            if let Err(error) = ran {
                self.commands.extend(rest);
                return Err(error);
            }
        } else if let Err(error) = ran {
            end_savepoint(connection, false)?;
            tracing::warn!(target: crate::LOG_TARGET, %error, "a group of commands failed; each runs by itself");
            let group = self.groups.remove(index);
            for command in rest.into_iter().chain(group.into_commands()) {
                self.run_command(connection, command, false)?;
            }
            return Ok(false);
        } else {
            end_savepoint(connection, true)?;
        }
        for command in rest {
            self.run_command(connection, command, false)?;
        }
        Ok(true)
    }

    /// After a failed commit: the commands of a group that was alone in the batch, if it is certain
    /// that they had no effect. Each of them can run again by itself.
    pub(super) fn split(&mut self, error: &StoreError) -> Option<Commands> {
        let is_certain = !error.is_outage() && !matches!(error, StoreError::Commit(_));
        if self.groups.len() != 1 || !self.outcomes.is_empty() || !is_certain {
            return None;
        }
        let rest = std::mem::take(&mut self.commands);
        let groups = std::mem::take(&mut self.groups).into_iter();
        let grouped = groups.flat_map(Group::into_commands);
        Some(rest.into_iter().chain(grouped).collect())
    }

    /// All outcomes after a commit.
    pub(super) fn into_outcomes(self) -> Vec<Outcome> {
        let mut outcomes = self.outcomes;
        for group in self.groups {
            outcomes.extend(group.into_outcomes());
        }
        outcomes
    }

    /// Answers all commands after a failed commit.
    pub(super) fn refuse(self, error: &StoreError) {
        for outcome in self.outcomes {
            outcome.reply(Err(error.clone()));
        }
        let grouped = self.groups.into_iter().flat_map(Group::into_commands);
        for command in self.commands.into_iter().chain(grouped) {
            command.refuse(error.clone());
        }
    }
}

const SAVEPOINT: &str = "SAVEPOINT command";

fn end_savepoint(connection: &dyn Connection, is_kept: bool) -> Result<(), StoreError> {
    if !is_kept {
        connection.control("ROLLBACK TO SAVEPOINT command")?;
    }
    connection.control("RELEASE SAVEPOINT command")
}
