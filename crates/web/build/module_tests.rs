//! Tests of `module.rs`.

use super::*;

fn body(text: &str) -> String {
    parse("src/a.js", text).expect("the module is valid").body
}

fn fault(text: &str) -> String {
    parse("src/a.js", text).expect_err("the module is not valid")
}

#[test]
fn imports_become_constants_and_lines_are_kept() {
    let text = "/** A comment\n * with 'an apostrophe. */\nimport {\n  a,\n  b as c,\n} from './lib/x-y.js';\nimport d from '/web/vendor/d.js';\n";
    let module = parse("src/a.js", text).expect("the module is valid");
    assert_eq!(
        module.body,
        "\n\nconst { a, b: c } = $src_lib_x_y;\n\n\n\nconst { default: d } = $vendor_d;\n"
    );
    let import = |path: &str, name: &str, line| Import {
        path: path.to_owned(),
        name: name.to_owned(),
        line,
    };
    assert_eq!(
        module.imports,
        [
            import("src/lib/x-y.js", "a", 3),
            import("src/lib/x-y.js", "b", 3),
            import("vendor/d.js", "default", 7),
        ]
    );
    assert!(!module.awaits);
}

#[test]
fn exports_become_values() {
    let text = "export const A = 1;\nexport function b() {}\nexport async function c() {}\nexport class D {}\nexport { e, f as g } from './x.js';\nexport default function H() {}\n";
    let module = parse("src/a.js", text).expect("the module is valid");
    let exports: Vec<(&str, &str)> = module
        .exports
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        exports,
        [
            ("A", "A"),
            ("D", "D"),
            ("b", "b"),
            ("c", "c"),
            ("default", "H"),
            ("e", "$src_x.e"),
            ("g", "$src_x.f"),
        ]
    );
    assert!(!module.body.contains("export"), "{}", module.body);
    let vendored =
        "import{a as b}from\"./p.js\";const c=1;export{c as d};export default function(s){}";
    let module = parse("vendor/a.js", vendored).expect("the module is valid");
    assert_eq!(module.exports["d"], "c");
    assert_eq!(
        module.body,
        "const { a: b } = $vendor_p;const c=1; const $default = function(s){}"
    );
}

#[test]
fn words_in_texts_templates_comments_and_expressions_are_not_code() {
    for text in [
        "const a = 'import b from \"c\";';\n",
        "const a = `\nimport svc\nexport let ${b(`}export`)} {`;\nexport const c = 1;\n",
        "const a = /['\"`/]export[/']/.test(b) / 2 / '1';\n",
        "const a = b.import + b.export; // export let c\n",
        "const a = 1 /* export let b */;\n",
        "const a = `${/[\"'`]/.exec(b)}`;\nconst c = 'd';\n",
    ] {
        let found = parse("src/a.js", text).expect(text);
        assert!(found.imports.is_empty(), "{text}");
    }
    assert_eq!(
        body("a(`x${`y // z`}`); // b\nreturn /\\/\\*/;\n"),
        "a(`x${`y // z`}`);  \nreturn /\\/\\*/;\n"
    );
}

#[test]
fn addresses_are_relative_to_the_root_of_the_files() {
    let module = parse(
        "src/lib/a.js",
        "load(import.meta.url, import('../b.js'), () => import(`../pages/${name}.js`));\n",
    )
    .expect("the module is valid");
    assert_eq!(
        module.body,
        "load(($root + 'src/lib/a.js'), import($root + 'src/b.js'), () => import($root + `src/pages/${name}.js`));\n"
    );
    assert_eq!(module.loads, ["src/b.js", "src/pages/*.js"]);
}

#[test]
fn only_an_await_outside_of_functions_counts() {
    let awaits = |text| parse("src/a.js", text).expect("the module is valid").awaits;
    assert!(awaits("await load('a.css');\n"));
    assert!(!awaits("async function a() {\n  await b();\n}\n"));
}

#[test]
fn unknown_forms_are_rejected_with_file_and_line() {
    for (text, line, part) in [
        ("\nexport let a = 1;\n", 2, "a name that changes"),
        ("export * from './b.js';\n", 1, "`export const NAME`"),
        ("const a = 1;\nexport { a };\n", 2, "before the declaration"),
        ("export const { a } = b;\n", 1, "`export const NAME`"),
        ("import * as a from './b.js';\n", 1, "form of `import`"),
        ("import a, { b } from './b.js';\n", 1, "form of `import`"),
        ("import { a } from 'preact';\n", 1, "form of `import`"),
        ("import './b.js';\n", 1, "form of `import`"),
        ("import { a } from './b.js'\n", 1, "no `;`"),
        (
            "{\n  import { a } from './b.js';\n}\n",
            2,
            "must not be inside",
        ),
        ("\n\nimport(name);\n", 3, "import('./a.js')"),
        ("import(`./${a}/${b}.js`);\n", 1, "import('./a.js')"),
        ("const a = 'b;\n", 1, "has no end"),
        ("\n/* a\n", 2, "has no end"),
    ] {
        let message = fault(text);
        let place = format!("web/app/src/a.js:{line}: ");
        assert!(message.starts_with(&place), "{text}: {message}");
        assert!(message.contains(part), "{text}: {message}");
    }
}
