//! Error messages for authors, and the lines they name.

use super::*;

#[test]
fn syntax_errors_name_line_and_column() {
    for broken in [
        check(&source("x = 1\nif x\n    y = 2\n")),
        Err(fails("x = 1\nif x\n    y = 2\n", &mut TestHost::default())),
    ] {
        let error = broken.expect_err("no Python");
        assert_eq!(error.kind, ErrorKind::Syntax);
        assert!(
            error.message.starts_with("SyntaxError: "),
            "{}",
            error.message
        );
        assert_eq!(place(&error), "script.py:2 in <module>: if x");
        assert_eq!(error.frames[0].column, 5);
    }
}

#[test]
fn unsupported_constructs_are_named_with_a_hint() {
    for (script, line) in [
        ("def f():\n    yield 1\n", 2),
        ("class A:\n    pass\nclass B(A):\n    pass\n", 3),
        ("x = {}\ndel x\n", 2),
        ("from shapes import *\n", 1),
    ] {
        for refused in [
            check(&source(script)),
            Err(fails(script, &mut TestHost::default())),
        ] {
            let error = refused.expect_err(script);
            assert_eq!(error.kind, ErrorKind::Unsupported, "{script}: {error}");
            assert_eq!(
                error.place().map(|frame| frame.line),
                Some(line),
                "{script}: {error}"
            );
            assert!(
                error
                    .hint
                    .as_deref()
                    .unwrap_or_default()
                    .contains("python3"),
                "{script}"
            );
            assert!(!error.message.contains("monty"), "{}", error.message);
        }
    }
}

#[test]
fn an_error_names_the_function_that_does_not_exist() {
    for script in [
        "nothing('call', 'emit', '{}')\n",
        "def f():\n    return nothing()\nf()\n",
    ] {
        let mut host = TestHost::default();
        let error = fails(script, &mut host);
        assert_eq!(error.message, "NameError: name 'nothing' is not defined");
        assert!(host.asked.is_empty(), "{:?}", host.asked);
    }
}

#[test]
fn the_error_of_a_library_that_cannot_run_shows_its_own_line() {
    let mut host = TestHost::with(&[
        ("unfinished", "x = 1\ny = (\n"),
        ("modern", "import json\n\ndef f():\n    yield 1\n"),
    ]);
    let error = fails("\nimport unfinished\n", &mut host);
    assert_eq!(error.kind, ErrorKind::Syntax);
    let files: Vec<_> = error
        .frames
        .iter()
        .map(|frame| (frame.file.as_str(), frame.line))
        .collect();
    assert_eq!(files[0], ("script.py", 2));
    assert_eq!(files[1].0, "unfinished.py");
    let error = fails("import modern\n", &mut host);
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert_eq!(place(&error), "modern.py:4 in <module>: yield 1");
    assert!(error.hint.is_some());
}

#[test]
fn tracebacks_show_the_lines_as_they_were_written() {
    let mut host = TestHost::with(&[
        (
            "first",
            "import json\n\ndef outer(x):\n    return json.loads('1') / x\n",
        ),
        (
            "second",
            "from first import (\n    outer,\n)\n\ndef call(x):\n    # a comment\n    return outer(x)\n",
        ),
    ]);
    let script =
        "from second import (\n    call,\n)\n\ndef main():\n    return call(0)\n\nmain()\n";
    let error = fails(script, &mut host);
    assert_eq!(error.kind, ErrorKind::Exception);
    assert_eq!(
        error.to_string(),
        "\
Traceback (most recent call last):
  File \"script.py\", line 8, in <module>
    main()
  File \"script.py\", line 6, in main
    return call(0)
  File \"second.py\", line 7, in call
    return outer(x)
  File \"first.py\", line 4, in outer
    return json.loads('1') / x
ZeroDivisionError: division by zero"
    );
}

#[test]
fn frames_of_svc_are_left_out() {
    let script = "from svc.methods import schema as s\ns.string(nonsense=1)\n";
    let error = fails(script, &mut TestHost::default());
    assert_eq!(error.frames.len(), 1, "{error}");
    assert_eq!(
        place(&error),
        "script.py:2 in <module>: s.string(nonsense=1)"
    );
    let error = fails(
        "import svc.event as event\nevent.emit('x')\n",
        &mut TestHost::default(),
    );
    assert_eq!(error.message, "RuntimeError: no answer to `emit`");
    assert_eq!(error.frames.len(), 1, "{error}");
}

#[test]
fn the_message_of_an_exception_shows_its_arguments() {
    for (script, message) in [
        ("raise ValueError({'a': 1})", "ValueError: {'a': 1}"),
        ("raise ValueError('a', 2)", "ValueError: ('a', 2)"),
        ("raise RuntimeError(3)", "RuntimeError: 3"),
        ("raise ValueError('plain')", "ValueError: plain"),
        ("raise ValueError", "ValueError"),
        ("x = 'n'\nraise KeyError(f'{x}')", "KeyError: 'n'"),
    ] {
        assert_eq!(
            fails(script, &mut TestHost::default()).message,
            message,
            "{script}"
        );
    }
    let error = fails("x = ValueError(3)\n", &mut TestHost::default());
    assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
    assert!(!error.message.contains("monty"), "{}", error.message);
}

