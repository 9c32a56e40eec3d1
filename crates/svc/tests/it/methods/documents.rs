//! Documents about methods, checked by independent programs: the OpenRPC document (spec 4.1) and
//! the JSON Schema of the registration file (spec 2.1). See `tests/judges/documents`.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use svc_testkit::{Cli, TempDir, TestServer, fixture_method_server};

use crate::{judge::install_documents, mcp::judges::ugly};

/// Further schemas. Most of them allow array params, which a method with `mcp_tool` may not have.
fn array_params() -> Vec<Value> {
    vec![
        json!({"type": "array", "items": {"type": "number"}}),
        json!({"type": "array", "prefixItems": [{"$ref": "#/$defs/a"}, true], "minItems": 1,
               "$defs": {"a": {"title": "param2", "items": {"$ref": "#"}}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array",
               "items": [{"type": "string"}, {"$id": "#two"}], "additionalItems": {"$ref": "#two"}}),
        json!({"type": ["object", "array"], "properties": {"a": {}}, "items": {}}),
        json!({"type": "array", "additionalItems": 7}),
        json!({"$ref": "#/$defs/page", "$defs": {"page": {"properties": {"limit": {"minimum": 1}}}}}),
        json!({"$id": "https://example.com/a", "$ref": "https://example.com/a#/$defs/x",
               "$defs": {"x": {"$anchor": "x", "not": {"$ref": "#x"}}}}),
        json!({"$ref": "#/parts/a b", "parts": {"a b": {"$ref": "#/parts/c"}, "c": {}}}),
        json!({"enum": [], "const": {"$ref": "#/nowhere"}, "required": ["", "é"]}),
    ]
}

#[tokio::test]
async fn s4_1_the_openrpc_document_is_valid_for_every_legal_schema() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let all = ugly::schemas().into_iter();
    let ugly = all.map(|(name, params, result)| (name.to_owned(), params, result));
    let arrays = array_params().into_iter().enumerate();
    let arrays = arrays.map(|(n, schema)| (format!("array.{n}"), schema.clone(), schema));
    let methods: Vec<_> = ugly
        .chain(arrays)
        .map(|(name, params, result)| {
            let mut method = json!({"name": name, "local_name": "echo", "description": "d"});
            for (key, schema) in [("params_schema", params), ("result_schema", result)] {
                if !schema.is_null() {
                    method[key] = schema;
                }
            }
            method
        })
        .collect();
    let body = json!({
        "path": space.folder().join("methods.toml"),
        "registration": {"server": {"command": fixture_method_server()}, "methods": methods},
    });
    let headers = [("content-type", "application/json")];
    let socket = agent.socket().await;
    let registered = socket.request("POST", "/registration", &headers, body.to_string());
    registered.await.expect(200);

    let document = ann.get("/api/openrpc.json").await.expect(200);
    let described = document.json();
    let described = described["methods"].as_array().unwrap();
    assert_eq!(described.len(), methods.len());
    let first = described.iter().find(|method| method["name"] == "array.0");
    let first = first.expect("described");
    assert_eq!(first["paramStructure"], "by-position");
    assert_eq!(first["params"][0]["schema"], json!({"type": "number"}));

    let Some(judges) = install_documents() else {
        return;
    };
    let file = space.folder().join("openrpc.json");
    fs::write(&file, document.text()).unwrap();
    let judged = Command::new("node")
        .arg(judges.join("openrpc.mjs"))
        .arg(&file)
        .output()
        .unwrap();
    let faults = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success(), "{faults}");
}

const GOOD: &str = r#"version = 1

[server]
command = "python3"
args = ["x.py"]
env = { A = "1" }

[[methods]]
name = "{{space}}.search"
local_name = "search"
description = "Search"
scope = "shared"

[methods.params_schema]
type = "object"
properties.q = { type = "string", default = 2026-11-16 }
"#;

