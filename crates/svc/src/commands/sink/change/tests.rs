use std::path::Path;

use clap::Parser;

use super::*;
use crate::{
    cli::{Cli, Command},
    exit::Exit,
};

fn environment() -> Environment {
    Environment::of(Path::new("/nowhere"), &[])
}

fn parse(arguments: &[&str]) -> Option<super::super::Command> {
    let arguments = ["svc", "sink"].iter().chain(arguments);
    match Cli::try_parse_from(arguments).ok()?.command {
        Command::Sink(command) => Some(command),
        _ => panic!("another command"),
    }
}

fn created(arguments: &[&str]) -> Result<Value, Failure> {
    let arguments: Vec<&str> = ["create"].iter().chain(arguments).copied().collect();
    let Some(super::super::Command::Create(args)) = parse(&arguments) else {
        panic!("refused: {arguments:?}");
    };
    new_sink(&environment(), args, None, None).map(|new| json!(new))
}

fn changed(kind: SinkType, arguments: &[&str]) -> Result<Value, Failure> {
    let arguments: Vec<&str> = ["update", "s"].iter().chain(arguments).copied().collect();
    let Some(super::super::Command::Update(args)) = parse(&arguments) else {
        panic!("refused: {arguments:?}");
    };
    patch(&environment(), args, (kind, None), None).map(|patch| json!(patch))
}

#[test]
fn a_webhook_is_made_from_its_flags() {
    let new = created(&[
        "s",
        "--patterns",
        "a.*, b",
        "--url",
        "http://x/",
        "--header",
        "X-Team: ops",
        "--header",
        "X-B:c:d",
        "--body-template",
        "{}",
        "--global",
        "--inactive",
        "--description",
        "d",
    ])
    .expect("valid");
    assert_eq!(
        new,
        json!({
            "name": "s", "description": "d", "patterns": "a.*, b", "type": "webhook",
            "owner": "global", "active": false,
            "webhook": {
                "url": "http://x/", "headers": {"X-B": "c:d", "X-Team": "ops"},
                "body_template": "{}",
            },
        })
    );
}

#[test]
fn a_formatter_accepts_only_a_template() {
    let new = created(&["s", "--type", "json-rpc", "--patterns", "*"]).expect("valid");
    assert_eq!(new["json_rpc"], json!({"body_template": null}));
    assert_eq!(new["owner"], "user");
    assert_eq!(new["active"], true);
}

#[test]
fn a_script_sink_runs_a_stored_script_or_the_text_of_a_file() {
    let parsed = parse(&[
        "create",
        "s",
        "--patterns",
        "*",
        "--type",
        "script",
        "--script",
        "x",
    ]);
    let Some(super::super::Command::Create(args)) = parsed else {
        panic!("refused");
    };
    let id = ScriptId::NIL;
    let new = new_sink(&environment(), args, None, Some(id)).expect("valid");
    assert_eq!(
        json!(new)["script"],
        json!({"script_id": id, "source": null})
    );
    let parsed = parse(&["update", "s", "--script", "x"]);
    let Some(super::super::Command::Update(args)) = parsed else {
        panic!("refused");
    };
    let patch = patch(&environment(), args, (SinkType::Script, Some(id)), None).expect("valid");
    assert_eq!(
        json!(patch),
        json!({"script": {"script_id": id, "source": null}})
    );
    assert!(parse(&["update", "s", "--script", "x", "--script-file", "y"]).is_none());
}

#[test]
fn misplaced_and_missing_options_are_usage_errors() {
    for arguments in [
        &["s", "--patterns", "*"][..],
        &["s", "--patterns", "*", "--type", "json-rpc", "--url", "u"],
        &[
            "s",
            "--patterns",
            "*",
            "--type",
            "script",
            "--body-template",
            "x",
        ],
        &["s", "--patterns", "*", "--url", "u", "--script", "x"],
        &["s", "--patterns", "*", "--url", "u", "--script-file", "x"],
        &["s", "--patterns", "*", "--type", "script"],
        &[
            "s",
            "--patterns",
            "*",
            "--type",
            "script",
            "--script-file",
            "missing.py",
        ],
        &[
            "s",
            "--patterns",
            "*",
            "--url",
            "u",
            "--body-template",
            "@missing",
        ],
    ] {
        let failure = created(arguments).expect_err("refused");
        assert_eq!(failure.exit, Exit::Usage, "{arguments:?}");
    }
    for arguments in [
        &["create", "s", "--url", "u"][..],
        &["create", "s", "--url", "u", "--patterns", "a.*.b"],
        &[
            "create",
            "s",
            "--url",
            "u",
            "--patterns",
            "*",
            "--header",
            "x",
        ],
        &[
            "create",
            "s",
            "--url",
            "u",
            "--patterns",
            "*",
            "--header",
            "a b: c",
        ],
        &["replay", "s", "--since", "yesterday"],
        &["resend", "s", "x"],
    ] {
        assert!(parse(arguments).is_none(), "{arguments:?}");
    }
}

#[test]
fn an_update_sends_only_the_given_options_and_null_for_empty_ones() {
    let webhook = SinkType::Webhook;
    assert_eq!(
        changed(webhook, &["--header", "X-A:", "--header", "X-B: 1"]).expect("valid"),
        json!({"webhook": {"headers": {"X-A": null, "X-B": "1"}}})
    );
    assert_eq!(
        changed(
            SinkType::JsonRpc,
            &["--body-template", "", "--patterns", "a"]
        )
        .expect("valid"),
        json!({"patterns": "a", "json_rpc": {"body_template": null}})
    );
    assert_eq!(
        changed(webhook, &["--name", "t", "--description", ""]).expect("valid"),
        json!({"name": "t", "description": ""})
    );
    for failure in [
        changed(webhook, &[]).expect_err("nothing"),
        changed(SinkType::JsonRpc, &["--url", "u"]).expect_err("misplaced"),
    ] {
        assert_eq!(failure.exit, Exit::Usage);
    }
}

#[test]
fn a_new_host_gets_the_given_secret() {
    let patch_of = |kind| {
        let arguments = ["update", "s", "--url", "http://y/", "--secret-stdin"];
        let Some(super::super::Command::Update(args)) = parse(&arguments) else {
            panic!("refused");
        };
        let secret = Some("whsec_x".to_owned());
        patch(&environment(), args, (kind, None), secret).map(|patch| json!(patch))
    };
    let patch = patch_of(SinkType::Webhook).expect("valid");
    assert_eq!(
        patch["webhook"],
        json!({"url": "http://y/", "secret": "whsec_x"})
    );
    assert!(patch_of(SinkType::JsonRpc).is_err());
}
