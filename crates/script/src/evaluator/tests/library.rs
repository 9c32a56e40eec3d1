//! Tests of the modules of Python's library that `svc` contains as Python code, and of the
//! rewriting of a script before it runs.

use std::time::Duration;

use super::*;

#[test]
fn a_file_of_the_author_hides_a_module_of_the_library() {
    let mut host = TestHost::with(&[("string", "digits = 'mine'\n")]);
    let script = "import string, textwrap\nprint(string.digits, textwrap.shorten('a b', 5))\n";
    assert_eq!(printed(script, &mut host), "mine a b\n");
}

#[test]
fn frames_of_the_library_are_left_out() {
    let error = fails("import uuid\n\nuuid.UUID('x')\n", &mut TestHost::default());
    assert_eq!(error.frames.len(), 1, "{error}");
    assert_eq!(place(&error), "script.py:3 in <module>: uuid.UUID('x')");
    assert_eq!(
        error.message,
        "ValueError: badly formed hexadecimal UUID string"
    );
}

#[test]
fn libraries_of_the_author_are_rewritten_too() {
    let library = "import re\ndef price(x):\n    return round(x, 2)\ndef mask(t):\n    return re.sub(r'\\d', lambda m: '*', t)\n";
    let mut host = TestHost::with(&[("shop", library)]);
    let script = "import shop\nprint(shop.price(2.675), shop.mask('a1'), hasattr(shop, 'round'))\n";
    assert_eq!(printed(script, &mut host), "2.67 a* False\n");
}

#[test]
fn a_snapshot_keeps_the_library() {
    let mut host = TestHost::with(&[(
        "shop",
        "import textwrap, uuid, logging, statistics, enum, io, traceback, urllib.parse, string\n\
         Colour = enum.Enum('Colour', 'RED BLUE')\n\
         def run(params):\n    return [round(2.675, 2), Colour.RED.name, statistics.mean([1, 2]), callable(run)]\n",
    )]);
    let mut evaluator = Evaluator::new(&setting(Flavour::Space));
    let setup = "from svc import jsonrpc\njsonrpc.method('run', 'shop.run')\n";
    evaluator.run(&source(setup), &mut host).expect("the setup");
    evaluator.load_routes(&mut host).expect("the routes");
    let snapshot = evaluator.snapshot().expect("a snapshot");
    for _ in 0..2 {
        let mut restored = Evaluator::restore(&snapshot).expect("an evaluator");
        assert_eq!(
            restored.call("shop.run", "{}", &mut host),
            Ok("[2.67,\"RED\",1.5,true]".to_owned())
        );
    }
}

/// A function that the engine itself calls, such as a sort key, cannot call the host. A function
/// passed to `map` or `filter` can, because `svc` replaces these two functions.
#[test]
fn functions_passed_to_map_and_filter_may_call_the_host() {
    let script = "\
from svc import api
print(list(map(lambda name: api.me()[name], ['username'])))
print(list(filter(lambda name: api.me()[name] == 'ann', ['username'])))
";
    let mut host =
        TestHost::default().answering("api", "{\"status\":200,\"body\":{\"username\":\"ann\"}}");
    assert_eq!(printed(script, &mut host), "['ann']\n['username']\n");
    let script = "from svc import api\nsorted([1], key=lambda n: api.me())\n";
    let error = fails(script, &mut host);
    assert!(
        error
            .hint
            .as_deref()
            .unwrap_or_default()
            .contains("in a loop"),
        "{error}: {:?}",
        error.hint
    );
}

