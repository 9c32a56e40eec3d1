//! Every form of import, and state shared by modules.

use super::*;

const SHAPES: &str = "\
'''Shapes.'''
SIDES = 4
def area(side):
    return side * side
class Square:
    def __init__(self, side):
        self.side = side
";

fn shapes() -> TestHost {
    TestHost::with(&[
        ("shapes", SHAPES),
        ("kit", "NAME = 'kit'\n"),
        (
            "kit.tools",
            "from kit import NAME\ndef hammer():\n    return NAME + ' hammer'\n",
        ),
        ("kit.deep.drill", "SPEED = 3\n"),
        ("space.only", "HERE = True\n"),
    ])
}

#[test]
fn every_form_of_import_binds_the_same_names_as_in_cpython() {
    let table = [
        ("import shapes\nprint(shapes.area(3))", "9\n"),
        (
            "import shapes as s, json\nprint(json.dumps(s.SIDES))",
            "4\n",
        ),
        (
            "from shapes import area, SIDES as n\nprint(area(n))",
            "16\n",
        ),
        (
            "from shapes import (\n    area,\n    Square as Sq,  # the class\n)\nprint(area(Sq(2).side))",
            "4\n",
        ),
        (
            "import kit.tools\nprint(kit.NAME, kit.tools.hammer())",
            "kit kit hammer\n",
        ),
        ("import kit.tools as t\nprint(t.hammer())", "kit hammer\n"),
        (
            "from kit import tools\nprint(tools.hammer())",
            "kit hammer\n",
        ),
        (
            "from kit.tools import hammer\nprint(hammer())",
            "kit hammer\n",
        ),
        ("import kit.deep.drill\nprint(kit.deep.drill.SPEED)", "3\n"),
        ("from space import only\nprint(only.HERE)", "True\n"),
        (
            "def f():\n    from shapes import area\n    return area(5)\nprint(f())",
            "25\n",
        ),
        ("if True:\n    import shapes; print(shapes.SIDES)", "4\n"),
        (
            "try:\n    import nothing\nexcept ImportError as e:\n    print(e)",
            "No module named 'nothing'\n",
        ),
        (
            "try:\n    from shapes import nothing\nexcept ImportError as e:\n    print(e)",
            "cannot import name 'nothing' from 'shapes'\n",
        ),
        (
            "try:\n    from . import x\nexcept ImportError as e:\n    print(e)",
            "relative imports are not supported, name the whole package: `from . import x`\n",
        ),
        ("class C:\n    import shapes\nprint(C.shapes.SIDES)", "4\n"),
        (
            "match 1:\n    case 1:\n        import shapes\nprint(shapes.SIDES)",
            "4\n",
        ),
        (
            "from __future__ import annotations\nimport shapes\nprint(shapes.__name__, shapes.__file__)",
            "shapes shapes.py\n",
        ),
        (
            "import os.path, shapes\nprint(os.path.join('a', 'b'), shapes.SIDES)",
            "a/b 4\n",
        ),
        ("import shapes, \\\n  math\nprint(math.floor(1.5))", "1\n"),
        ("print(__name__)", "__main__\n"),
    ];
    for (script, expected) in table {
        assert_eq!(printed(script, &mut shapes()), expected, "{script}");
    }
}

#[test]
fn a_module_is_run_once_and_shared() {
    let mut host = TestHost::with(&[("noisy", "print('loaded')\n"), ("user", "import noisy\n")]);
    assert_eq!(
        printed(
            "import noisy\nimport user\nfrom noisy import __name__ as n\nprint(n)",
            &mut host
        ),
        "loaded\nnoisy\n"
    );
}

#[test]
fn globals_of_a_library_can_be_set_inside_and_outside_of_it() {
    let counter = "\
value = 0
limit = 10
def bump():
    global value
    value += 1
    return value
def left():
    return limit - value
";
    let script = "\
import counter
counter.bump(); counter.bump()
print(counter.value)
counter.limit = 5
print(counter.left())
";
    let mut host = TestHost::with(&[("counter", counter)]);
    assert_eq!(printed(script, &mut host), "2\n3\n");
}

#[test]
fn cyclic_imports_see_the_names_defined_so_far() {
    let mut host = TestHost::with(&[
        ("a", "X = 1\nimport b\nY = b.Z + 1\n"),
        ("b", "import a\nZ = a.X + 1\n"),
    ]);
    assert_eq!(printed("import a\nprint(a.Y)", &mut host), "3\n");
}

