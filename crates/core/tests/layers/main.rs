//! Compares documents with the sources. The modules of `server` and of `agent` import downward
//! only, in the order of the layers that docs/design/layers.md draws (this file). Every name in
//! docs/RULES.md exists ([`rules`]).

mod picture;
mod rules;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use picture::Picture;
use source::{Import, imports, re_exports, test_modules, without_tests};

/// The document with the pictures of the layers.
const DOCUMENT: &str = "docs/design/layers.md";

#[test]
fn modules_of_the_server_import_downward_only() {
    check("server");
}

#[test]
fn modules_of_the_agent_import_downward_only() {
    check("agent");
}

fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join(DOCUMENT)).expect(DOCUMENT);
    let picture = Picture::parse(&document, name);
    let complaints = Crate::read(&root.join("crates").join(name).join("src")).check(&picture);
    assert!(
        complaints.is_empty(),
        "crates/{name}/src and the picture in {DOCUMENT} disagree:\n{}",
        complaints.join("\n")
    );
}

/// The sources of one crate, without tests.
struct Crate {
    lib: String,
    /// Text by path below `src`.
    files: BTreeMap<PathBuf, String>,
}

impl Crate {
    fn read(src: &Path) -> Self {
        let mut files = BTreeMap::new();
        read_folder(src, src, &mut files);
        let lib = files.remove(Path::new("lib.rs")).expect("a lib.rs");
        Self::new(lib, files)
    }

    fn new(lib: String, mut files: BTreeMap<PathBuf, String>) -> Self {
        let tests: Vec<PathBuf> = files
            .iter()
            .flat_map(|(path, text)| {
                let folder = path.with_extension("");
                test_modules(text)
                    .into_iter()
                    .map(move |name| folder.join(name))
            })
            .collect();
        files.retain(|path, _| {
            let module = path.with_extension("");
            !tests.iter().any(|test| module.starts_with(test))
        });
        for text in files.values_mut() {
            *text = without_tests(text);
        }
        Self { lib, files }
    }

    fn modules(&self) -> BTreeSet<String> {
        self.files.keys().map(|path| top_module(path)).collect()
    }

    /// Every disagreement with the picture, one line each.
    fn check(&self, picture: &Picture) -> Vec<String> {
        let modules = self.modules();
        let missing = modules.iter().filter(|name| !picture.has(name));
        let missing = missing.map(|name| format!("module `{name}` is not in the picture"));
        let unknown = picture.modules().filter(|name| !modules.contains(*name));
        let unknown =
            unknown.map(|name| format!("the picture names `{name}`, which is not a module"));
        let repeated = picture.repeated().into_iter();
        let repeated = repeated.map(|name| format!("the picture names `{name}` twice"));
        missing
            .chain(unknown)
            .chain(repeated)
            .chain(self.upward_imports(picture))
            .collect()
    }

    fn upward_imports(&self, picture: &Picture) -> Vec<String> {
        let (modules, re_exported) = (self.modules(), re_exports(&self.lib));
        let mut complaints = Vec::new();
        for (path, text) in &self.files {
            let from = top_module(path);
            let depth = path.components().count();
            for Import { line, name } in imports(text, depth) {
                let to = match modules.contains(&name) {
                    true => Some(&name),
                    false => re_exported.get(&name),
                };
                let at = format!("{}:{line}", path.display());
                match to {
                    None => complaints.push(format!("{at}: `crate::{name}` is not known")),
                    Some(to) if *to == from || picture.is_below(to, &from) => {}
                    Some(to) => complaints.push(format!(
                        "{at}: `{from}` imports `crate::{name}`, but `{to}` is not in a lower layer"
                    )),
                }
            }
        }
        complaints
    }
}

/// The top module of a path: `events` for `events/hub/feed.rs`.
fn top_module(path: &Path) -> String {
    let first = path.iter().next().expect("a path has a first part");
    let name = Path::new(first).with_extension("");
    name.to_str()
        .expect("names of modules are ASCII")
        .to_owned()
}

fn read_folder(src: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            read_folder(src, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a readable file");
            let below = path.strip_prefix(src).expect("below the source folder");
            files.insert(below.to_owned(), text);
        }
    }
}

const PICTURE: &str = r#"
## demo
```mermaid
flowchart TD
    subgraph top
        http ~~~ app
    end
    subgraph base [the base]
        store
    end
    top --> base
```
"#;

fn check_sources(files: &[(&str, &str)]) -> Vec<String> {
    let files = files
        .iter()
        .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
    let lib = "pub use app::{App, run};\n".to_owned();
    Crate::new(lib, files.collect()).check(&Picture::parse(PICTURE, "demo"))
}

#[test]
fn an_added_upward_import_is_reported() {
    let downward = ("http.rs", "use crate::store::Store;\n");
    let app = ("app.rs", "");
    let is_fine = check_sources(&[downward, app, ("store.rs", "use std::fmt;\n")]);
    assert_eq!(is_fine, Vec::<String>::new());
    for (path, text, reported) in [
        (
            "store/rows.rs",
            "\nuse crate::http::Reply;\n",
            "store/rows.rs:2: `store` imports `crate::http`",
        ),
        (
            "store.rs",
            "use crate::{\n    store::{Row, self},\n    app::App,\n};\n",
            "store.rs:3: `store` imports `crate::app`",
        ),
        (
            "store.rs",
            "fn f() { crate::app::run() }\n",
            "store.rs:1: `store` imports `crate::app`",
        ),
        (
            "store.rs",
            "use crate::App;\n",
            "store.rs:1: `store` imports `crate::App`, but `app` is",
        ),
        (
            "store/rows.rs",
            "use super::super::app::App;\n",
            "store/rows.rs:1: `store` imports `crate::app`",
        ),
        (
            "app/x.rs",
            "use crate::http::Reply;\n",
            "app/x.rs:1: `app` imports `crate::http`",
        ),
        (
            "store.rs",
            "use crate::nothing::X;\n",
            "store.rs:1: `crate::nothing` is not known",
        ),
        ("extra.rs", "", "module `extra` is not in the picture"),
    ] {
        let complaints = check_sources(&[downward, app, ("store/base.rs", ""), (path, text)]);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with(reported), "{complaints:?}");
    }
    let complaints = check_sources(&[("http.rs", ""), app]);
    assert_eq!(
        complaints,
        ["the picture names `store`, which is not a module"]
    );
}

#[test]
fn tests_comments_and_texts_import_nothing() {
    let quiet = r##"
//! See [`crate::http`].
/* crate::http */
const TEXT: &str = "crate::http";
const RAW: &str = r#"use crate::http; ""#;
const BYTES: &[u8] = br#"crate::http""#;
const QUOTE: char = '"';
fn f<'a>(x: &'a str) {}
#[cfg(test)]
mod rules;
#[cfg(test)]
#[allow(dead_code)]
pub(crate) fn fixture(x: [u8; 2]) { crate::http::serve() }
#[cfg(test)]
mod tests {
    use crate::http::Reply;
}
"##;
    let complaints = check_sources(&[
        ("http.rs", ""),
        ("app.rs", ""),
        ("store.rs", quiet),
        ("store/rules.rs", "use crate::app::App;"),
        ("store/rules/more.rs", "use crate::app::App;"),
    ]);
    assert_eq!(complaints, Vec::<String>::new());
}