#[test]
fn code_that_would_run_differently_without_an_error_is_refused_with_its_line() {
    for (script, line, instead) in [
        (
            "class A:\n    def __bool__(self):\n        return False\n",
            2,
            "is_empty",
        ),
        (
            "class A:\n    x = 1\n\n    def __lt__(self, other):\n        return True\n",
            4,
            "key=",
        ),
        (
            "class A:\n    def __iadd__(self, other):\n        return 1\n",
            2,
            "plain name",
        ),
        ("class A:\n    pass\nA.__name__ = 'B'\n", 3, "another name"),
        ("x = 1.5\nprint(f'{round(x)=}')\n", 2, "the value"),
        (
            "class A:\n    @property\n    def x(self):\n        return 1\n",
            2,
            "call it",
        ),
        (
            "from enum import Enum\nclass A(Enum):\n    X = 1\n",
            2,
            "Enum(",
        ),
        ("class Lost(Exception):\n    pass\n", 1, "ValueError"),
        ("def f():\n    x = [1]\n    del x\n", 3, "assign `None`"),
        ("def f():\n    yield from [1]\n", 2, "list"),
    ] {
        let error = check(&source(script)).expect_err(script);
        assert_eq!(error.kind, ErrorKind::Unsupported, "{script}: {error}");
        let frame = error.place().expect("a place");
        assert_eq!(frame.line, line, "{script}: {error}");
        let hint = error.hint.as_deref().unwrap_or_default();
        assert!(hint.contains(instead) && hint.contains("python3"), "{hint}");
    }
}

#[test]
fn tracebacks_keep_their_lines_after_rewriting() {
    let script = "\
import re

text = (
    'a-b'
    .translate(
        str.maketrans('-', ' ')
    )
)
total = sum(
    round(x, 1)
    for x in (1.25, 2.25)
)
del {
    'a': 1
}['a']
print(text, total); round(None, 2)
";
    let error = fails(script, &mut TestHost::default());
    assert!(place(&error).starts_with("script.py:16 "), "{error}");
}

/// The library is Python code like that of scripts, so the same limits apply.
#[test]
fn abuse_of_the_library_ends_at_the_limits() {
    let limits = Limits {
        time: Some(Duration::from_millis(300)),
        ..Limits::SANDBOX
    };
    let setting = Setting {
        limits,
        ..setting(Flavour::Tool)
    };
    for script in [
        "import textwrap\ntextwrap.wrap('a-b ' * 10**6, 5)",
        "import textwrap\ntextwrap.dedent(' x\\n' * 10**6)\nwhile True: pass",
        "import csv, io\nf = io.StringIO()\nw = csv.writer(f)\nwhile True:\n    w.writerow(['x'] * 1000)\n    f.seek(0)",
        "import csv, io\nlist(csv.reader(io.StringIO('\"a\"\"b\",' * 10**5)))\nwhile True: pass",
        "from urllib.parse import unquote, quote\nwhile True:\n    unquote(quote('é' * 10**5))",
        "import statistics\nstatistics.stdev(list(range(10**6)))",
        "import re\nwhile True: re.sub('a', lambda m: 'b', 'a' * 10**4)",
        "while True: ('a' * 10**4).translate({97: 'b' * 10})",
        "import itertools\nlist(map(str, itertools.count()))",
        "import itertools\nany(x < 0 for x in itertools.count())",
        "import logging\nwhile True:\n    logging.getLogger('a').debug('x')",
        "round(1.5, 10**9)\nwhile True: round(2.675, 2)",
        "bytes(n % 256 for n in range(10**9))",
        "import uuid\nwhile True: uuid.uuid5(uuid.NAMESPACE_DNS, 'x')",
    ] {
        let mut host = TestHost::default();
        let error = Evaluator::new(&setting)
            .run(&source(script), &mut host)
            .expect_err(script);
        assert!(
            matches!(error.kind, ErrorKind::TimeLimit | ErrorKind::MemoryLimit),
            "{script}: {error}"
        );
    }
    for script in [
        "import logging\nlogging.getLogger('a.' * 5000)",
        "def f():\n    return list(map(lambda x: f(), [1]))\nf()",
        "import re\ndef f(m):\n    return re.sub('a', f, 'a')\nf(None)",
    ] {
        let error = run_as(Flavour::Tool, script, &mut TestHost::default()).expect_err(script);
        assert!(
            error.message.starts_with("RecursionError"),
            "{script}: {error}"
        );
    }
}
