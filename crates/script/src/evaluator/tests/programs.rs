//! The programs of `sdk/python/tests/suite/programs` print the same output as on CPython.

use std::path::Path;

use super::*;

pub(super) struct Program {
    pub title: String,
    pub text: String,
    pub output: String,
}

/// `#: title`, the text, and its output as lines that start with `#>`.
pub(super) fn programs_of(file: &Path) -> Vec<Program> {
    let all = std::fs::read_to_string(file).expect("a file of programs");
    let parts = all
        .split("\n#: ")
        .map(|part| part.trim_start_matches("#: "));
    parts
        .map(|part| {
            let (title, body) = part.split_once('\n').expect("a title");
            let (mut text, mut output) = (String::new(), String::new());
            for line in body.trim_matches('\n').lines() {
                match line.strip_prefix("#>") {
                    Some(printed) => output += printed.strip_prefix(' ').unwrap_or(printed),
                    None => text += line,
                }
                if line.starts_with("#>") {
                    output.push('\n');
                } else {
                    text.push('\n');
                }
            }
            Program {
                title: title.to_owned(),
                text,
                output,
            }
        })
        .collect()
}

#[test]
fn every_program_prints_the_same_as_on_cpython() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python/tests/suite/programs");
    let mut count = 0;
    let mut different = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the suite").flatten() {
        for program in programs_of(&entry.path()) {
            count += 1;
            let mut host = TestHost::default();
            // Run it like a tool on the server, where a script has the fewest abilities.
            let result = run_as(Flavour::Tool, &program.text, &mut host);
            if result.is_err() || host.stdout != program.output {
                let error = result.err().map(|error| error.to_string());
                different.push(format!(
                    "{}: {}\n{}--- expected\n{}{}",
                    entry.file_name().display(),
                    program.title,
                    host.stdout,
                    program.output,
                    error.unwrap_or_default()
                ));
            }
        }
    }
    assert!(count >= 300, "{count} programs");
    assert!(
        different.is_empty(),
        "{} of {count} programs differ:\n{}",
        different.len(),
        different.join("\n")
    );
}
