//! Tests of `bundle.rs`.

use super::*;

const NAMES: Names = Names {
    main: "src/main.js",
    shared: "src/shared.js",
    worker: "src/worker.js",
};
const MAIN: (&str, &str) = (
    "src/main.js",
    "import { a } from './a.js';\nexport const open = (name) => import(`./pages/${name}.js`);\n",
);
const A: (&str, &str) = ("src/a.js", "export const a = 1;\n");
const WORKER: (&str, &str) = ("src/worker.js", "import { a } from './a.js';\nuse(a);\n");

fn plan(sources: &[(&str, &str)]) -> Result<Bundles, String> {
    let all = [MAIN, A, WORKER].iter().chain(sources);
    let files: Files = all
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    let paths: Vec<String> = files.keys().cloned().collect();
    Bundles::plan(&files, &paths, NAMES)
}

#[test]
fn each_module_is_in_one_bundle_and_after_its_imports() {
    let bundles = plan(&[
        ("src/pages/x.js", "import { b } from '../b.js';\nexport default function X() {}\n"),
        ("src/pages/y.js", "import { b } from '../b.js';\nimport { c } from '../c.js';\nexport default function Y() {}\n"),
        ("src/b.js", "import { a } from './a.js';\nawait load();\nexport const b = a;\n"),
        ("src/c.js", "export function c() {}\n"),
    ])
    .expect("the modules are valid");
    let written = bundles.write().expect("the modules are valid");
    assert_eq!(
        written["src/main.js"],
        "const $root = new URL('../', import.meta.url).href;\n\
         const $src_a = (() => { // src/a.js\n const a = 1;\n;return { a };\n})();\n\
         const $src_main = (() => { // src/main.js\nconst { a } = $src_a;\n \
         const open = (name) => import($root + `src/pages/${name}.js`);\n;return { open };\n})();\n\
         export { $src_a, $src_main };\n"
    );
    assert_eq!(
        written["src/shared.js"],
        "const $root = new URL('../', import.meta.url).href;\n\
         import { $src_a } from '../src/main.js';\n\
         const $src_b = await (async () => { // src/b.js\nconst { a } = $src_a;\nawait load();\n \
         const b = a;\n;return { b };\n})();\n\
         export { $src_b };\n"
    );
    assert_eq!(
        written["src/pages/y.js"],
        "const $root = new URL('../../', import.meta.url).href;\n\
         import { $src_b } from '../../src/shared.js';\n\
         const $src_c = (() => { // src/c.js\n function c() {}\n;return { c };\n})();\n\
         const $src_pages_y = (() => { // src/pages/y.js\nconst { b } = $src_b;\nconst { c } = $src_c;\n \
         function Y() {}\n;return { default: Y };\n})();\n\
         const $export0 = $src_pages_y.default;\nexport { $export0 as default };\n"
    );
    // The worker has its own copy.
    assert!(written["src/worker.js"].contains("const $src_a = "));
    let needed = bundles
        .needed_by("src/pages/x.js")
        .expect("the page exists");
    assert_eq!(needed, ["src/pages/x.js", "src/shared.js"]);
}

#[test]
fn a_page_that_another_page_imports_is_shared() {
    let bundles = plan(&[
        ("src/pages/x.js", "export default function X() {}\n"),
        (
            "src/pages/y.js",
            "import X from './x.js';\nexport default function Y() {}\n",
        ),
    ])
    .expect("the modules are valid");
    let written = bundles.write().expect("the modules are valid");
    assert!(written["src/shared.js"].contains("function X() {}"));
    assert!(!written["src/pages/x.js"].contains("function X() {}"));
    assert!(
        written["src/pages/x.js"].contains("import { $src_pages_x } from '../../src/shared.js';")
    );
}

#[test]
fn a_wrong_graph_is_rejected() {
    let page = (
        "src/pages/x.js",
        "import { b } from '../b.js';\nexport default function X() {}\n",
    );
    for (sources, part) in [
        (
            vec![
                page,
                (
                    "src/b.js",
                    "import X from './pages/x.js';\nexport const b = X;\n",
                ),
            ],
            "import each other: src/pages/x.js -> src/b.js -> src/pages/x.js",
        ),
        (
            vec![page],
            "src/pages/x.js:1: web/app/src/b.js has no export `b`",
        ),
        (
            vec![page, ("src/b.js", "export const c = 1;\n")],
            "src/pages/x.js:1: web/app/src/b.js has no export `b`",
        ),
        (vec![], "no file matches web/app/src/pages/*.js"),
        (
            vec![
                page,
                ("src/b.js", "export const b = 1;\n"),
                ("src/lost.js", "use();\n"),
            ],
            "src/lost.js: no module imports this file",
        ),
        (
            vec![
                page,
                ("src/b.js", "export const b = 1;\n"),
                ("src/b_.js", "use();\n"),
                ("src/b-.js", "use();\n"),
            ],
            "need different names",
        ),
    ] {
        let message = plan(&sources).err().expect("the modules are not valid");
        assert!(message.contains(part), "{part}: {message}");
    }
}
