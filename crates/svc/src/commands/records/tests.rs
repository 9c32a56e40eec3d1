use serde_json::json;
use svc_core::{delivery_policy::DeliveryPolicy, json_text::JsonText};
use svc_protocol::api::{
    self, Role, RolePatch, Space, SpacePatch, Template, TemplatePatch, User, UserPatch,
};
use uuid::Uuid;

use super::*;

#[test]
fn an_empty_word_empties_a_list() {
    let given = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(words_if_given(given(&[])), None);
    assert_eq!(words_if_given(given(&[""])), Some(vec![]));
    assert_eq!(words_if_given(given(&["a", "b"])), Some(given(&["a", "b"])));
}

#[test]
fn an_update_without_options_is_a_usage_error_that_names_them() {
    let check = |checked: Result<(), Failure>, options: &str| {
        let failure = checked.expect_err(options);
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(failure.why, Some(format!("the options are {options}")));
    };
    check(
        check_patch::<Space>(&SpacePatch::default()),
        "--health-check, --startup-script",
    );
    check(
        check_patch::<Template>(&TemplatePatch::default()),
        "--name, --remove-field, --port, --health-check, --field, --startup-script",
    );
    let patch = UserPatch::default();
    check(
        check_patch::<User>(&patch),
        "--role, --group, --activate, --deactivate, --quota",
    );
    let patch = TemplatePatch {
        health_check: Some(None),
        ..TemplatePatch::default()
    };
    assert!(check_patch::<Template>(&patch).is_ok());
    let patch = RolePatch {
        name: Some("n".into()),
        permissions: None,
        require_second_factor: None,
    };
    assert!(check_patch::<Role>(&patch).is_ok());
}

/// For each kind: the JSON of a patch with all settings, the members that only a new record has,
/// and the options that only `create` has.
fn check_kind<R: Resource>(settings: Value, fixed: Value, members: &[&str], only_new: &str)
where
    R::New: DeserializeOwned + Serialize,
    R::Patch: DeserializeOwned,
{
    let kind = R::KIND;
    let patch: R::Patch = serde_json::from_value(settings.clone()).expect(kind);
    assert_eq!(
        serde_json::to_value(&patch).expect(kind),
        settings,
        "{kind}"
    );
    let new = new_record::<R>(fixed.clone(), &patch).expect(kind);
    let new = serde_json::to_value(&new).expect(kind);
    for given in [&settings, &fixed] {
        for (name, value) in given.as_object().expect("an object") {
            assert_eq!(&new[name], value, "{kind}: {name}");
        }
    }
    let given = [settings, fixed].map(|given| given.as_object().expect("an object").len());
    assert_eq!(
        given.iter().sum::<usize>(),
        members.len(),
        "{kind}: {members:?}"
    );
    assert_eq!(only_in_create(kind), only_new, "{kind}");
}

/// The options of `create` that `update` lacks: members that never change, and switches.
fn only_in_create(kind: &str) -> String {
    let command = Cli::command();
    let options = |name: &str| -> Vec<String> {
        let command = command.find_subcommand(kind).expect(kind);
        let command = command.find_subcommand(name).expect(kind);
        let options = command.get_arguments().filter_map(clap::Arg::get_long);
        options.map(str::to_owned).collect()
    };
    let mut only = options("create");
    only.retain(|option| !options("update").contains(option));
    only.join(" ")
}

