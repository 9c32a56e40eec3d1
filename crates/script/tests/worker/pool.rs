//! The pool: which scripts share a process, which state a run leaves behind, and operations of the
//! host.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use svc_script::{
    ErrorKind, Exception, Raise, Source,
    worker::{JobHost, NoHost, Pool, PoolOptions, Program},
};

use crate::support::{
    HONEST, MEMORY_BYTES, OUTPUT_MAX, SOON, TIME, eventually, is_alive, job, patient_job, pool,
    serves_an_honest_script,
};

const LONG: Duration = Duration::from_secs(60);

/// The process ids of this thread's children.
fn children() -> Vec<u32> {
    let own = format!("/proc/self/task/{}/children", own_thread());
    let text = std::fs::read_to_string(own).expect("a kernel that lists children");
    text.split_whitespace()
        .map(|pid| pid.parse().expect("an id"))
        .collect()
}

/// The id of this thread. Each test runs on its own thread and starts its workers on that thread.
fn own_thread() -> String {
    let path = std::fs::read_link("/proc/thread-self").expect("a /proc");
    let name = path.file_name().expect("ends in the id");
    name.to_string_lossy().into_owned()
}

#[tokio::test]
async fn the_self_test_passes_and_leaves_no_worker() {
    let pool = pool(1, LONG);
    assert_eq!(pool.self_check().await, Ok(()));
    assert!(children().is_empty());
    serves_an_honest_script(&pool, 1).await;
    pool.close().await;
}

#[tokio::test]
async fn an_owner_keeps_a_process_and_two_owners_never_share_one() {
    let pool = pool(2, LONG);
    serves_an_honest_script(&pool, 1).await;
    let [first] = children()[..] else {
        panic!("{:?}", children());
    };
    serves_an_honest_script(&pool, 1).await;
    assert_eq!(
        children(),
        [first],
        "the same process serves its owner again"
    );
    serves_an_honest_script(&pool, 2).await;
    let both = children();
    assert_eq!(both.len(), 2);
    assert!(both.contains(&first), "there is room for two");
    serves_an_honest_script(&pool, 3).await;
    let after = children();
    assert!(
        after.len() == 2 && !after.contains(&first),
        "{both:?} {after:?}"
    );
    assert_eq!((pool.running(), pool.idle()), (0, 2));
    pool.close().await;
    assert!(children().is_empty());
}

#[tokio::test]
async fn no_state_of_one_script_reaches_the_next() {
    let pool = pool(1, LONG);
    let first = "import json\njson.found = True\nkept = 1\n";
    let outcome = pool.run(patient_job(1, first, None), &NoHost).await;
    assert!(children().len() == 1, "{outcome:?}");
    let second = "import json\ndef main(params):\n    try:\n        return [kept]\n    \
                  except NameError:\n        return hasattr(json, 'found')\n";
    let outcome = pool
        .run(patient_job(1, second, Some("main")), &NoHost)
        .await;
    assert_eq!(outcome.result, Ok(Some("false".to_owned())));
    pool.close().await;
}

#[tokio::test]
async fn a_worker_that_hit_a_limit_is_not_used_again() {
    let pool = pool(1, LONG);
    for text in ["while True: pass", "x = 'a' * 10**10"] {
        let outcome = pool.run(job(1, text, None), &NoHost).await;
        assert!(outcome.ran && outcome.result.is_err());
        assert_eq!((children(), pool.idle()), (vec![], 0), "{text}");
    }
    pool.close().await;
}

