//! Files and the environment: full access for a user's own script, none on the server.

use super::*;

#[test]
fn scripts_on_the_server_reach_no_file_and_no_environment() {
    for script in [
        "open('/etc/passwd')",
        "open('x', 'w')",
        "import os\nos.listdir('/')",
        "import os\nos.mkdir('/tmp/x')",
        "from pathlib import Path\nPath('/etc/passwd').read_text()",
        "import os\nlist(os.scandir('/'))",
    ] {
        let error = run_as(Flavour::Sink, script, &mut TestHost::default()).expect_err(script);
        assert!(
            error.message.starts_with(
                "PermissionError: [Errno 13] scripts on the server have no access to files: "
            ),
            "{script}: {error}"
        );
    }
    for script in [
        "import os\nprint(os.environ['HOME'])",
        "import os\nos.getenv('HOME')",
    ] {
        let error = run_as(Flavour::Sink, script, &mut TestHost::default()).expect_err(script);
        assert_eq!(
            error.message,
            "PermissionError: [Errno 13] scripts on the server have no access to the environment"
        );
    }
}

/// As on CPython, these functions skip folders that they may not read.
#[test]
fn searches_on_the_server_find_nothing() {
    let script = "\
import os
from pathlib import Path
print(list(Path('/').glob('*')), list(os.walk('/')), os.path.exists('/etc'))
";
    let mut host = TestHost::default();
    let result = run_as(Flavour::Sink, script, &mut host);
    assert!(
        result.is_err() || host.stdout == "[] [] False\n",
        "{}",
        host.stdout
    );
}

#[test]
fn a_script_knows_its_own_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = own(
        folder.path(),
        "import os\nprint(os.path.dirname(f'{__file__}'))",
    );
    let expected = format!("{}\n", folder.path().display());
    assert_eq!(output.expect("it has one"), expected);
}

fn own(folder: &std::path::Path, text: &str) -> Result<String, ScriptError> {
    let mut host = TestHost::default();
    let setting = Setting {
        flavour: Flavour::Space,
        abilities: Abilities::Full {
            folder: folder.to_owned(),
        },
        limits: Limits::OWN,
        args: vec!["script.py".to_owned()],
    };
    Evaluator::new(&setting).run(&source(text), &mut host)?;
    Ok(host.stdout)
}

#[test]
fn a_users_own_script_works_with_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "\
import os
from pathlib import Path
with open('notes.txt', 'w') as file:
    file.write('one\\n')
with open('notes.txt', 'a') as file:
    file.write('zwei ä\\n')
with open('notes.txt') as file:
    print(file.read().splitlines())
Path('raw.bin').write_bytes(b'\\x00\\xff')
print(Path('raw.bin').read_bytes())
os.makedirs('a/b')
Path('a/b').mkdir(parents=True, exist_ok=True)
os.rename('raw.bin', 'a/b/raw.bin')
print(sorted(os.listdir('.')), os.path.exists('raw.bin'), Path('a').is_dir())
print(Path('a/b/raw.bin').stat().st_size)
print([str(p) for p in Path('.').rglob('*.bin')])
print([(d, sorted(n), sorted(f)) for d, n, f in os.walk('a')])
os.remove('a/b/raw.bin')
os.rmdir('a/b')
print(Path('a/b').exists(), Path('..').resolve() == Path(os.getcwd()).parent)
";
    let path = folder.path().canonicalize().expect("it exists");
    let output = own(&path, script).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        output,
        "['one', 'zwei ä']\nb'\\x00\\xff'\n['a', 'notes.txt'] False True\n2\n['a/b/raw.bin']\n[('a', ['b'], []), ('a/b', [], ['raw.bin'])]\nFalse True\n"
    );
    assert_eq!(
        std::fs::read_to_string(path.join("notes.txt")).expect("written"),
        "one\nzwei ä\n"
    );
}

#[test]
fn errors_have_the_texts_of_cpython() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("full")).expect("a folder");
    std::fs::write(folder.path().join("full/x"), b"\xff").expect("a file");
    for (script, kind, text) in [
        (
            "open('gone')",
            "FileNotFoundError",
            "[Errno 2] No such file or directory: ",
        ),
        (
            "open('full')",
            "IsADirectoryError",
            "[Errno 21] Is a directory: ",
        ),
        (
            "import os\nos.mkdir('full')",
            "FileExistsError",
            "[Errno 17] File exists: ",
        ),
        (
            "import os\nos.rmdir('full')",
            "OSError",
            "[Errno 39] Directory not empty: ",
        ),
        (
            "import os\nos.listdir('full/x')",
            "NotADirectoryError",
            "[Errno 20] Not a directory: ",
        ),
        (
            "open('full/x').read()",
            "UnicodeDecodeError",
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        ("open('a\\0b')", "ValueError", "embedded null byte"),
    ] {
        let error = own(folder.path(), script).expect_err(script);
        assert!(
            error.message.starts_with(&format!("{kind}: {text}")),
            "{script}: {}",
            error.message
        );
    }
}