#[test]
fn the_settings_of_every_kind_are_a_new_record_and_a_patch() {
    check_kind::<api::Schedule>(
        json!({
            "name": "a", "description": "b", "cron": "0 2 * * *", "timezone": "UTC",
            "payload": {"n": null}, "missed": "skip", "active": false,
        }),
        json!({}),
        api::NewSchedule::MEMBERS,
        "",
    );
    check_kind::<api::Source>(
        json!({
            "name": "a", "description": "b", "verify": {"type": "github"},
            "event_type": {"body": "x"}, "headers": ["x-a"], "active": false,
        }),
        json!({}),
        api::NewSource::MEMBERS,
        "verify secret-stdin",
    );
    check_kind::<api::Sink>(
        json!({
            "name": "a", "description": "b", "patterns": "c.*", "active": false,
            "webhook": {"url": "https://example.com/", "body_template": null, "headers": {"x-a": "1"}},
            "script": {"script_id": null, "source": "pass"}, "json_rpc": {"body_template": "{}"},
            "delivery": serde_json::to_value(DeliveryPolicy::default()).expect("JSON"),
        }),
        json!({"type": "webhook", "owner": "global"}),
        api::NewSink::MEMBERS,
        "type global inactive",
    );
    check_kind::<api::Script>(
        json!({
            "name": "a", "source": "pass", "title": "b", "description": "c",
            "annotations": {"read_only": true}, "params_schema": {"type": "object"},
        }),
        json!({"kind": "tool", "owner": "global"}),
        api::NewScript::MEMBERS,
        "global",
    );
    check_kind::<Template>(
        json!({
            "name": "a", "ports": [{"name": "http", "port": 80}], "startup_script_id": Uuid::nil(),
            "health_check": health_check(), "custom_fields": {"b": "c"},
        }),
        json!({}),
        api::NewTemplate::MEMBERS,
        "",
    );
    check_kind::<Space>(
        json!({"startup_script_id": Uuid::nil(), "health_check": health_check()}),
        json!({"name": "a", "template_id": Uuid::nil(), "runtime": "local"}),
        api::NewSpace::MEMBERS,
        "template runtime",
    );
    check_kind::<Role>(
        json!({"name": "a", "permissions": ["use_mcp"], "require_second_factor": true}),
        json!({}),
        api::NewRole::MEMBERS,
        "",
    );
    check_kind::<api::Group>(json!({"name": "a"}), json!({}), api::GroupBody::MEMBERS, "");
    check_kind::<api::OidcProvider>(
        json!({
            "label": "a", "client_id": "b", "client_secret": "c", "scopes": ["openid"],
            "enabled": false, "create_users": true, "required_claims": {"d": ["e"]},
            "groups_claim": "f", "mappings": [{"value": "g", "group": "h"}],
        }),
        json!({"name": "i", "issuer": "https://example.com"}),
        api::NewOidcProvider::MEMBERS,
        "issuer",
    );
    assert_eq!(only_in_create("user"), "inactive password-stdin");
}

#[test]
fn a_column_of_a_list_has_the_field_whose_name_begins_like_it() {
    let schedule: api::Schedule = serde_json::from_value(json!({
        "id": Uuid::nil(), "name": "a", "description": "text", "owner_id": Uuid::nil(),
        "cron": "0 2 * * *", "timezone": "UTC", "payload": {}, "missed": "once", "active": true,
        "next_at": "2026-01-02T02:00:00.000Z", "last_at": null, "last_event_id": null,
        "failure": "full", "created_at": "2026-01-01T00:00:00.000Z",
    }))
    .expect("a schedule");
    let cells = [
        "a",
        "0 2 * * *",
        "UTC",
        "yes",
        "2026-01-02T02:00:00.000Z",
        "-",
        "full",
    ];
    assert_eq!(schedule.row(), cells);
}

/// A check with all its members, as the server writes it.
fn health_check() -> Value {
    let check = crate::commands::health_check::parse("tcp:80").expect("valid");
    serde_json::to_value(check).expect("JSON")
}

#[test]
fn a_reset_member_of_a_new_record_has_its_default_and_numbers_stay_exact() {
    let patch = TemplatePatch {
        name: Some("a".into()),
        custom_fields: Some(None),
        health_check: Some(None),
        ..TemplatePatch::default()
    };
    let new = new_record::<Template>(json!({}), &patch).expect("valid");
    assert!(new.custom_fields.is_empty() && new.health_check.is_none());
    let exact = r#"{"n":123456789012345678901234567890}"#;
    let patch = api::SchedulePatch {
        name: Some("a".into()),
        cron: Some("0 2 * * *".into()),
        payload: Some(JsonText::parse(exact).expect("JSON")),
        ..api::SchedulePatch::default()
    };
    let new = new_record::<api::Schedule>(json!({}), &patch).expect("valid");
    assert_eq!(new.payload.expect("given").as_str(), exact);
    let failure = new_record::<api::Schedule>(json!({}), &api::SchedulePatch::default());
    assert_eq!(failure.err().map(|failure| failure.exit), Some(Exit::Usage));
}
