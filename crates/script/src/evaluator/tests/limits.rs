//! Hostile scripts end within their limits, with an error that says why.

use std::time::{Duration, Instant};

use super::*;

fn limited(limits: Limits) -> Setting {
    Setting {
        limits,
        ..setting(Flavour::Sink)
    }
}

fn ends(setting: &Setting, text: &str) -> ScriptError {
    Evaluator::new(setting)
        .run(&source(text), &mut TestHost::default())
        .expect_err(text)
}

#[test]
fn endless_loops_end_even_if_they_catch_every_exception() {
    let time = Duration::from_millis(100);
    let setting = limited(Limits {
        time: Some(time),
        ..Limits::SANDBOX
    });
    for script in [
        "while True:\n    pass\n",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n",
        "try:\n    while True:\n        pass\nfinally:\n    while True:\n        pass\n",
        "import time\nwhile True:\n    try:\n        time.sleep(0.03)\n    except BaseException:\n        pass\n",
        "import time\ntime.sleep(1000)\n",
        "import asyncio\nasync def f():\n    await asyncio.sleep(1000)\nasyncio.run(f())\n",
    ] {
        let started = Instant::now();
        let error = ends(&setting, script);
        assert_eq!(error.kind, ErrorKind::TimeLimit, "{script}: {error}");
        assert_eq!(error.message, "the script ran longer than 100 ms");
        let elapsed = started.elapsed();
        assert!(
            elapsed >= time && elapsed < Duration::from_secs(60),
            "{script}: {elapsed:?}"
        );
    }
}