/// Every way to read the environment shows the variables that a script has set.
#[test]
fn changes_of_the_environment_are_kept() {
    let library = "\
import os as system
def look():
    return system.environ.get('SVC_TEST_A'), system.getenv('SVC_TEST_A')
";
    let script = "\
import os, words
from os import (
    environ as all,
    getenv,
    path
)
class Other:
    def __init__(self):
        self.environ = 'mine'
os.environ['SVC_TEST_A'] = 'one'
print(os.environ['SVC_TEST_A'], os.getenv('SVC_TEST_A'), f\"{os.environ['SVC_TEST_A']}\")
print(all['SVC_TEST_A'], getenv('SVC_TEST_A'), getenv('SVC_NO_SUCH'), words.look())
all.update({'SVC_TEST_A': 'two'})
print(os.environ.pop('SVC_TEST_A'), os.getenv('SVC_TEST_A', 'gone'), words.look())
os = Other()
print(os.environ, path.join('a', 'b'), len(all) > 0)
raise ValueError(os.environ)
";
    let mut host = TestHost::with(&[("words", library)]);
    let mut own = setting(Flavour::Space);
    own.abilities = Abilities::Full {
        folder: std::env::temp_dir(),
    };
    let error = Evaluator::new(&own)
        .run(&source(script), &mut host)
        .expect_err("it raises");
    assert_eq!(
        host.stdout,
        "one one one\none one None ('one', 'one')\ntwo gone (None, None)\nmine a/b True\n"
    );
    assert_eq!(error.message, "ValueError: mine");
    assert_eq!(
        place(&error),
        "script.py:17 in <module>: raise ValueError(os.environ)"
    );
}

#[test]
fn processes_get_changes_of_the_environment() {
    let script = "\
import os, subprocess
subprocess.run(['a'])
os.environ['SVC_TEST_A'] = 'one'
os.environ.pop('PATH')
subprocess.check_output(['b'], stderr=subprocess.STDOUT)
subprocess.check_call(['c'], stdout=subprocess.DEVNULL, env={'A': 1})
for stdout in (subprocess.STDOUT, 1, 'file'):
    try:
        subprocess.run(['d'], stdout=stdout)
    except ValueError as error:
        print(error)
try:
    subprocess.run(['d'], stdout=subprocess.PIPE, capture_output=True)
except ValueError as error:
    print(error)
os.environ['SVC_TEST_A'] = 1
subprocess.run(['e'])
";
    let answer = r#"{"returncode":0,"stdout":null,"stderr":null}"#;
    let mut host = TestHost::default().answering("process", answer);
    let mut own = setting(Flavour::Space);
    own.abilities = Abilities::Full {
        folder: std::env::temp_dir(),
    };
    let error = Evaluator::new(&own)
        .run(&source(script), &mut host)
        .expect_err("no text");
    assert_eq!(
        error.message,
        "TypeError: os.environ holds str only, not int"
    );
    assert_eq!(
        host.stdout
            .matches("takes stdout=PIPE or DEVNULL, not ")
            .count(),
        3
    );
    assert!(host.stdout.contains("may not be used with capture_output"));
    let asked: Vec<&str> = host
        .asked
        .iter()
        .map(|(_, argument)| argument.as_str())
        .collect();
    assert_eq!(
        asked,
        [
            r#"{"args":["a"],"stdout":"inherit","stderr":"inherit","env_changes":{}}"#,
            r#"{"args":["b"],"stdout":"pipe","stderr":"stdout","env_changes":{"SVC_TEST_A":"one","PATH":null}}"#,
            r#"{"args":["c"],"stdout":"null","stderr":"inherit","env":{"A":"1"}}"#,
        ]
    );
}

#[test]
fn a_users_own_script_reads_the_environment() {
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        "import os\nprint(os.environ['PATH'] == os.getenv('PATH'), os.getenv('SVC_NO_SUCH', 'x'))";
    assert_eq!(own(folder.path(), script).expect("it is there"), "True x\n");
}

#[test]
fn large_files_are_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = std::fs::File::create(folder.path().join("large")).expect("a file");
    file.set_len(65 * 1024 * 1024).expect("sparse");
    let error = own(folder.path(), "open('large', 'rb').read()").expect_err("too large");
    assert!(
        error
            .message
            .starts_with("OSError: [Errno 27] File too large: "),
        "{error}"
    );
}
