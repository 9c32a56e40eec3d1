//! Many changes of one user leave the writer of the store to other users.

use std::sync::mpsc;

use parking_lot::Mutex;
use tokio::{sync::oneshot, task::yield_now};

use super::*;
use crate::identity::Change;

/// Lets every task run until it waits for the store.
async fn settle() {
    for _ in 0..2_000 {
        yield_now().await;
    }
}

#[tokio::test]
async fn many_changes_of_one_user_do_not_delay_the_change_of_another() {
    let fixture = Fixture::new().await;
    let (ann, ben) = (
        fixture.caller("ann", &[]).await,
        fixture.caller("ben", &[]).await,
    );
    let (release, released) = mpsc::channel::<()>();
    let (started, has_started) = oneshot::channel();
    let store = fixture.store.clone();
    let busy = tokio::spawn(async move {
        let write = move |_: &mut svc_store::Tx<'_>| {
            let _ = started.send(());
            let _ = released.recv();
            Ok(())
        };
        store.write(write).await
    });
    has_started.await.expect("the writer is busy");
    let order = Arc::new(Mutex::new(Vec::new()));
    let change = |caller: &Caller, name: &'static str| {
        let (writer, caller) = (fixture.identity.writer.clone(), caller.clone());
        let order = order.clone();
        tokio::spawn(async move {
            let work = move |_: &mut Change<'_, '_>, _: &Caller| {
                order.lock().push(name);
                Ok(())
            };
            writer.change(&caller, work).await
        })
    };
    let mut changes: Vec<_> = (0..200).map(|_| change(&ann, "ann")).collect();
    settle().await;
    changes.push(change(&ben, "ben"));
    settle().await;
    drop(release);
    for change in changes {
        change.await.expect("ran").expect("committed");
    }
    busy.await.expect("ran").expect("committed");
    let order = order.lock();
    assert_eq!(order.len(), 201);
    let before = order.iter().position(|name| *name == "ben");
    assert!(before.expect("ben's change") <= 16, "{before:?}");
}
