//! Bounds how deeply a TOML text nests, before it becomes a tree.
//!
//! The parser limits brackets and the parts of one key to 80 each. But every table in brackets can have
//! such a key, so a short text can nest thousands of levels, and reading the tree calls itself once
//! for each level.

use std::ops::Range;

use toml_parser::{Source, lexer::TokenKind};

use crate::jsonrpc::JSON_DEPTH_MAX;

/// The maximum number of levels below a table header; the header itself has at most 80 parts.
pub(super) const TOML_DEPTH_MAX: usize = JSON_DEPTH_MAX;

/// The position at which a text becomes too deep. Never counts fewer levels than the tree will have.
pub(super) fn find_too_deep(text: &str) -> Option<Range<usize>> {
    // For each open bracket: its kind, and the dots of the current key inside.
    let mut open: Vec<(TokenKind, usize)> = Vec::new();
    let mut dots = 0;
    let mut levels = 0;
    for token in Source::new(text).lex() {
        let kind = token.kind();
        match kind {
            TokenKind::Dot => {
                dots += 1;
                levels += 1;
            }
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                open.push((kind, dots));
                dots = 0;
                levels += 1;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                let is_pair = |opened: &mut (TokenKind, usize)| closes(opened.0, kind);
                if let Some((_, outside)) = open.pop_if(is_pair) {
                    levels -= dots + 1;
                    dots = outside;
                }
            }
            TokenKind::Comma => levels -= std::mem::take(&mut dots),
            TokenKind::Newline if open.is_empty() => levels -= std::mem::take(&mut dots),
            _ => {}
        }
        if levels > TOML_DEPTH_MAX {
            return Some(token.span().start()..token.span().end());
        }
    }
    None
}

fn closes(opened: TokenKind, closing: TokenKind) -> bool {
    match opened {
        TokenKind::LeftSquareBracket => closing == TokenKind::RightSquareBracket,
        _ => closing == TokenKind::RightCurlyBracket,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use svc_core::{SpaceName, UserName, registration::Registration};

    use crate::{
        document::{read_exact_json, read_json, read_record, read_toml},
        jsonrpc::JSON_DEPTH_MAX,
        registration_file::{parse, read_file},
    };

    /// Threads of tokio have 2 MiB. An unoptimised build, which has the largest stack frames, needs 0.6
    /// to 0.75 MiB for the deepest registration.
    const SMALL_STACK: usize = 1024 * 1024;

    /// Keys inside inline tables inside keys: the parser's own limits permit thousands of levels.
    fn nested(tables: usize, parts: usize) -> String {
        let key = vec!["a"; parts].join(".");
        let open = format!("{{ {key} = ").repeat(tables);
        format!("{key} = {open}1{}", " }".repeat(tables))
    }

    fn on_a_small_stack(work: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(SMALL_STACK);
            let running = thread.spawn_scoped(scope, work).expect("a thread");
            running.join().expect("the work succeeds");
        });
    }

    #[test]
    fn a_text_at_the_bound_is_read_and_a_deeper_text_is_refused() {
        on_a_small_stack(|| {
            // The last dot and the last bracket count, so 127 levels are 31 tables of four levels.
            assert!(read_toml::<Value>(&nested(31, 4)).is_ok());
            for deeper in [nested(32, 4), nested(75, 75), nested(79, 79)] {
                let refused = read_toml::<Value>(&deeper).expect_err("too deep");
                assert!(
                    refused.message.contains("127 levels deep"),
                    "{}",
                    refused.message
                );
                assert!(refused.span.is_some());
            }
            for text in [
                "[".repeat(100_000),
                "a.".repeat(50_000),
                "a=[}".repeat(20_000),
            ] {
                assert!(read_toml::<Value>(&text).is_err());
            }
        });
    }

    /// A registration with a schema below a header of this many parts.
    fn registration(parts: usize, tables: usize) -> String {
        let header = format!("methods.params_schema{}", ".a".repeat(parts - 2));
        format!(
            "[server]\ncommand = 'x'\n[[methods]]\nname = 'a'\ndescription = 'a'\n[{header}]\n{}\n",
            nested(tables, 4)
        )
    }

    #[test]
    fn a_registration_at_the_bound_is_read_and_a_deeper_one_is_refused() {
        on_a_small_stack(|| {
            let (space, owner) = (SpaceName::parse("lab"), UserName::parse("ann"));
            let (space, owner) = (space.expect("a name"), owner.expect("a name"));
            let deepest = registration(78, 31);
            assert!(parse("svc.toml", &deepest).is_ok());
            let refused = read_file("svc.toml", &deepest, &space, &owner);
            let refused = refused.expect_err("the schema is too deep").to_string();
            assert!(refused.contains("more than 64 levels"), "{refused}");
            for deeper in [
                registration(78, 32),
                registration(1_000, 31),
                registration(78, 5_000),
            ] {
                assert!(parse("svc.toml", &deeper).is_err());
            }
            // The error names the position of a deep value, so it is looked up.
            let wrong = deepest.replace("params_schema", "groups");
            assert!(parse("svc.toml", &wrong).is_err());
        });
    }

    #[test]
    fn json_at_the_bound_is_read_and_a_deeper_text_is_refused() {
        let lists: fn(usize) -> String =
            |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects: fn(usize) -> String =
            |depth| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        on_a_small_stack(|| {
            for nested in [lists, objects] {
                let deepest = nested(JSON_DEPTH_MAX);
                assert!(read_json::<Value>(deepest.as_bytes()).is_ok());
                assert!(read_record::<Value>(deepest.as_bytes()).is_ok());
                assert!(read_exact_json::<Value>(deepest.as_bytes()).is_ok());
                assert!(read_json::<Registration>(deepest.as_bytes()).is_err());
                for depth in [JSON_DEPTH_MAX + 1, 2 * JSON_DEPTH_MAX, 100_000] {
                    let deeper = nested(depth);
                    assert!(read_json::<Value>(deeper.as_bytes()).is_err());
                    assert!(read_record::<Value>(deeper.as_bytes()).is_err());
                    assert!(read_exact_json::<Value>(deeper.as_bytes()).is_err());
                    assert!(read_json::<Registration>(deeper.as_bytes()).is_err());
                }
            }
        });
    }

    #[test]
    fn wide_texts_are_not_deep() {
        let floats = format!("x = [{}]", "1.5, ".repeat(1_000));
        let lines = "[[a.b.c]]\nd.e.f = 1.5 # a.b.c\ng = \"[[[[....\"\n".repeat(1_000);
        for text in [floats, lines, format!("x = '{}'", "{".repeat(1_000))] {
            assert!(read_toml::<Value>(&text).is_ok());
        }
    }
}