#[test]
fn one_long_step_ends_too() {
    let setting = limited(Limits {
        time: Some(Duration::from_millis(100)),
        ..Limits::SANDBOX
    });
    let started = Instant::now();
    let error = ends(&setting, "sorted(range(10**9))");
    // A fast machine may fill the memory before the time is over.
    let by_limit = [ErrorKind::TimeLimit, ErrorKind::MemoryLimit].contains(&error.kind);
    assert!(by_limit, "{error}");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn the_error_of_a_limit_names_the_line_and_ends_the_run() {
    let setting = limited(Limits {
        time: Some(Duration::from_millis(500)),
        ..Limits::SANDBOX
    });
    let error = ends(
        &setting,
        "def spin():\n    while True:\n        pass\n\nspin()\n",
    );
    assert_eq!(error.kind, ErrorKind::TimeLimit);
    let lines: Vec<u32> = error.frames.iter().map(|frame| frame.line).collect();
    assert!(matches!(lines[..], [5, 2 | 3]), "{error}");

    // Catching the exception does not help: the run ends and makes no more calls to the host.
    let text = "\
from svc import api
try:
    while True:
        pass
except BaseException:
    pass
";
    let error = ends(&setting, text);
    assert_eq!(error.kind, ErrorKind::TimeLimit, "{error}");
    let mut host = TestHost::default();
    let error = Evaluator::new(&setting)
        .run(&source(&format!("{text}api.me()\n")), &mut host)
        .expect_err("it is over");
    assert_eq!(error.kind, ErrorKind::TimeLimit, "{error}");
    assert_eq!(host.asked, []);
}

#[test]
fn a_script_and_its_function_share_their_time() {
    let mut host = TestHost::default();
    let text = "import time\ntime.sleep(0.3)\ndef main(params):\n    time.sleep(0.3)\n";
    let setting = limited(Limits {
        time: Some(Duration::from_millis(500)),
        ..Limits::SANDBOX
    });
    let mut call = |shared: bool| {
        let mut evaluator = Evaluator::new(&setting);
        if shared {
            evaluator.share_time();
        }
        evaluator.run(&source(text), &mut host)?;
        evaluator.call("__main__.main", "{}", &mut host)
    };
    // A pause of a busy machine counts as time of the script, so one of several tries suffices.
    assert!((0..10).any(|_| call(false) == Ok("null".to_owned())));
    let mut ends_in_function = || {
        let error = call(true).expect_err("0.6 s are over 0.5 s");
        assert_eq!(error.kind, ErrorKind::TimeLimit);
        error.place().map(|place| place.line) == Some(4)
    };
    assert!((0..10).any(|_| ends_in_function()));
}

/// Only a worker measures its memory. Here the script raises the engine's exception itself.
#[test]
fn the_error_of_the_memory_limit_names_the_limit() {
    let script = "raise MemoryError('memory limit exceeded: 2 bytes > 1 bytes')";
    let error = ends(&setting(Flavour::Sink), script);
    assert_eq!(error.kind, ErrorKind::MemoryLimit);
    assert_eq!(error.message, "the script used more than 128 MiB");
}

#[test]
fn sleep_waits_and_its_time_counts_once() {
    let mut host = TestHost::default();
    let started = Instant::now();
    assert_eq!(
        printed(
            "import time\ntime.sleep(0.05)\ntime.sleep(0.05)\nprint('awake')",
            &mut host
        ),
        "awake\n"
    );
    assert!(started.elapsed() >= Duration::from_millis(100));
}

#[test]
fn deep_recursion_raises_an_ordinary_exception() {
    let error = ends(
        &setting(Flavour::Sink),
        "def f(n):\n    return f(n + 1)\nf(0)\n",
    );
    assert_eq!(error.kind, ErrorKind::Exception);
    assert!(
        error
            .message
            .starts_with("RecursionError: maximum recursion depth exceeded"),
        "{error}"
    );
    assert_eq!(error.frames.len(), 21);
    assert!(error.frames[10].is_gap());
    assert!(error.to_string().contains("more calls"), "{error}");
    let mut host = TestHost::default();
    let script = "\
def f(n):
    return f(n + 1)
try:
    f(0)
except RecursionError:
    print('caught')
";
    assert_eq!(printed(script, &mut host), "caught\n");
}

/// Recursion in the engine's own code rather than in frames of the script. Runs on a thread with a
/// smaller stack than that of workers.
#[test]
fn native_recursion_does_not_overflow_the_stack() {
    for script in [
        "x = []\nfor i in range(100000):\n    x = [x]\nrepr(x)\n",
        "x = []\nfor i in range(100000):\n    x = [x]\nimport json\njson.dumps(x)\n",
        "import json\njson.loads('[' * 100000 + ']' * 100000)\n",
        "x = []\nfor i in range(100000):\n    x = [x]\ny = []\nfor i in range(100000):\n    y = [y]\nx == y\n",
        "def f(x):\n    return sorted([x, x], key=f)\nf(1)\n",
        "class C:\n    def __repr__(self):\n        return repr(self)\nrepr(C())\n",
        "class C:\n    def __eq__(self, other):\n        return self == other\nC() == C()\n",
        "eval('(' * 5000 + ')' * 5000)\n",
        "eval('-' * 5000 + '1')\n",
        "exec('exec(x)', {'x': 'exec(x)'})\nx = 'exec(x)'\nexec(x)\n",
    ] {
        let result = std::thread::Builder::new()
            .stack_size(2 * 1024 * 1024)
            .spawn(move || run_as(Flavour::Sink, script, &mut TestHost::default()))
            .expect("a thread")
            .join()
            .expect("no panic");
        if let Err(error) = result {
            assert!(
                matches!(error.kind, ErrorKind::Exception | ErrorKind::TimeLimit),
                "{script}: {error}"
            );
        }
    }
}

#[test]
fn calls_to_the_host_are_limited() {
    let setting = limited(Limits {
        host_calls: 10,
        ..Limits::SANDBOX
    });
    let script = "\
from svc import _host
n = 0
while True:
    try:
        _host.call('api', None)
    except BaseException:
        n += 1
        print(n)
";
    let mut host = TestHost::default();
    let error = Evaluator::new(&setting)
        .run(&source(script), &mut host)
        .expect_err("too many");
    assert_eq!(error.kind, ErrorKind::HostCallLimit);
    assert_eq!(
        error.message,
        "the script made more than 10 calls to its host"
    );
    assert_eq!(host.asked.len(), 10);
    let error = ends(
        &setting,
        "while True:\n    try:\n        import nothing\n    except ImportError:\n        pass\n",
    );
    assert_eq!(error.kind, ErrorKind::HostCallLimit);
}

#[test]
fn an_evaluator_works_after_a_limit_was_reached() {
    let mut host = TestHost::default();
    let mut evaluator = Evaluator::new(&limited(Limits {
        time: Some(Duration::from_secs(2)),
        ..Limits::SANDBOX
    }));
    evaluator
        .run(&source("while True: pass"), &mut host)
        .expect_err("too long");
    evaluator
        .run(&source("print('on')"), &mut host)
        .expect("it is idle again");
    assert_eq!(host.stdout, "on\n");
}

#[test]
fn output_of_any_size_is_passed_on_in_lines() {
    let mut host = TestHost::default();
    let script = "import sys\nprint('a', 1, end='')\nprint(file=sys.stderr)\nprint('b')\nprint('x' * 100000)\nprint('end', end='')";
    let output = printed(script, &mut host);
    assert!(
        output.starts_with("a 1b\nxxx") && output.ends_with("x\nend"),
        "{}",
        output.len()
    );
    assert_eq!(host.stderr, "\n");
}

#[test]
fn every_script_has_clocks_and_random_numbers() {
    let script = "\
import time, random, os, datetime
print(time.time() > 1700000000, time.monotonic() >= 0, 0 <= random.random() < 1)
print(len(os.urandom(16)), datetime.datetime.now().year > 2000)
";
    let mut host = TestHost::default();
    run_as(Flavour::Sink, script, &mut host).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(host.stdout, "True True True\n16 True\n");
}
