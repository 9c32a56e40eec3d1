//! Prepares the files for a fast first load. The files also work without this step, as in
//! development.
//!
//! - The modules become a few bundles: see `bundle.rs`.
//! - All stylesheets become one file.
//! - For each page, a list (`page-files.js`) has the bundles that the page needs, so that a
//!   browser requests them together.
//! - Every address in the HTML file gets the version of all files as its first folder,
//!   `/web/<version>/src/main.js`. The file at such an address never changes, so browsers keep it
//!   without asking again. The bundles load each other by relative paths, and so from the same
//!   folder.

use super::bundle::{Bundles, Files, Names, text};

const PAGE: &str = "index.html";
const NAMES: Names = Names {
    main: "src/main.js",
    shared: "src/shared.js",
    worker: "src/stream-worker.js",
};
/// A script without imports that runs before the first paint; not a module.
const BOOT: &str = "src/boot.js";
/// The module with the list of the files of each page. The build replaces it; in `web/app` the list
/// is empty, because the files are not joined there.
const PAGE_FILES: &str = "src/lib/page-files.js";
const STYLES: &str = "styles/all.css";
const STYLESHEET: &str = "<link rel=\"stylesheet\" href=\"/web/";

pub fn prepare(files: &mut Files, version: &str) -> Result<(), String> {
    join_modules(files)?;
    let sheets = join_styles(files)?;
    let page = sheets.replace("\"/web/", &format!("\"/web/{version}/"));
    files.insert(PAGE.to_owned(), page.into_bytes());
    Ok(())
}

/// Replaces the modules by bundles.
fn join_modules(files: &mut Files) -> Result<(), String> {
    let is_module = |path: &&String| path.ends_with(".js") && *path != BOOT;
    let paths: Vec<String> = files.keys().filter(is_module).cloned().collect();
    let mut bundles = Bundles::plan(files, &paths, NAMES)?;
    let list = page_files(&bundles, &paths)?;
    bundles.replace(PAGE_FILES, &list)?;
    files.retain(|path, _| !paths.contains(path));
    for (path, text) in bundles.write()? {
        files.insert(path, text.into_bytes());
    }
    Ok(())
}

/// The module that has the list of the files of each page.
fn page_files(bundles: &Bundles, paths: &[String]) -> Result<String, String> {
    let mut list =
        String::from("export const STYLES_ARE_JOINED = true;\nexport const PAGE_FILES = {\n");
    for path in paths {
        let name = path
            .strip_prefix("src/pages/")
            .and_then(|name| name.strip_suffix(".js"));
        if let Some(name) = name.filter(|name| !name.contains('/')) {
            list += &format!("{name:?}: {:?},\n", bundles.needed_by(path)?);
        }
    }
    Ok(list + "};\n")
}

/// Replaces the stylesheets by one: first those of the HTML file, in its order, then those of
/// pages. Returns the HTML file with that sheet.
fn join_styles(files: &mut Files) -> Result<String, String> {
    let mut first = Vec::new();
    let mut lines = Vec::new();
    for line in text(files, PAGE)?.lines() {
        let Some(rest) = line.strip_prefix(STYLESHEET) else {
            lines.push(line.to_owned());
            continue;
        };
        if first.is_empty() {
            lines.push(format!("{STYLESHEET}{STYLES}\">"));
        }
        first.push(rest.split('"').next().unwrap_or_default().to_owned());
    }
    if first.is_empty() {
        return Err(format!(
            "web/app/{PAGE} has no line that starts with `{STYLESHEET}`"
        ));
    }
    let is_other = |path: &&String| path.ends_with(".css") && !first.contains(path);
    let others: Vec<String> = files.keys().filter(is_other).cloned().collect();
    let mut joined = String::new();
    for path in first.iter().chain(&others) {
        joined += &text(files, path)?;
        files.remove(path);
    }
    files.insert(STYLES.to_owned(), joined.into_bytes());
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_become_bundles_and_one_stylesheet_with_versioned_addresses() {
        let page = "<link rel=\"stylesheet\" href=\"/web/styles/z.css\">\n\
                    <link rel=\"stylesheet\" href=\"/web/styles/b.css\">\n\
                    <script type=\"module\" src=\"/web/src/main.js\"></script>\n";
        let mut files: Files = [
            ("index.html", page),
            ("icon.svg", "<svg/>"),
            ("styles/a.css", "a{}\n"),
            ("styles/b.css", "b{}\n"),
            ("styles/z.css", "z{}\n"),
            ("src/boot.js", "boot();\n"),
            (
                "src/main.js",
                "import { PAGE_FILES } from './lib/page-files.js';\nimport(`./pages/${name}.js`);\n",
            ),
            ("src/lib/page-files.js", "export const PAGE_FILES = {};\n"),
            ("src/pages/x.js", "export default function X() {}\n"),
            ("src/stream-worker.js", "work();\n"),
        ]
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .into();
        prepare(&mut files, "0123456789abcdef").expect("the files are valid");
        let paths: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "icon.svg",
                "index.html",
                "src/boot.js",
                "src/main.js",
                "src/pages/x.js",
                "src/shared.js",
                "src/stream-worker.js",
                "styles/all.css",
            ]
        );
        let text = |path| text(&files, path).expect("the file exists");
        assert_eq!(
            text("index.html"),
            "<link rel=\"stylesheet\" href=\"/web/0123456789abcdef/styles/all.css\">\n\
             <script type=\"module\" src=\"/web/0123456789abcdef/src/main.js\"></script>\n"
        );
        assert_eq!(text("styles/all.css"), "z{}\nb{}\na{}\n");
        let main = text("src/main.js");
        assert!(main.contains("\"x\": [\"src/pages/x.js\"],"), "{main}");
        assert!(main.contains("const STYLES_ARE_JOINED = true;"), "{main}");
    }
}