#[test]
fn an_exception_of_the_host_can_be_caught() {
    let script = "\
import svc.event as event
try:
    event.emit('x')
except RuntimeError as error:
    print(error)
";
    assert_eq!(
        printed(script, &mut TestHost::default()),
        "no answer to `emit`\n"
    );
}

#[test]
fn text_in_exec_is_not_mistaken_for_a_library() {
    let error = fails("exec('\\n1/0')\n", &mut TestHost::default());
    assert_eq!(
        error.place().map(|frame| frame.file.as_str()),
        Some("<string>"),
        "{error}"
    );
    assert_eq!(error.frames[0].file, "script.py");
}

#[test]
fn windows_line_ends_and_byte_order_marks_change_no_line_number() {
    let error = fails(
        "\u{feff}x = 1\r\n\r\ny = x / 0\r\n",
        &mut TestHost::default(),
    );
    assert_eq!(place(&error), "script.py:3 in <module>: y = x / 0");
}

#[test]
fn a_huge_script_is_refused() {
    let error = check(&source(&"x = 1\n".repeat(300_000))).expect_err("too large");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    let error = check(&source(&"(".repeat(200_000))).expect_err("too deep");
    assert_eq!(error.kind, ErrorKind::Syntax);
}

#[test]
fn a_sink_that_tries_to_emit_gets_a_hint() {
    for script in [
        "import svc.event as event\nevent.emit('x')",
        "from svc import event\nevent.emit('x')",
        "from svc.event import emit",
    ] {
        let error = run_as(Flavour::Sink, script, &mut TestHost::default()).expect_err(script);
        let hint = error.hint.as_deref();
        assert_eq!(
            hint,
            Some("sink scripts receive events and cannot emit"),
            "{script}: {error}"
        );
    }
    let mut host = TestHost::default();
    let script = "from svc import event\nprint(hasattr(event, 'emit'))\nprint.emit";
    let error = run_as(Flavour::Sink, script, &mut host).expect_err("no such attribute");
    assert_eq!((host.stdout.as_str(), error.hint), ("False\n", None));
}

#[test]
fn scripts_cannot_reach_the_function_of_the_host() {
    // The scripts try it directly, through the loader, in `exec` with new globals, and in a
    // library.
    let library = "def reach():\n    return __svc_host__('call', 'emit', '{}')\n";
    for reach in [
        "__svc_host__('call', 'emit', '{}')",
        "__svc_loader__['__svc_host__']('call', 'emit', '{}')",
        "exec(\"__svc_host__('call', 'emit', '{}')\", {})",
        "import reaching\nreaching.reach()",
    ] {
        let mut host = TestHost::with(&[("reaching", library)]).answering("emit", "{}");
        let error = fails(reach, &mut host);
        assert_eq!(error.kind, ErrorKind::Exception, "{reach}");
        assert!(host.asked.iter().all(|(asked, _)| asked == "library"));
    }
    let error = fails("name = input('Name? ')", &mut TestHost::default());
    assert_eq!(error.message, "NameError: name 'input' is not defined");
    assert!(error.hint.expect("a hint").contains("sys.argv"));
}

#[test]
fn a_dict_with_equal_constant_keys_of_different_types_is_refused() {
    let refused = [
        "d = {1: 'a', True: 'b'}",
        "d = {False: 'a', 0.0: 'b'}",
        "d = {**{1: 'a'}, True: 'b'}",
        "d = {(1, 2): 'a', (True, 2): 'b'}",
        "d = {-1: 'a', -1.0: 'b'}",
        "d = {1: 'a'} | {True: 'b'}",
        "d = {1: 'a'}\nd[True] = 'b'",
        "d = {}\nd[1] = 'a'\nd[True] += 'b'",
        "d = {1: 'a'}\nd.update({True: 'b'})",
        "d = {1: 'a'}\nd |= {1.0: 'b'}",
        "import json\ndef f():\n    return json.dumps({1: 'a', True: 'b'})",
    ];
    for script in refused {
        let error = check(&source(script)).expect_err(script);
        assert_eq!(error.kind, ErrorKind::Unsupported, "{script}: {error}");
        assert!(error.message.contains("equal in Python"), "{error}");
    }
    for accepted in [
        "d = {True: 'a', False: 'b'}",
        "d = {1: 'a', 1: 'b', '1': 'c', None: 'd'}",
        "d = {1: 'a'}\nd = {}\nd[True] = 'b'",
        "d = {1: 'a'}\ndef f():\n    d = {}\n    d[True] = 'b'",
        "d = {0.5: 'a', 0: 'b', 1.5: 'c'}",
    ] {
        check(&source(accepted)).unwrap_or_else(|error| panic!("{accepted}: {error}"));
    }
}