#[tokio::test]
async fn an_idle_worker_ends_by_itself() {
    let pool = pool(1, Duration::from_millis(50));
    for _ in 0..2 {
        serves_an_honest_script(&pool, 1).await;
        let until = Instant::now() + SOON;
        while !children().is_empty() {
            assert!(Instant::now() < until, "it never ended");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(pool.idle(), 0);
    }
}

#[tokio::test]
async fn closing_ends_running_and_waiting_scripts() {
    let pool = pool(2, LONG);
    serves_an_honest_script(&pool, 1).await;
    let sleeping = patient_job(2, "import time\ntime.sleep(60)", None);
    let running = pool.run(sleeping, &NoHost);
    let closing = async {
        while children().len() < 2 {
            tokio::task::yield_now().await;
        }
        let pids = children();
        pool.close().await;
        pids
    };
    let (outcome, pids) = tokio::join!(running, closing);
    let error = outcome.result.expect_err("broken off");
    assert_eq!(error.kind, ErrorKind::Worker);
    assert!(!outcome.ran && pool.is_closing(), "the pool ended it");
    eventually("no process is left", || {
        !pids.iter().any(|&pid| is_alive(pid))
    });
    let late = pool.run(job(1, HONEST, None), &NoHost).await;
    assert!(late.result.is_err());
    assert!(children().is_empty());
}

/// `ran` distinguishes a script that did not run from one that failed.
#[tokio::test]
async fn a_script_without_a_worker_has_not_run() {
    let pool = Pool::new(PoolOptions {
        program: Program {
            path: "no such program".into(),
            args: vec![],
        },
        workers_max: 1,
        idle: LONG,
        kill_after: TIME,
        output_max: OUTPUT_MAX,
    });
    let outcome = pool.run(job(1, HONEST, None), &NoHost).await;
    assert!(!outcome.ran && !pool.is_closing());
    let error = outcome.result.expect_err("nothing ran");
    assert_eq!(error.kind, ErrorKind::Worker);
}

#[tokio::test]
async fn the_hard_memory_limit_applies_when_the_soft_limit_does_not() {
    let pool = pool(1, LONG);
    let mut bomb = job(1, "l = []\nwhile True: l.append('x' * 100000)", None);
    // Switches off the limit that the evaluator checks. The limit of the operating system remains.
    bomb.setting.limits.memory_bytes = None;
    bomb.setting.limits.time = Some(SOON);
    let outcome = pool.run(bomb, &NoHost).await;
    let error = outcome.result.expect_err("the memory is limited");
    assert_eq!(error.kind, ErrorKind::MemoryLimit, "{error:?}");
    serves_an_honest_script(&pool, 1).await;
    pool.close().await;
}

#[tokio::test]
async fn memory_below_the_limit_may_be_used() {
    let pool = pool(1, LONG);
    let bytes = MEMORY_BYTES * 3 / 4;
    let text = format!("def main(params):\n    return len('x' * {bytes})\n");
    for _ in 0..3 {
        let job = patient_job(1, &text, Some("main"));
        let outcome = pool.run(job, &NoHost).await;
        assert_eq!(outcome.result, Ok(Some(bytes.to_string())));
    }
    pool.close().await;
}

#[tokio::test]
async fn the_error_of_a_limit_names_the_line_of_the_loop() {
    let pool = pool(1, LONG);
    let text = "text = 'a'\nwhile True:\n    text = text + text\n";
    let error = pool.run(patient_job(1, text, None), &NoHost).await.result;
    let error = error.expect_err("too much");
    assert_eq!(error.kind, ErrorKind::MemoryLimit);
    // A single step can exceed the memory before the engine checks. The line is then unknown.
    if let Some(place) = error.place() {
        assert_eq!((place.file.as_str(), place.line), ("tool.py", 3));
    }
    // A script that grows in small steps is stopped in time, and so is a loop that uses no memory.
    let grows = "kept = []\nwhile True:\n    kept.append('x' * 1000 + str(len(kept)))\n";
    let spins = "n = 0\nwhile True:\n    n += 1\n";
    for (job, kind) in [
        (patient_job(1, grows, None), ErrorKind::MemoryLimit),
        (job(1, spins, None), ErrorKind::TimeLimit),
    ] {
        let error = pool.run(job, &NoHost).await.result;
        let error = error.expect_err("a limit");
        assert_eq!(error.kind, kind);
        let line = error.place().map(|place| place.line);
        assert!(matches!(line, Some(2 | 3)), "{error}");
    }
    pool.close().await;
}

#[tokio::test]
async fn a_result_that_is_too_large_to_pass_on_is_an_error() {
    let pool = pool(1, LONG);
    let text = "def main(params):\n    return 'x' * (17 * 1024 * 1024)\n";
    let mut large = job(1, text, Some("main"));
    large.setting.limits.time = Some(SOON);
    let error = pool
        .run(large, &NoHost)
        .await
        .result
        .expect_err("too large");
    assert_eq!(error.kind, ErrorKind::Exception);
    assert_eq!(
        error.message,
        "ValueError: the result is too large: more than the 16 MiB that may be passed on at once"
    );
    serves_an_honest_script(&pool, 1).await;
    assert_eq!(children().len(), 1);
    pool.close().await;
}

#[tokio::test]
async fn output_is_kept_up_to_its_limit() {
    let pool = pool(1, LONG);
    let outcome = pool
        .run(patient_job(1, "print('é', 1)\nprint('two')", None), &NoHost)
        .await;
    assert_eq!(outcome.output, "é 1\ntwo\n");
    let flood = "for i in range(300000): print(i)\n";
    let mut flood = job(1, flood, None);
    flood.setting.limits.time = Some(SOON);
    let outcome = pool.run(flood, &NoHost).await;
    assert_eq!(outcome.result, Ok(None));
    assert!(outcome.output.starts_with("0\n1\n2\n"));
    assert!(outcome.output.ends_with("[cut]") && outcome.output.len() <= OUTPUT_MAX);
    // Output before a failure is kept too.
    let outcome = pool
        .run(job(1, "print('here')\nwhile True: pass", None), &NoHost)
        .await;
    assert_eq!(outcome.output, "here\n");
    pool.close().await;
}

/// Has one library, and counts the operations that scripts request.
#[derive(Default)]
struct Library {
    asked: AtomicUsize,
}

impl JobHost for Library {
    async fn library(&self, module: &str) -> Result<Option<Source>, Raise> {
        Ok((module == "texts").then(|| Source {
            file: "texts.py".to_owned(),
            text: "def shout(text):\n    return text.upper()\n".to_owned(),
        }))
    }

    async fn call(&self, operation: &str, argument: &str) -> Result<String, Raise> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match operation {
            "emit" if argument.contains("refused") => {
                let text = "you may not emit";
                Err(Raise::new(Exception::PermissionError, text))
            }
            "emit" => Ok(r#"{"event_id": "e1", "event_type": "custom.x"}"#.to_owned()),
            _ => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn the_host_is_asked_for_libraries_and_operations() {
    let pool = pool(1, LONG);
    let host = Library::default();
    let text = "import texts\nimport svc.event as event\n\ndef main(params):\n    \
                try:\n        event.emit('refused')\n    except PermissionError as error:\n        \
                return [texts.shout('ok'), event.emit('x', {'n': 2**70}), str(error)]\n";
    let outcome = pool.run(patient_job(1, text, Some("main")), &host).await;
    assert_eq!(
        outcome.result,
        Ok(Some(r#"["OK","e1","you may not emit"]"#.to_owned()))
    );
    assert_eq!(host.asked.load(Ordering::Relaxed), 2);
    pool.close().await;
}

#[tokio::test]
async fn time_spent_waiting_for_the_host_counts() {
    let pool = pool(1, LONG);
    let text = "from svc import api\napi.me()\n";
    let start = Instant::now();
    let outcome = pool.run(job(1, text, None), &Library::default()).await;
    let error = outcome.result.expect_err("the host never answers");
    assert_eq!(error.kind, ErrorKind::TimeLimit);
    assert!(start.elapsed() >= TIME && start.elapsed() < TIME + SOON);
    pool.close().await;
}

#[tokio::test]
async fn a_cancelled_caller_ends_its_worker() {
    let pool = pool(1, LONG);
    let hanging = pool.run(job(1, "import time\ntime.sleep(60)", None), &NoHost);
    let left = tokio::time::timeout(Duration::from_millis(300), hanging).await;
    assert!(left.is_err());
    serves_an_honest_script(&pool, 1).await;
    pool.close().await;
    assert_eq!((pool.running(), pool.idle()), (0, 0));
}
