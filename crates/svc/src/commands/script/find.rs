//! Finds a script by its name. A name is unique only among the scripts of one owner and one kind.

use svc_client::{Client, choose_named, global_name};
use svc_core::ScriptId;
use svc_protocol::api::{Script, ScriptKind, ScriptOwner, ScriptQuery, Scripts};
use uuid::Uuid;

use crate::{
    commands::{Shell, records},
    exit::Failure,
    output::{joined, json_name},
};

/// Finds a script by id, by `name` or by `global/name`. The caller's own script wins over a global
/// script of the same kind, as in an import. If scripts of several kinds have the name and `kind`
/// is `None`, returns an error.
pub async fn find(
    client: &Client,
    reference: &str,
    kind: Option<ScriptKind>,
) -> Result<Script, Failure> {
    let hinted = |failure: Failure| records::with_list_hint::<Script>(failure);
    if let Ok(id) = Uuid::parse_str(reference) {
        let found = client.read_one(id).await;
        let script: Script = found.map_err(|error| hinted(error.into()))?;
        return match kind {
            Some(kind) if kind != script.kind => {
                Err(wrong_kind(&script.name, &[script.kind], kind))
            }
            _ => Ok(script),
        };
    }
    let query = ScriptQuery {
        name: Some(global_name(reference).0.to_owned()),
        ..ScriptQuery::default()
    };
    let found = client.list_all::<Scripts>(&query).await?;
    choose(found, reference, kind).map_err(hinted)
}

/// The id of a script of one kind, for a record that refers to the script.
pub async fn find_id(
    client: &Client,
    reference: &str,
    kind: ScriptKind,
) -> Result<ScriptId, Failure> {
    find(client, reference, Some(kind))
        .await
        .map(|script| script.id)
}

/// The startup script that an option names. Returns `None` if the option was not given, and
/// `Some(None)` if its value is empty, which means no startup script.
pub async fn find_startup(
    shell: &Shell,
    reference: Option<&str>,
) -> Result<Option<Option<ScriptId>>, Failure> {
    match reference {
        None => Ok(None),
        Some("") => Ok(Some(None)),
        Some(reference) => find_id(&shell.client()?, reference, ScriptKind::Startup)
            .await
            .map(|id| Some(Some(id))),
    }
}

fn wrong_kind(reference: &str, found: &[ScriptKind], wanted: ScriptKind) -> Failure {
    let found: Vec<_> = found.iter().map(json_name).collect();
    let (found, wanted) = (found.join(" and "), json_name(wanted));
    Failure::refused(format!(
        "script `{reference}` is of kind {found}, not {wanted}"
    ))
}

fn choose(
    scripts: Vec<Script>,
    reference: &str,
    kind: Option<ScriptKind>,
) -> Result<Script, Failure> {
    let is_global = |script: &Script| script.owner == ScriptOwner::Global;
    let mut found = choose_named(scripts, reference, is_global);
    if let Some(wanted) = kind {
        let others: Vec<_> = found.iter().map(|script| script.kind).collect();
        found.retain(|script| script.kind == wanted);
        if found.is_empty() && !others.is_empty() {
            return Err(wrong_kind(reference, &others, wanted));
        }
    }
    let Some(first) = found.first() else {
        let what = format!("script `{reference}` does not exist, or you may not see it");
        return Err(Failure::not_found(what));
    };
    if found.iter().all(|script| script.kind == first.kind) {
        return Ok(found.swap_remove(0));
    }
    let candidates = found.iter().map(|script| {
        let (kind, owner) = (json_name(script.kind), json_name(script.owner));
        format!("{} ({kind}, {owner})", script.id)
    });
    Err(
        Failure::usage(format!("`{reference}` is the name of several scripts"))
            .why(joined(candidates))
            .hint("choose a script with --kind or by its id"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exit::Exit;

    fn script(name: &str, kind: &str, owner: &str) -> Script {
        serde_json::from_value(json!({
            "id": Uuid::nil(), "name": name, "kind": kind, "owner": owner,
            "owner_id": Uuid::nil(), "description": "", "source": "", "params_schema": null,
            "created_at": "1970-01-01T00:00:00.000Z", "updated_at": "1970-01-01T00:00:00.000Z",
        }))
        .expect("a script")
    }

    #[test]
    fn a_users_own_script_wins_over_a_global_one_and_a_name_of_two_kinds_is_ambiguous() {
        let scripts = || {
            vec![
                script("a", "library", "global"),
                script("a", "library", "user"),
                script("b", "sink", "user"),
                script("b", "tool", "global"),
            ]
        };
        let check = |reference, expected: Result<ScriptOwner, Exit>| {
            let found = choose(scripts(), reference, None);
            let found = found
                .map(|script| script.owner)
                .map_err(|failure| failure.exit);
            assert_eq!(found, expected, "{reference}");
        };
        check("a", Ok(ScriptOwner::User));
        check("global/a", Ok(ScriptOwner::Global));
        check("b", Err(Exit::Usage));
        check("global/b", Ok(ScriptOwner::Global));
        check("c", Err(Exit::NotFound));
        let failure = choose(scripts(), "b", None).expect_err("ambiguous");
        let failure = failure.to_string();
        assert!(failure.contains("(sink, user)") && failure.contains("(tool, global)"));
        assert!(failure.contains("--kind"), "{failure}");
    }

    #[test]
    fn a_script_of_another_kind_is_refused_with_its_kind() {
        let scripts = || {
            vec![
                script("a", "library", "user"),
                script("b", "tool", "user"),
                script("b", "sink", "global"),
            ]
        };
        let sink = Some(ScriptKind::Sink);
        let failure = choose(scripts(), "a", sink).expect_err("no sink");
        assert_eq!(failure.exit, Exit::Refused);
        let said = failure.to_string();
        assert!(said.contains("`a` is of kind library, not sink"), "{said}");
        let found = choose(scripts(), "b", sink).expect("the global sink script");
        assert_eq!(found.owner, ScriptOwner::Global);
        let failure = choose(scripts(), "c", sink).expect_err("none");
        assert_eq!(failure.exit, Exit::NotFound);
    }
}
