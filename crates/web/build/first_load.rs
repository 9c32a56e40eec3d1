//! Prepares the files of the web interface for a fast first load. The files also work without this
//! step, as in development.
//!
//! - Every address contains the version of all files: `/web/<version>/src/main.js`. The file at
//!   such an address never changes, so browsers keep it without asking again. In the HTML file and
//!   in modules, addresses that begin with `/web/` get the version. Relative paths, by which most
//!   modules import each other, stay as they are.
//! - The HTML file preloads every module that `main.js` imports. For each page of the interface, a
//!   list (`page-files.js`) has the other modules and stylesheets that the page needs. Otherwise a
//!   browser would find a module only after it has loaded the module that imports it.
//! - The stylesheets of the HTML file become one file.

use std::collections::BTreeSet;

use super::Files;

const PAGE: &str = "index.html";
const MAIN: &str = "src/main.js";
const FIRST_STYLES: &str = "styles/first.css";
/// The list of the files that each page loads; empty in `web/app`.
const PAGE_FILES: &str = "src/lib/page-files.js";
const STYLESHEET: &str = "<link rel=\"stylesheet\" href=\"/web/";
const PRELOAD: &str = "<link rel=\"modulepreload\" ";

pub fn prepare(files: &mut Files, version: &str) {
    let base = format!("/web/{version}/");
    let first = graph(files, MAIN);
    let page_files = page_files(files, &first);
    files.insert(PAGE_FILES.to_owned(), page_files.into_bytes());
    let page = prepare_page(files, &first, &base);
    files.insert(PAGE.to_owned(), page.into_bytes());
    let modules: Vec<String> = files
        .keys()
        .filter(|path| path.ends_with(".js"))
        .cloned()
        .collect();
    for path in modules {
        let text = text(files, &path).replace("'/web/", &format!("'{base}"));
        files.insert(path, text.into_bytes());
    }
}

/// The HTML file with versioned addresses, one stylesheet, and preloads of the modules that
/// `main.js` imports.
fn prepare_page(files: &mut Files, first: &BTreeSet<String>, base: &str) -> String {
    let page = text(files, PAGE);
    let mut styles = String::new();
    let mut lines = Vec::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix(STYLESHEET) {
            let path = rest.split('"').next().unwrap_or_default();
            if styles.is_empty() {
                lines.push(format!("{STYLESHEET}{FIRST_STYLES}\">"));
            }
            styles += &text(files, path);
        } else if line.starts_with("</head>") {
            let imported = first.iter().filter(|path| *path != MAIN);
            lines.extend(imported.map(|path| format!("{PRELOAD}href=\"/web/{path}\">")));
            lines.push(line.to_owned());
        } else {
            lines.push(line.to_owned());
        }
    }
    assert!(
        !styles.is_empty(),
        "{PAGE} has no line that starts with `{STYLESHEET}`"
    );
    files.insert(FIRST_STYLES.to_owned(), styles.into_bytes());
    (lines.join("\n") + "\n").replace("\"/web/", &format!("\"{base}"))
}

/// For each page: the modules and stylesheets that the first load does not contain.
fn page_files(files: &Files, first: &BTreeSet<String>) -> String {
    let mut list = String::from("export const PAGE_FILES = {\n");
    for path in files.keys() {
        let Some(name) = path
            .strip_prefix("src/pages/")
            .and_then(|name| name.strip_suffix(".js"))
        else {
            continue;
        };
        if name.contains('/') {
            continue;
        }
        let modules = graph(files, path);
        let styles = modules
            .iter()
            .flat_map(|path| styles_of(&text(files, path)));
        let needed: BTreeSet<String> = modules.iter().cloned().chain(styles).collect();
        let needed: Vec<String> = needed
            .difference(first)
            .map(|path| format!("{path:?}"))
            .collect();
        list += &format!("{name:?}: [{}],\n", needed.join(","));
    }
    list + "};\n"
}

/// A module and all modules that it imports statically, directly or through other modules.
fn graph(files: &Files, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(path) = open.pop() {
        if !files.contains_key(&path) || !found.insert(path.clone()) {
            continue;
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let text = text(files, &path);
        open.extend(imports_of(&text).map(|specifier| resolve(folder, specifier)));
    }
    found
}

/// The specifiers of `import … from '…'` and `export … from '…'`.
fn imports_of(text: &str) -> impl Iterator<Item = &str> {
    text.split("from").skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        let quote = rest
            .chars()
            .next()
            .filter(|first| matches!(first, '\'' | '"'))?;
        let (specifier, _) = rest[1..].split_once(quote)?;
        specifier.ends_with(".js").then_some(specifier)
    })
}

/// The stylesheets that a module loads with `loadStyles`.
fn styles_of(text: &str) -> Vec<String> {
    let calls = text.split("await loadStyles('").skip(1);
    calls
        .filter_map(|rest| Some(format!("styles/{}", rest.split_once('\'')?.0)))
        .collect()
}

/// The path that a specifier in a file of `folder` means.
fn resolve(folder: &str, specifier: &str) -> String {
    if let Some(path) = specifier.strip_prefix("/web/") {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn text(files: &Files, path: &str) -> String {
    let bytes = files
        .get(path)
        .unwrap_or_else(|| panic!("web/app has no file {path}"));
    String::from_utf8(bytes.clone()).unwrap_or_else(|_| panic!("{path} is not UTF-8"))
}