#[test]
fn a_failed_import_leaves_nothing_behind() {
    let mut host = TestHost::with(&[("broken", "X = 1\nraise ValueError('not today')\n")]);
    let script = "\
for attempt in range(2):
    try:
        import broken
    except ValueError as error:
        print(error)
";
    assert_eq!(printed(script, &mut host), "not today\nnot today\n");
    let loads = host.asked.iter().filter(|(what, _)| what == "library");
    assert_eq!(loads.count(), 2);
}

#[test]
fn the_hint_for_an_unknown_module_lists_the_known_modules() {
    let error = fails("import requests\n", &mut TestHost::default());
    assert_eq!(
        error.message,
        "ModuleNotFoundError: No module named 'requests'"
    );
    assert_eq!(place(&error), "script.py:1 in <module>: import requests");
    let hint = error.hint.expect("there is a hint");
    assert!(hint.contains("json") && hint.contains("python3"), "{hint}");
}

#[test]
fn sinks_and_tools_lack_the_modules_of_spaces() {
    for module in ["svc.methods", "svc.jsonrpc", "subprocess"] {
        for flavour in [Flavour::Sink, Flavour::Tool] {
            let error = run_as(
                flavour,
                &format!("import {module}"),
                &mut TestHost::default(),
            )
            .expect_err("not on the server");
            assert_eq!(
                error.message,
                format!(
                    "ModuleNotFoundError: No module named '{module}': it exists in spaces only, not on the server"
                )
            );
        }
        run_as(
            Flavour::Space,
            &format!("import {module}"),
            &mut TestHost::default(),
        )
        .unwrap_or_else(|error| panic!("{module}: {error}"));
    }
}

#[test]
fn a_sink_reads_its_event_and_cannot_emit() {
    let event = r#"{"id":"e1","type":"custom.x","payload":{"n":1}}"#;
    let mut host = TestHost::default().answering("event", event);
    run_as(
        Flavour::Sink,
        "import svc.event as event\nprint(event.type())",
        &mut host,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(host.stdout, "custom.x\n");
    let error = run_as(
        Flavour::Sink,
        "import svc.event as event\nevent.emit('x')",
        &mut host,
    )
    .expect_err("a sink has no `emit`");
    assert_eq!(
        error.message,
        "AttributeError: 'module' object has no attribute 'emit'"
    );
}

#[test]
fn a_space_emits_through_its_host() {
    let mut host = TestHost::default().answering("emit", r#"{"event_id":"e7","event_type":"x"}"#);
    assert_eq!(
        printed(
            "import svc.event as event\nprint(event.emit('custom.x', {'n': 10**20}))",
            &mut host
        ),
        "e7\n"
    );
    assert_eq!(
        host.asked,
        [(
            "emit".to_owned(),
            r#"{"type":"custom.x","payload":{"n":100000000000000000000}}"#.to_owned()
        )]
    );
}

#[test]
fn subprocess_asks_the_host() {
    let answer = r#"{"returncode":3,"stdout":"out","stderr":"bad\n"}"#;
    let script = "\
import subprocess
done = subprocess.run(['make', '-j'], capture_output=True, cwd='/tmp')
print(done.returncode, done.stdout)
try:
    subprocess.run(['make'], check=True, capture_output=True)
except RuntimeError as error:
    print(error)
";
    let mut host = TestHost::default().answering("process", answer);
    assert_eq!(
        printed(script, &mut host),
        "3 out\ncommand ['make'] returned exit status 3: bad\n"
    );
}

#[test]
fn sys_has_arguments_and_exit() {
    let script = "import sys\nprint(sys.argv, file=sys.stderr)\nfrom sys import exit\nexit(0)\n";
    let mut host = TestHost::default();
    assert_eq!(printed(script, &mut host), "");
    assert_eq!(host.stderr, "['script.py', 'one']\n");
    for (script, code, stderr) in [
        ("import sys\nsys.exit(3)", 3, ""),
        ("raise SystemExit(4)", 4, ""),
        ("import sys\nsys.exit('no such note')", 1, "no such note\n"),
        ("import sys\nsys.exit(True)", 1, ""),
    ] {
        let mut host = TestHost::default();
        assert_eq!(
            fails(script, &mut host).kind,
            ErrorKind::Exit(code),
            "{script}"
        );
        assert_eq!(host.stderr, stderr, "{script}");
    }
    for script in [
        "import sys\nsys.exit()",
        "raise SystemExit",
        "raise SystemExit()",
        "raise SystemExit(0)",
    ] {
        printed(script, &mut TestHost::default());
    }
}