/// Invalid registration files: what is wrong, and the text of the file.
fn bad_files() -> Vec<(&'static str, String)> {
    let change = |from: &str, to: &str| GOOD.replace(from, to);
    vec![
        ("unknown key", change("args", "arg")),
        ("no server", change("[server]", "[serve]")),
        ("no command", change("command = \"python3\"\n", "")),
        ("empty command", change("\"python3\"", "\"\"")),
        ("version 2", change("version = 1", "version = 2")),
        ("no timeout", change("args", "timeout = 0\nargs")),
        ("long timeout", change("args", "timeout = 3601\nargs")),
        ("timeout as text", change("args", "timeout = \"1\"\nargs")),
        ("mode", change("args", "mode = \"parallel\"\nargs")),
        ("type", change("args", "type = \"http\"\nargs")),
        ("max_in_flight", change("args", "max_in_flight = 0\nargs")),
        ("variable", change("A = ", "\"A=B\" = ")),
        (
            "no methods",
            GOOD[..GOOD.find("[[methods]]").unwrap()].to_owned(),
        ),
        ("no name", change("name = \"{{space}}.search\"\n", "")),
        ("name", change("{{space}}.search", "a b")),
        ("reserved name", change("{{space}}.search", "rpc.x")),
        ("no local_name", change("local_name = \"search\"\n", "")),
        ("no description", change("description = \"Search\"\n", "")),
        ("empty description", change("\"Search\"", "\" \"")),
        ("scope", change("shared", "public")),
        ("events", change("scope", "events = [\"*.x\"]\nscope")),
        ("keyword", change("scope", "keywords = [\" \"]\nscope")),
        ("groups", change("scope", "groups = \"ops\"\nscope")),
        ("mcp_tool", change("scope", "mcp_tool = \"yes\"\nscope")),
        ("schema type", change("\"object\"", "\"text\"")),
        ("schema", change("\"string\"", "\"string\", minLength = -1")),
    ]
}

#[tokio::test]
async fn s2_1_editors_check_a_registration_file_as_svc_does() {
    let folder = TempDir::new().unwrap();
    let cli = || Cli::new(folder.path()).folder(folder.path());
    let schema = cli().run(&["methods", "schema"]).await.expect(0);
    fs::write(folder.path().join("methods.schema.json"), &schema.stdout).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut good = vec![("good".to_owned(), GOOD.to_owned())];
    for example in ["node-tasks", "notes", "python-notes"] {
        let file = examples.join(example).join("methods.toml");
        good.push((example.to_owned(), fs::read_to_string(file).unwrap()));
    }
    let good = good.into_iter().map(|(name, text)| (name, text, true));
    let bad = bad_files().into_iter();
    let bad = bad.map(|(name, text)| (name.to_owned(), text, false));
    let files: Vec<_> = good.chain(bad).collect();
    for (index, (name, text, is_valid)) in files.iter().enumerate() {
        assert!(*is_valid || text != GOOD, "{name} changes nothing");
        // The line by which editors find the schema.
        let text = format!("#:schema ./methods.schema.json\n{text}");
        let file = format!("{index}.toml");
        fs::write(folder.path().join(&file), text).unwrap();
        let validated = cli().run(&["methods", "validate", &file]).await;
        assert_eq!(
            validated.code == 0,
            *is_valid,
            "{name}: {}",
            validated.stderr
        );
    }
    let Some(judges) = install_documents() else {
        return;
    };
    // One run for all files, because each start of the linter takes seconds.
    let schema = folder.path().join("methods.schema.json");
    let linted = Command::new("node")
        .arg(judges.join("node_modules/@taplo/cli/dist/cli.js"))
        .args(["lint", "--schema", &format!("file://{}", schema.display())])
        .args((0..files.len()).map(|index| format!("{index}.toml")))
        .env("NO_COLOR", "1")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&linted.stderr);
    assert!(!linted.status.success(), "{said}");
    assert!(
        said.contains(&format!("found files total={}", files.len())),
        "{said}"
    );
    for (index, (name, _, is_valid)) in files.iter().enumerate() {
        let refusal = format!("/{index}.toml\"");
        let is_refused = said
            .lines()
            .any(|line| line.contains("invalid file error=") && line.ends_with(&refusal));
        assert_eq!(is_refused, !is_valid, "{name}: {said}");
    }
}
