//! The messages of `svc methods` to a publisher.

use svc_testkit::{Cli, TempDir};

#[tokio::test]
async fn every_mistake_of_a_file_is_reported() {
    let folder = TempDir::new().unwrap();
    let bad = r#"
        [server]
        command = "x"
        [[methods]]
        name = "a"
        local_name = "a"
        description = "d"
        colour = "red"
        [methods.params_schema]
        requred = ["id"]
        properties.id.type = "int"
    "#;
    std::fs::write(folder.path().join("bad.toml"), bad).unwrap();
    let said = Cli::new(folder.path())
        .run(&["methods", "validate", "bad.toml"])
        .await
        .expect(6);
    for expected in [
        "bad.toml:8:9: method `a`: unknown field `colour`",
        "bad.toml:11:30: method `a`: `int` is not a type",
        "warning: `a`: `params_schema.requred` is not a keyword of JSON Schema",
        "did you mean `required`?",
        "error: `bad.toml` has 2 errors",
    ] {
        assert!(
            said.stderr.contains(expected),
            "{expected}: {}",
            said.stderr
        );
    }
    let good = bad
        .replace("colour = \"red\"", "")
        .replace("\"int\"", "\"integer\"");
    std::fs::write(folder.path().join("good.toml"), good).unwrap();
    let said = Cli::new(folder.path())
        .run(&["methods", "validate", "good.toml"])
        .await
        .expect(0);
    assert!(
        said.stderr.contains("did you mean `required`?"),
        "{}",
        said.stderr
    );
}
