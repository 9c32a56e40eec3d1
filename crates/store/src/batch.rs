//! A batch: the commands of one commit.
//!
//! Each command runs in a savepoint of its own, so that a failed command has no effect on the
//! others. A batch with only one command needs no savepoint: if the command fails, the whole
//! transaction is rolled back. Commands that can run together form a [`Group`]. All groups of a
//! batch share one savepoint; a batch that has only groups needs none. If a group fails, the
//! commands of all groups run again, each by itself.

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
    /// The groups run after `commands`.
    groups: Vec<Box<dyn Group>>,
    /// Outcomes of the commands that ran.
    outcomes: Vec<Outcome>,
    /// Whether COMMIT was sent.
    is_committing: bool,
}

impl Batch {
    /// Commands that run one after the other.
    pub(super) fn of(commands: Commands) -> Self {
        Self {
            commands,
            ..Self::default()
        }
    }

    /// Like [`of`](Self::of), but commands of one type that can run together form a group.
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

    /// Runs the batch in a transaction that has begun, and commits the transaction. If the only
    /// command fails, rolls the transaction back.
    pub(super) fn run(&mut self, connection: &dyn Connection) -> Result<(), StoreError> {
        let is_single = self.commands.len() == 1 && self.groups.is_empty();
        let has_commands = !self.commands.is_empty();
        let is_kept = self.run_commands(connection, is_single)?;
        if is_single && !is_kept {
            return connection.rollback();
        }
        if !self.groups.is_empty() {
            match has_commands {
                true => self.run_protected_groups(connection)?,
                false => self.run_groups(connection)?,
            }
            self.run_commands(connection, false)?;
        }
        self.is_committing = true;
        connection.commit()
    }

    /// Whether the batch has only groups. Their commands can run again.
    pub(super) fn is_repeatable(&self) -> bool {
        !self.groups.is_empty() && self.commands.is_empty() && self.outcomes.is_empty()
    }

    /// Runs the commands one after the other. Returns whether the work of the last one is kept.
    fn run_commands(
        &mut self,
        connection: &dyn Connection,
        is_single: bool,
    ) -> Result<bool, StoreError> {
        let mut is_kept = true;
        while !self.commands.is_empty() {
            if !is_single {
                connection.control(SAVEPOINT)?;
            }
            // After an error, the commands that did not run are still in the batch, so that they
            // get an answer.
            let Some(command) = self.commands.pop_front() else {
                break;
            };
            let outcome = Outcome::of(command, connection);
            is_kept = outcome.is_kept();
            self.outcomes.push(outcome);
            connection.check_transaction()?;
            if !is_single {
                end_savepoint(connection, is_kept)?;
            }
        }
        Ok(is_kept)
    }

    /// Runs the groups. Afterwards, the commands that must run by themselves are in `commands`.
    ///
    /// Does not wait for the last statements of a batch: the commit waits for them, which saves a
    /// round trip.
    fn run_groups(&mut self, connection: &dyn Connection) -> Result<(), StoreError> {
        let mut tx = Tx::on(connection);
        let ran = self
            .groups
            .iter_mut()
            .try_for_each(|group| group.run(&mut tx));
        let ran = ran.and(tx.failure());
        connection.check_transaction()?;
        ran?;
        let rest = self.groups.iter_mut().flat_map(|group| group.take_rest());
        self.commands.extend(rest);
        match self.commands.is_empty() {
            true => Ok(()),
            // Further commands follow: they must not run after a statement that failed.
            false => connection.settle(),
        }
    }

    /// Runs the groups in a savepoint. If a group fails, rolls the savepoint back and moves all
    /// commands of the groups to `commands`.
    fn run_protected_groups(&mut self, connection: &dyn Connection) -> Result<(), StoreError> {
        connection.control(SAVEPOINT)?;
        let ran = self.run_groups(connection);
        // Read the outcomes of all statements, even after a failure.
        let ran = ran.and(connection.settle());
        connection.check_transaction()?;
        end_savepoint(connection, ran.is_ok())?;
        if let Err(error) = ran {
            tracing::warn!(target: crate::LOG_TARGET, %error, "a group of commands failed; each command runs by itself");
            let groups = std::mem::take(&mut self.groups).into_iter();
            self.commands.extend(groups.flat_map(Group::into_commands));
        }
        Ok(())
    }

    /// A batch that runs the same groups again. `None` if COMMIT was sent, if there are no groups,
    /// or if a command has run by itself.
    pub(super) fn repeat_unsent(&mut self) -> Option<Self> {
        let is_unsent = !self.is_committing;
        is_unsent
            .then(|| self.take_groups())
            .flatten()
            .map(Self::grouped)
    }

    /// After an error of a statement: a batch that runs each command of the groups by itself.
    /// `None` after an outage or a failed COMMIT, because the commands may have had an effect. Also
    /// `None` if there are no groups, or if a command has run by itself.
    pub(super) fn split(&mut self, error: &StoreError) -> Option<Self> {
        let is_certain = !error.is_outage() && !matches!(error, StoreError::Commit(_));
        is_certain
            .then(|| self.take_groups())
            .flatten()
            .map(Self::of)
    }

    /// Takes all commands, those of the groups included. `None` if there are no groups, or if a
    /// command has run by itself.
    fn take_groups(&mut self) -> Option<Commands> {
        if self.groups.is_empty() || !self.outcomes.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.commands).into_iter();
        let groups = std::mem::take(&mut self.groups).into_iter();
        Some(rest.chain(groups.flat_map(Group::into_commands)).collect())
    }

    /// All outcomes after a commit.
    pub(super) fn into_outcomes(self) -> Vec<Outcome> {
        let mut outcomes = self.outcomes;
        for group in self.groups {
            outcomes.extend(group.into_outcomes());
        }
        outcomes
    }

    /// Answers all commands with the error of the transaction.
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
