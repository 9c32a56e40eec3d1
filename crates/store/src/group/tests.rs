//! Groups of commands that run together, on both database engines.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use futures_util::future::join_all;

use super::*;
use crate::{
    engines::{TestEngine, on_each_engine},
    meta,
    sql::values,
};

/// How a command behaves.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Plain,
    /// Its statement fails.
    Invalid,
    /// Its statement has a value that cannot be sent to PostgreSQL.
    Mistyped,
    /// It returns an error without running a statement.
    Refused,
    /// It must run by itself, outside of a group.
    Alone,
}
use Mode::{Alone, Invalid, Mistyped, Plain, Refused};

/// How many groups ran, and how many commands ran alone.
#[derive(Default)]
struct Runs {
    groups: AtomicUsize,
    alone: AtomicUsize,
}

impl Runs {
    fn counts(&self) -> (usize, usize) {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        (count(&self.groups), count(&self.alone))
    }
}

/// Writes a value. A second write of the same key fails.
struct SetOnce {
    key: String,
    mode: Mode,
    runs: Arc<Runs>,
}

impl SetOnce {
    fn set(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        if self.mode == Mistyped {
            // This function ignores the failure, but the store must not.
            let _ = tx.send("UPDATE event_numbers SET newest = ?1", values![&self.key]);
        }
        let value = (self.mode != Invalid).then(|| "set".to_owned());
        tx.send(
            "INSERT INTO meta (key, value) VALUES (?1, ?2)",
            values![&self.key, value],
        )
    }
}

impl Grouped for SetOnce {
    type Answer = ();
    type Error = StoreError;

    fn run_together(
        tx: &mut Tx<'_>,
        commands: &[&Self],
    ) -> Result<Vec<GroupedResult<Self>>, StoreError> {
        commands[0].runs.groups.fetch_add(1, Ordering::Relaxed);
        let run = |command: &&Self| match command.mode {
            Alone => Ok(None),
            Refused => Ok(Some(Err(StoreError::NoRow))),
            Plain | Invalid | Mistyped => command.set(tx).map(|()| Some(Ok(()))),
        };
        commands.iter().map(run).collect()
    }

    fn run_alone(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        self.runs.alone.fetch_add(1, Ordering::Relaxed);
        match self.mode {
            Refused => Err(StoreError::NoRow),
            Plain | Invalid | Mistyped | Alone => self.set(tx),
        }
    }
}

/// Queues commands so that the writer runs them in few batches. `with_closure` also queues a
/// closure. Returns whether each command succeeded, and how they ran.
async fn run(engine: &TestEngine, modes: &[Mode], with_closure: bool) -> (Vec<bool>, Arc<Runs>) {
    let store = engine.open().await;
    let runs = Arc::<Runs>::default();
    // The writer waits in a transaction until all commands are in the queue.
    let (begun, has_begun) = oneshot::channel();
    let (end, ends) = mpsc::channel();
    let waiting = store.clone();
    let waiting = tokio::spawn(async move {
        let held = waiting.write(move |_| {
            let _ = begun.send(());
            ends.recv().map_err(|_| StoreError::Closed)
        });
        held.await
    });
    has_begun.await.expect("begun");
    let commands = join_all(modes.iter().enumerate().map(|(n, mode)| {
        store.write_grouped(SetOnce {
            key: format!("k{n}"),
            mode: *mode,
            runs: runs.clone(),
        })
    }));
    let queued = modes.len() + usize::from(with_closure);
    let closure = async {
        if with_closure {
            store.write(|tx| meta::set(tx, "closure", "set")).await?;
        }
        Ok::<_, StoreError>(())
    };
    let release = async {
        while store.stats().waiting < queued {
            tokio::task::yield_now().await;
        }
        end.send(()).expect("the writer waits");
    };
    let (results, closed, ()) = tokio::join!(commands, closure, release);
    assert_eq!(closed, Ok(()));
    waiting.await.expect("no panic").expect("committed");
    let succeeded: Vec<_> = results.iter().map(Result::is_ok).collect();
    let count = modes.len();
    let written = store.read(move |tx| {
        let mut keys = (0..count).map(|n| format!("k{n}"));
        keys.try_fold(Vec::new(), |mut written, key| {
            written.push(meta::find(tx, &key)?.is_some());
            Ok(written)
        })
    });
    assert_eq!(written.await.as_ref(), Ok(&succeeded));
    if with_closure {
        let closure = store.read(|tx| meta::find(tx, "closure")).await;
        assert_eq!(closure, Ok(Some("set".to_owned())));
    }
    store.close().await;
    (succeeded, runs)
}

async fn waiting_commands_run_together(engine: &TestEngine) {
    let (succeeded, runs) = run(engine, &[Plain; 200], false).await;
    assert!(succeeded.iter().all(|succeeded| *succeeded));
    // The writer may begin a batch before it has seen the whole queue.
    let (groups, alone) = runs.counts();
    assert!((1..10).contains(&groups) && alone == 0, "{groups} {alone}");
}

async fn a_closure_in_the_same_batch_does_not_affect_a_group(engine: &TestEngine) {
    let (succeeded, runs) = run(engine, &[Plain, Plain, Refused], true).await;
    assert_eq!(succeeded, [true, true, false]);
    assert_eq!(runs.counts(), (1, 0));
}

async fn a_command_with_an_error_of_its_own_fails_alone(engine: &TestEngine) {
    let (succeeded, runs) = run(engine, &[Plain, Refused, Plain], false).await;
    assert_eq!(succeeded, [true, false, true]);
    assert_eq!(runs.counts(), (1, 0));
}

async fn commands_that_cannot_join_run_by_themselves(engine: &TestEngine) {
    let modes = [Alone, Plain, Alone, Refused];
    let (succeeded, runs) = run(engine, &modes, false).await;
    assert_eq!(succeeded, [true, true, true, false]);
    assert_eq!(runs.counts(), (1, 2));
}

async fn an_invalid_statement_fails_only_its_own_command(engine: &TestEngine) {
    let modes = [Plain, Invalid, Plain, Alone];
    let (succeeded, runs) = run(engine, &modes, false).await;
    assert_eq!(succeeded, [true, false, true, true]);
    assert_eq!(runs.counts(), (1, 4));
}

async fn an_invalid_statement_does_not_affect_a_closure_in_the_same_batch(engine: &TestEngine) {
    let modes = [Plain, Invalid, Alone];
    let (succeeded, runs) = run(engine, &modes, true).await;
    assert_eq!(succeeded, [true, false, true]);
    assert_eq!(runs.counts(), (1, 3));
}

#[tokio::test]
async fn a_group_with_a_statement_that_was_not_sent_is_not_committed() {
    let Some(engine) = TestEngine::postgres() else {
        return;
    };
    let (succeeded, runs) = run(&engine, &[Plain, Mistyped, Plain], false).await;
    assert_eq!(succeeded, [true, false, true]);
    assert_eq!(runs.counts(), (1, 3));
}

on_each_engine!(
    waiting_commands_run_together,
    a_closure_in_the_same_batch_does_not_affect_a_group,
    a_command_with_an_error_of_its_own_fails_alone,
    commands_that_cannot_join_run_by_themselves,
    an_invalid_statement_fails_only_its_own_command,
    an_invalid_statement_does_not_affect_a_closure_in_the_same_batch,
);
