//! Schemas and patterns at the bounds of their depth and beyond, on a small stack: an overflow would
//! end the test process. Unoptimised builds have the largest stack frames.

use std::thread;

use super::*;
use crate::registration::{MethodSchemas, breaking_changes};

/// Smaller than the stack of any thread that checks schemas: the threads of tokio have 2 MiB.
const SMALL_STACK: usize = 1024 * 1024;
/// The levels of the deepest registration file: 80 parts of a header, and 127 levels below it.
const DEEPEST: usize = 80 + 127;

/// Far beyond the bound of 250 nested groups.
const REPEATED: usize = 3_000;

/// Everything that contains a schema or another value of any depth.
const SHAPES: [fn(Value) -> Value; 12] = [
    |inner| json!({ "items": inner }),
    |inner| json!({ "not": inner }),
    |inner| json!({ "additionalProperties": inner }),
    |inner| json!({ "if": {}, "then": inner }),
    |inner| json!({ "properties": { "a": inner } }),
    |inner| json!({ "patternProperties": { "a": inner } }),
    |inner| json!({ "dependentSchemas": { "a": inner } }),
    |inner| json!({ "$defs": { "a": inner } }),
    |inner| json!({ "allOf": [inner] }),
    |inner| json!({ "prefixItems": [inner] }),
    |inner| json!({ "const": inner }),
    |inner| json!({ "enum": [inner] }),
];

fn on_a_small_stack(work: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(SMALL_STACK);
        let running = thread.spawn_scoped(scope, work).expect("a thread");
        running.join().expect("the work succeeds");
    });
}

fn depth_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}

fn nested(shape: fn(Value) -> Value, times: usize, innermost: &str) -> Value {
    let innermost = json!({ "type": innermost });
    (0..times).fold(innermost, |inner, _| shape(inner))
}

#[test]
fn schemas_at_and_beyond_the_bound_do_not_overflow_the_stack() {
    on_a_small_stack(|| {
        for (number, shape) in SHAPES.into_iter().enumerate() {
            let per_time = depth_of(&shape(shape(json!(1)))) - depth_of(&shape(json!(1)));
            let times = (DEPTH_MAX - 1) / per_time;
            let (schema, other) = (
                nested(shape, times, "string"),
                nested(shape, times, "number"),
            );
            assert!(depth_of(&schema) <= DEPTH_MAX);
            assert_eq!(check(&schema), Ok(()), "{number}");
            drop(relocate(&schema, "/components/schemas/x"));
            let [old, new] = [&schema, &other].map(|schema| MethodSchemas {
                params: Some(schema),
                result: Some(schema),
            });
            let _ = breaking_changes(old, new);
            for times in [times + 1, DEPTH_MAX, DEEPEST / per_time] {
                let schema = nested(shape, times, "string");
                assert_eq!(check(&schema), Err(SchemaError::TooDeep), "{number}");
            }
        }
    });
}

#[test]
fn patterns_at_and_beyond_the_bound_do_not_overflow_the_stack() {
    let check = |pattern: String| check(&json!({ "pattern": pattern }));
    on_a_small_stack(|| {
        for (open, close) in [
            ("(", ")"),
            ("(?:", ")"),
            ("(?i:", ")"),
            ("(a|", ")"),
            ("(a", "b)"),
            ("(", ")*"),
            ("(", "){1,2}"),
            ("[a", "]"),
            ("[a&&[b", "]]"),
        ] {
            let nested = |count| format!("{}a{}", open.repeat(count), close.repeat(count));
            assert_eq!(check(nested(50)), Ok(()), "{open}");
            for count in [249, 250] {
                let _ = check(nested(count));
            }
            for count in [251, 500, REPEATED] {
                assert!(check(nested(count)).is_err(), "{open} {count}");
                let _ = check(open.repeat(count));
            }
        }
        for chained in [
            "a", "*", "?", "{1}", "|", "()", "(?i)", "^", "\\b", "a-", "&&",
        ] {
            for count in [249, 250, 251, REPEATED] {
                let _ = check(format!("a{}", chained.repeat(count)));
                let _ = check(format!("[a{}]", chained.repeat(count)));
            }
        }
    });
}
