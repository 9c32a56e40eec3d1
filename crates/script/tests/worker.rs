//! Scripts in real worker processes: hostile scripts end within their limits with the right error.

#[path = "worker/checks.rs"]
mod checks;
#[path = "worker/frames.rs"]
mod frames;
#[path = "worker/pool.rs"]
mod pool;
#[path = "worker/space.rs"]
mod space;
#[path = "worker/support.rs"]
mod support;

use std::time::{Duration, Instant};

use svc_script::{ErrorKind, worker::NoHost};

use support::{KILL_AFTER, SOON, TIME, job, patient_job, pool, serves_an_honest_script};

/// For each attack: its name, its script and the kind of error that ends it.
fn attacks() -> Vec<(&'static str, String, ErrorKind)> {
    let time = || ErrorKind::TimeLimit;
    let memory = || ErrorKind::MemoryLimit;
    let exception = || ErrorKind::Exception;
    let text = str::to_owned;
    vec![
        ("loop", text("while True: pass"), time()),
        (
            "loop that catches all",
            text(
                "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
            ),
            time(),
        ),
        ("sleep", text("import time\ntime.sleep(60)"), time()),
        ("str bomb", text("x = 'a' * (10**10)"), memory()),
        (
            "doubling string",
            text("x = 'a'\nwhile True: x = x + x"),
            memory(),
        ),
        (
            "list bomb",
            text("l = []\nwhile True: l.append('x' * 1000 + str(len(l)))"),
            memory(),
        ),
        (
            "list of lists",
            text("l = [0]\nwhile True: l = [l[:], l[:]] * 2 + l"),
            memory(),
        ),
        (
            "dict bomb",
            text("d = {}\ni = 0\nwhile True:\n    d[i] = [i]\n    i += 1"),
            memory(),
        ),
        (
            "join bomb",
            text("x = ','.join(['a' * 1000000] * 100000)"),
            memory(),
        ),
        (
            "replace bomb",
            text("x = ('a' * 100000).replace('a', 'b' * 100000)"),
            memory(),
        ),
        ("big power", text("x = 3 ** (10**9)"), memory()),
        // A single step of the interpreter exceeds the time limit, so the worker is killed.
        (
            "product of big integers",
            text("x = 3 ** (4 * 10**7)\ny = x * x * x"),
            time(),
        ),
        (
            "digits of a big integer",
            text("x = len(str(3 ** (4 * 10**7)))"),
            time(),
        ),
        ("sort", text("while True: sorted(range(1_000_000))"), time()),
        (
            "regular expression",
            text("import re\nre.match(r'(a|aa)+\\1$', 'a' * 80 + 'b')"),
            exception(),
        ),
        (
            "recursion",
            text("def f(n): return f(n + 1)\nf(0)"),
            exception(),
        ),
        ("open", text("open('/etc/passwd').read()"), exception()),
        (
            "environment",
            text("import os\nprint(os.environ['PATH'])"),
            exception(),
        ),
        (
            "subprocess",
            text("import subprocess\nsubprocess.run(['id'])"),
            exception(),
        ),
        ("no python", text("def f(:\n"), ErrorKind::Syntax),
        (
            "unsupported",
            text("def f():\n    yield 1\n"),
            ErrorKind::Unsupported,
        ),
        (
            "deep nesting of the text",
            format!("x = {}{}", "(".repeat(50_000), ")".repeat(50_000)),
            ErrorKind::Syntax,
        ),
        (
            "flood of requests to the host",
            text(
                "from svc import api\nwhile True:\n    try:\n        api.me()\n    except Exception:\n        pass",
            ),
            ErrorKind::HostCallLimit,
        ),
    ]
}

#[tokio::test]
async fn every_attack_ends_within_its_limits_and_the_pool_keeps_serving() {
    let pool = pool(1, Duration::from_secs(60));
    let mut wrong = Vec::new();
    for (name, text, kind) in attacks() {
        // On a busy machine, the time could be over before another limit is reached.
        let (job, time) = match kind {
            ErrorKind::TimeLimit => (job(1, &text, None), TIME),
            _ => (patient_job(1, &text, None), SOON),
        };
        let start = Instant::now();
        let outcome = pool.run(job, &NoHost).await;
        let took = start.elapsed();
        let ended = outcome.result.as_ref().err();
        let message = ended.map(|error| error.message.clone());
        println!("{name:28} {took:>10.1?} {message:?}");
        if ended.map(|error| &error.kind) != Some(&kind) {
            wrong.push(format!("{name}: {:?}, not {kind:?}", outcome.result));
        }
        if took > time + KILL_AFTER + SOON {
            wrong.push(format!("{name}: took {took:?}"));
        }
        serves_an_honest_script(&pool, 1).await;
    }
    pool.close().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
