//! Sources are checked before they are stored: a source that overloads the compiler affects only
//! a worker.

use std::time::{Duration, Instant};

use svc_script::{ErrorKind, ScriptError, Source, worker::Pool};
use uuid::Uuid;

use crate::support::{KILL_AFTER, SOON, TIME, pool, serves_an_honest_script};

/// The maximum size of a stored source.
const SOURCE_BYTES_MAX: usize = 256 * 1024;

async fn check(pool: &Pool, text: &str, time: Duration) -> Result<(), ScriptError> {
    let script = Source {
        file: "stored.py".to_owned(),
        text: text.to_owned(),
    };
    let outcome = pool.check(Uuid::from_u128(1), script, time).await;
    assert!(outcome.ran);
    outcome.result.map(drop)
}

#[tokio::test]
async fn a_source_is_compiled_and_not_run() {
    let pool = pool(1, Duration::from_secs(60));
    assert_eq!(check(&pool, "while True: pass", SOON).await, Ok(()));
    let error = check(&pool, "a = 1\ndef f(:\n", SOON).await;
    let error = error.expect_err("no Python");
    assert_eq!(error.kind, ErrorKind::Syntax);
    assert_eq!(error.place().map(|place| place.line), Some(2));
    let error = check(&pool, "def f():\n    yield 1\n", SOON).await;
    let error = error.expect_err("unsupported");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    // The hint must not name another engine.
    let hint = error.hint.expect("a hint");
    assert!(hint.contains("on the server"), "{hint}");
    assert!(!hint.contains("python3"), "{hint}");
    pool.close().await;
}

/// A source with nested `finally` blocks. The compiler copies a `finally` block for every path that
/// passes through it, so a short source becomes long code.
fn copies(returns: &[usize], lines: usize) -> String {
    let indent = 2 * returns.len();
    let line = format!("{} x=f(1,2,3)\n", " ".repeat(indent));
    let innermost = format!("{}def g():\n{}", " ".repeat(indent), line.repeat(lines));
    let around = |inner: String, (depth, count): (usize, &usize)| {
        let pad = " ".repeat(2 * depth);
        let leave = format!("{pad}  if a: return\n").repeat(*count);
        format!("{pad}def f{depth}():\n{pad} try:\n{leave}{pad} finally:\n{inner}")
    };
    returns.iter().enumerate().rev().fold(innermost, around)
}

#[tokio::test]
async fn a_source_that_overloads_the_compiler_fails_and_the_pool_works_on() {
    let pool = pool(1, Duration::from_secs(60));
    for text in [
        copies(&[1_000], 14_000),
        copies(&[250, 250], 12_000),
        copies(&[35, 35, 35], 2_000),
    ] {
        assert!(text.len() <= SOURCE_BYTES_MAX, "{}", text.len());
        let start = Instant::now();
        let error = check(&pool, &text, TIME).await.expect_err("too much");
        assert!(
            matches!(error.kind, ErrorKind::MemoryLimit | ErrorKind::TimeLimit),
            "{error:?}"
        );
        let took = start.elapsed();
        assert!(took < TIME + KILL_AFTER + SOON, "{took:?}");
        serves_an_honest_script(&pool, 1).await;
    }
    // A few copies are accepted.
    assert_eq!(check(&pool, &copies(&[10], 100), SOON).await, Ok(()));
    pool.close().await;
}

/// Sources of the maximum size that consist only of nesting or chaining. They may be refused or
/// accepted, but the worker that checks them must survive.
#[tokio::test]
async fn a_deeply_nested_source_leaves_its_worker_alive() {
    let many = |piece: &str| piece.repeat(SOURCE_BYTES_MAX / piece.len() - 16);
    let half = |piece: &str| piece.repeat(SOURCE_BYTES_MAX / 2 / piece.len() - 16);
    let ladder = || -> String {
        let steps = (0..700).map(|depth| format!("{}if x:\n", " ".repeat(depth)));
        steps.collect::<String>() + &" ".repeat(700) + "pass\n"
    };
    let sources = [
        many("("),
        many("["),
        many("{"),
        many("f("),
        many("{1:"),
        many("-"),
        many("not "),
        many("~"),
        many("lambda:"),
        many("await "),
        many("*"),
        format!("x = {}1", many("-")),
        format!("x = {}1", many("not ")),
        format!("x = {}1", many("lambda: ")),
        format!("x = 1{}", many("+1")),
        format!("x = __file__{}", many("+1")),
        format!("x = __file__{}", many(".a")),
        format!("x = 1{}", many("**1")),
        format!("x = a{}", many(".a")),
        format!("x = a{}", many("[0]")),
        format!("x = a{}", many("()")),
        format!("x = 1{}", many(" if 1 else 1")),
        format!("x = 1{}", many(" and 1")),
        format!("x = 1{}", many(" < 1")),
        format!("x = {}1{}", half("("), half(")")),
        format!("x = {}1{}", half("["), half("]")),
        format!("x = {}1{}", half("f("), half(")")),
        format!("x = f'{}1{}'", half("{"), half("}")),
        format!("{}x = 1", many("x = ")),
        format!("if x:\n pass\n{}", many("elif x:\n pass\n")),
        format!("x: {}int{}", half("list["), half("]")),
        format!("match x:\n case {}1{}:\n  pass\n", half("["), half("]")),
        format!("def f(a={}1{}): pass", half("("), half(")")),
        ladder(),
        many("@a\n"),
        many("\\\n"),
        many("\0"),
        many("\u{feff}"),
    ];
    let pool = pool(1, Duration::from_secs(60));
    for text in sources {
        let start: String = text.chars().take(20).collect();
        let checked = check(&pool, &text, SOON).await;
        if let Err(error) = checked {
            assert!(
                matches!(error.kind, ErrorKind::Syntax | ErrorKind::Unsupported),
                "{start:?}: {error:?}"
            );
        }
    }
    pool.close().await;
}
