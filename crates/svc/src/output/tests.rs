use super::*;

fn table() -> Table {
    let spaces = [("lab", "deployed"), ("büro-zwei", "stopped")];
    Table::list(&["NAME", "STATE"], "no spaces", spaces, |(name, state)| {
        vec![name.into(), state.into()]
    })
}

#[test]
fn columns_line_up_without_trailing_blanks() {
    assert_eq!(
        table().render(None, false),
        "NAME       STATE\nlab        deployed\nbüro-zwei  stopped\n"
    );
}

#[test]
fn only_the_head_is_coloured() {
    let text = table().render(None, true);
    assert!(
        text.starts_with("\x1b[1mNAME       STATE\x1b[0m\n"),
        "{text:?}"
    );
    assert_eq!(text.matches('\x1b').count(), 2);
}

#[test]
fn a_terminal_cuts_long_lines() {
    assert_eq!(
        table().render(Some(14), false),
        "NAME       ST…\nlab        de…\nbüro-zwei  st…\n"
    );
}

/// Japanese characters take two columns, combining characters none.
#[test]
fn wide_and_combining_characters_line_up() {
    let spaces = [
        ("研究室", "deployed"),
        ("bu\u{308}ro", "stopped"),
        ("🚀", "new"),
    ];
    let table = Table::list(&["NAME", "STATE"], "no spaces", spaces, |(name, state)| {
        vec![name.into(), state.into()]
    });
    assert_eq!(
        table.render(None, false),
        "NAME    STATE\n研究室  deployed\nbu\u{308}ro    stopped\n🚀      new\n"
    );
    assert_eq!(
        table.render(Some(9), false),
        "NAME    …\n研究室  …\nbu\u{308}ro    …\n🚀      …\n"
    );
    assert_eq!(
        table.render(Some(5), false),
        "NAME…\n研究…\nbu\u{308}ro…\n🚀  …\n"
    );
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let evil = ["x\x1b[31m\ny\u{202e}z\u{2028}"];
    let table = Table::list(&["A"], "none", evil, |text| vec![text.into()]);
    assert_eq!(table.render(None, false), "A\nx [31m y z\n");
    let text = clean_text("a\u{9b}31m\n\tb\u{2066}");
    assert_eq!(text, "a 31m\n\tb ");
}

#[test]
fn values_of_records_are_not_cut() {
    let record = Table::record(vec![("name", "lab".into()), ("id", "7".into())]);
    assert_eq!(record.render(Some(5), false), "name:  lab\nid:    7\n");
}

#[test]
fn a_string_that_looks_like_a_number_stays_a_string_in_yaml() {
    let text = serde_saphyr::to_string(&serde_json::json!({"a": "1", "b": [true, null]}))
        .expect("writable");
    assert!(
        text.contains("a: \"1\"") || text.contains("a: '1'"),
        "{text}"
    );
}

/// The deepest document that a server can send. An overflow would end the test process; unoptimised
/// builds have the largest stack frames.
#[test]
fn the_deepest_document_is_written_on_a_small_stack() {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
        let writing = || {
            let levels = svc_protocol::jsonrpc::JSON_DEPTH_MAX;
            for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
                let times = levels / close.len();
                let text = format!("{}1{}", open.repeat(times), close.repeat(times));
                let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                for format in [Format::Json, Format::Yaml] {
                    assert!(to_text(format, &document).is_ok(), "{open}");
                }
            }
        };
        let running = thread.spawn_scoped(scope, writing).expect("a thread");
        running.join().expect("the documents are written");
    });
}
