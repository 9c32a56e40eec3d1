use std::{future::Future, sync::mpsc, time::Duration};

use tokio::time::timeout;
use uuid::Uuid;

use super::*;

fn pool(threads: usize, running_per_user: usize) -> FairPool {
    FairPool::new(PoolOptions {
        name: "test",
        threads,
        running_per_user,
        jobs_per_user: 4,
        waiting_max: 6,
        evicts: false,
    })
}

fn user(number: u128) -> UserId {
    UserId(Uuid::from_u128(number))
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), work)
        .await
        .expect("the work ends")
}

/// A job that runs until `release` sends or is dropped.
struct HeldJob {
    release: mpsc::Sender<()>,
    job: tokio::task::JoinHandle<Result<(), PoolError>>,
}

/// Starts a job of a user and waits until it runs.
async fn hold(pool: &FairPool, user: UserId) -> HeldJob {
    let (release, released) = mpsc::channel();
    let (started, running) = oneshot::channel();
    let pool = pool.clone();
    let job = tokio::spawn(async move {
        let work = move |_: &Cancelled| {
            let _ = started.send(());
            let _ = released.recv();
        };
        pool.run(user, work).await
    });
    soon(running).await.expect("it runs");
    HeldJob { release, job }
}

/// Queues a job that sends its number to `notes`, and waits until the job is in the queue.
async fn note(
    pool: &FairPool,
    user: UserId,
    number: u32,
    notes: &mpsc::Sender<u32>,
) -> tokio::task::JoinHandle<Result<(), PoolError>> {
    let before = pool.0.0.queue.lock().waiting();
    let (queued, notes) = (pool.clone(), notes.clone());
    let job = tokio::spawn(async move {
        let work = move |_: &Cancelled| notes.send(number).expect("the receiver is open");
        queued.run(user, work).await
    });
    soon(async {
        while pool.0.0.queue.lock().waiting() == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    job
}

#[tokio::test]
async fn users_take_turns_regardless_of_their_number_of_jobs() {
    let pool = pool(1, 1);
    let held = hold(&pool, user(9)).await;
    let (notes, noted) = mpsc::channel();
    let mut jobs = Vec::new();
    for (who, number) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
        jobs.push(note(&pool, user(who), number, &notes).await);
    }
    held.release.send(()).expect("it waits");
    for job in jobs {
        soon(job).await.expect("no panic").expect("it ran");
    }
    let order: Vec<_> = noted.try_iter().collect();
    assert_eq!(order, [10, 20, 30, 11, 21, 12]);
}

#[tokio::test]
async fn a_user_never_holds_the_last_thread() {
    let pool = pool(2, 1);
    let first = hold(&pool, user(1)).await;
    let (notes, noted) = mpsc::channel();
    let second = note(&pool, user(1), 1, &notes).await;
    // Another user's job runs while the second job of the first user waits.
    soon(pool.run(user(2), |_| ())).await.expect("it ran");
    assert_eq!(noted.try_recv().ok(), None);
    first.release.send(()).expect("it waits");
    soon(second).await.expect("no panic").expect("it ran");
    soon(first.job).await.expect("no panic").expect("it ran");
}

#[tokio::test]
async fn a_full_queue_refuses_its_user_and_names_the_limit() {
    let pool = pool(1, 1);
    let held = hold(&pool, user(1)).await;
    let (notes, _noted) = mpsc::channel();
    for number in 1..4 {
        note(&pool, user(1), number, &notes).await;
    }
    let refused = pool.run(user(1), |_| ()).await.expect_err("four jobs");
    assert_eq!(refused, PoolError::UserFull { limit: 4 });
    let message = refused.to_string();
    assert!(message.contains("one user may have 4"), "{message}");
    // Jobs of other users are still accepted, up to the limit for all users together.
    for number in 4..7 {
        note(&pool, user(2), number, &notes).await;
    }
    assert_eq!(pool.run(user(3), |_| ()).await, Err(PoolError::Full));
    // `run_unbounded` queues its job although the queue is full.
    let mut waiting = std::pin::pin!(pool.run_unbounded(user(1), |_| 7));
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    held.release.send(()).expect("it waits");
    assert_eq!(soon(waiting).await, Ok(7));
}

#[tokio::test]
async fn a_full_queue_that_evicts_has_room_for_a_user_with_fewer_jobs() {
    let pool = FairPool::new(PoolOptions {
        waiting_max: 4,
        evicts: true,
        ..pool(1, 1).0.0.options
    });
    let held = hold(&pool, user(9)).await;
    let (notes, noted) = mpsc::channel();
    let mut jobs = Vec::new();
    for (who, number) in [(1, 10), (1, 11), (1, 12), (2, 20)] {
        jobs.push(note(&pool, user(who), number, &notes).await);
    }
    let mut other = std::pin::pin!(pool.run(user(3), |_| 30));
    assert!(futures_util::poll!(other.as_mut()).is_pending());
    let evicted = soon(jobs.remove(2)).await.expect("no panic");
    assert_eq!(evicted, Err(PoolError::Full));
    held.release.send(()).expect("it waits");
    assert_eq!(soon(other).await, Ok(30));
    for job in jobs {
        soon(job).await.expect("no panic").expect("it ran");
    }
    assert_eq!(noted.try_iter().collect::<Vec<_>>(), [10, 20, 11]);
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_its_job() {
    let pool = pool(1, 1);
    let held = hold(&pool, user(1)).await;
    let (notes, noted) = mpsc::channel();
    let left = note(&pool, user(2), 1, &notes).await;
    left.abort();
    assert!(soon(left).await.expect_err("aborted").is_cancelled());
    held.release.send(()).expect("it waits");
    soon(pool.run(user(2), |_| ())).await.expect("it ran");
    assert_eq!(noted.try_recv().ok(), None, "the job was cancelled");

    // A running job sees the cancellation too.
    let (started, running) = oneshot::channel();
    let (stopped, stopping) = oneshot::channel();
    let work = pool.clone();
    let leaving = tokio::spawn(async move {
        let work = work.run(user(1), move |cancelled| {
            let _ = started.send(());
            while !cancelled.is_set() {
                thread::yield_now();
            }
            let _ = stopped.send(());
        });
        work.await
    });
    soon(running).await.expect("it runs");
    leaving.abort();
    soon(stopping).await.expect("it stopped");
}

#[tokio::test]
async fn a_panic_ends_its_own_job_and_no_thread() {
    let pool = pool(1, 1);
    let failed = pool.run(user(1), |_| panic!("on purpose")).await;
    assert_eq!(failed, Err::<(), _>(PoolError::Failed));
    assert_eq!(soon(pool.run(user(1), |_| 7)).await, Ok(7));
}

#[tokio::test]
async fn the_threads_end_with_the_pool() {
    let pool = pool(1, 1);
    let held = hold(&pool, user(1)).await;
    let shared = Arc::downgrade(&pool.0.0);
    held.job.abort();
    let _ = soon(held.job).await;
    drop(pool);
    drop(held.release);
    soon(async {
        while shared.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn jobs_have_a_large_stack() {
    let fills_the_stack = |_: &Cancelled| {
        let frame = [1_u8; STACK_BYTES / 2];
        // By reference: an unoptimised build would copy the array, and the copy needs stack too.
        std::hint::black_box(&frame)
            .iter()
            .map(|byte| usize::from(*byte))
            .sum::<usize>()
    };
    let filled = soon(pool(1, 1).run(user(1), fills_the_stack)).await;
    assert_eq!(filled, Ok(STACK_BYTES / 2));
}

#[test]
fn a_turn_ends_after_one_item_if_the_caller_has_gone() {
    let cancelled = Cancelled::default();
    assert_eq!(cancelled.work_in_turn(&[1, 2, 3], |n| n * 2), [2, 4, 6]);
    drop(CancelOnDrop(cancelled.clone()));
    assert_eq!(cancelled.work_in_turn(&[1, 2, 3], |n| n * 2), [2]);
    // The time of a turn is over after this item.
    let slow = |n: &u32| {
        let began = Instant::now();
        while began.elapsed() <= TURN_MAX {}
        *n
    };
    assert_eq!(Cancelled::default().work_in_turn(&[1, 2, 3], slow), [1]);
    assert!(Cancelled::default().work_in_turn(&[], slow).is_empty());
}
