use std::time::Duration;

use serde_json::json;
use svc_core::{Id, Scope, Timestamp, UserId, credential::CredentialKind};
use svc_protocol::api;
use svc_store::{
    PageRequest, StoreError,
    agent_tokens::{self, AgentTokenKind, AgentTokenRow},
    spaces,
    zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::{Fixture, assert_code};
use crate::identity::{AccessDenied, Change, Credential, DirectoryChange, Identity, Secret};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn a_token_authenticates_its_user_until_it_expires() {
    let fixture = Fixture::new().await;
    let directory = fixture.identity.directory();
    let token = fixture.token(&fixture.admin, &["methods"]).await;
    let text = token.token.expect("shown once");
    assert!(text.starts_with("svc_pat_"));
    let caller = directory
        .authenticate(&text, fixture.now())
        .expect("the credential is accepted");
    assert_eq!(caller.user.name.as_str(), "admin");
    let Credential::Token { id, scopes, .. } = &caller.credential else {
        panic!("{:?}", caller.credential);
    };
    assert_eq!(*id, token.id);
    assert_eq!(scopes.as_slice(), [Scope::Methods]);
    assert_eq!(caller.me(&super::quotas()).credential, "token");
    let tomorrow = fixture.now().plus(DAY);
    assert_eq!(
        directory.authenticate(&text, tomorrow).err(),
        Some(AccessDenied::Expired)
    );
    assert_eq!(
        directory.recheck(&caller, tomorrow).err(),
        Some(AccessDenied::Expired)
    );
}

#[tokio::test]
async fn made_up_and_mistyped_credentials_are_unknown() {
    let fixture = Fixture::new().await;
    let token = fixture.token(&fixture.admin, &[]).await;
    let text = token.token.expect("shown once");
    let made_up = Secret::new(CredentialKind::ApiToken).expect("drawn").text;
    let setup = Secret::new(CredentialKind::Setup).expect("drawn").text;
    for presented in [
        &text[..text.len() - 1],
        &made_up,
        &setup,
        "",
        "svc_pat_",
        "hello",
    ] {
        let denied = fixture
            .identity
            .directory()
            .authenticate(presented, fixture.now());
        assert_eq!(denied.err(), Some(AccessDenied::Unknown));
    }
}

#[tokio::test]
async fn a_revoked_token_is_rejected_at_once_and_reported_to_listeners() {
    let fixture = Fixture::new().await;
    let directory = fixture.identity.directory();
    let token = fixture.token(&fixture.admin, &[]).await;
    let text = token.token.expect("shown once");
    let mut changes = directory.subscribe();
    let caller = directory
        .authenticate(&text, fixture.now())
        .expect("the credential is accepted");
    let revoked = fixture.identity.delete_token(&fixture.admin, token.id);
    revoked.await.expect("revoked");
    for denied in [
        directory.authenticate(&text, fixture.now()).err(),
        directory.recheck(&caller, fixture.now()).err(),
    ] {
        assert_eq!(denied, Some(AccessDenied::Unknown));
    }
    assert_eq!(
        changes.try_recv(),
        Ok(DirectoryChange::CredentialsRevoked(fixture.admin.user.id))
    );
    let again = fixture.identity.delete_token(&fixture.admin, token.id);
    assert_code(again.await, "not_found");
}

#[tokio::test]
async fn a_change_takes_effect_even_if_its_request_is_dropped() {
    let fixture = Fixture::new().await;
    let directory = fixture.identity.directory();
    let token = fixture.token(&fixture.admin, &[]).await;
    let text = token.token.expect("shown once");
    let request = fixture.identity.delete_token(&fixture.admin, token.id);
    // Polled once, so that the change has begun, then dropped like the request of a client that
    // disconnected.
    tokio::select! {
        biased;
        _ = request => panic!("the change cannot be committed at the first poll"),
        () = std::future::ready(()) => {}
    }
    fixture.identity.close().await;
    let denied = directory.authenticate(&text, fixture.now());
    assert_eq!(denied.err(), Some(AccessDenied::Unknown));
}

#[tokio::test]
async fn tokens_need_known_scopes_a_valid_expiry_and_a_name() {
    let fixture = Fixture::new().await;
    let create = async |name: &str, scope: &str, days| {
        let new = api::NewToken {
            name: name.into(),
            scopes: Some(vec![scope.into()]),
            expires_in_days: Some(days),
        };
        fixture.identity.create_token(&fixture.admin, new).await
    };
    assert_code(create("t", "events", 1).await, "invalid_scope");
    assert_code(create("t", "mcp", 0).await, "invalid_expiry");
    assert_code(create("t", "mcp", 3_651).await, "invalid_expiry");
    assert_code(create("", "mcp", 1).await, "invalid_name");
    for _ in 0..3 {
        create("t", "mcp", 3_650).await.expect("created");
    }
    assert_code(create("t", "mcp", 1).await, "quota_exceeded");
}

#[tokio::test]
async fn users_see_and_revoke_only_their_own_tokens() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[]).await;
    let token = fixture.token(&fixture.admin, &[]).await;
    let anns = fixture
        .identity
        .list_tokens(&ann, None, PageRequest::default())
        .await;
    assert!(anns.expect("read").tokens.is_empty());
    let revoked = fixture.identity.delete_token(&ann, token.id).await;
    assert_code(revoked, "not_found");
    let listed = fixture
        .identity
        .list_tokens(&fixture.admin, None, PageRequest::default())
        .await
        .expect("read");
    assert_eq!(listed.tokens[0].token, None, "the secret is shown once");
}

#[tokio::test]
async fn last_use_is_visible_at_once_and_stored_by_the_flush() {
    let fixture = Fixture::new().await;
    let token = fixture.token(&fixture.admin, &[]).await;
    fixture.pass(Duration::from_secs(5));
    let used_at = fixture.now();
    fixture
        .identity
        .directory()
        .authenticate(&token.token.expect("shown once"), used_at)
        .expect("the credential is accepted");
    let last_used = async |identity: &Identity| -> Option<Timestamp> {
        let listed = identity.list_tokens(&fixture.admin, None, PageRequest::default());
        listed.await.expect("read").tokens[0].last_used_at
    };
    assert_eq!(last_used(&fixture.identity).await, Some(used_at));
    let reload = async || {
        Identity::load(
            fixture.store.clone(),
            super::policy(),
            super::quotas(),
            Default::default(),
        )
        .await
        .expect("loads")
    };
    assert_eq!(last_used(&reload().await).await, None);
    // A flush that fails is repeated by the next one.
    let rename = async |from: &'static str, to: &'static str| {
        let script = format!("ALTER TABLE {from} RENAME TO {to}");
        let renaming = fixture
            .store
            .write(move |tx| svc_store::testing::execute_script(tx, &script));
        renaming.await.expect("committed");
    };
    rename("api_tokens", "away").await;
    fixture.identity.flush_last_used().await.expect_err("fails");
    rename("away", "api_tokens").await;
    let commits = || fixture.store.stats().commits;
    fixture.identity.flush_last_used().await.expect("written");
    let before = commits();
    fixture
        .identity
        .flush_last_used()
        .await
        .expect("nothing new");
    assert_eq!(commits(), before);
    assert_eq!(last_used(&reload().await).await, Some(used_at));
}

#[tokio::test]
async fn the_audit_log_tells_whose_token_was_revoked() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[]).await;
    let own = fixture.token(&fixture.admin, &[]).await;
    let others = fixture.token(&ann, &[]).await;
    for token in [own.id, others.id] {
        let revoked = fixture.identity.delete_token(&fixture.admin, token);
        revoked.await.expect("revoked");
    }
    let revoked = api::AuditQuery {
        action: Some("token.revoked".to_owned()),
        ..api::AuditQuery::default()
    };
    let listing = fixture
        .identity
        .list_audit(UserId::NIL, revoked, PageRequest::default());
    let listed = listing.await.expect("read").audit;
    let users: Vec<_> = listed
        .iter()
        .rev()
        .map(|entry| &entry.detail["user_id"])
        .collect();
    assert_eq!(users, [&json!(null), &json!(ann.user.id)]);
}

#[tokio::test]
async fn an_agent_token_acts_as_the_owner_until_it_is_replaced() {
    let fixture = Fixture::new().await;
    let directory = fixture.identity.directory();
    let space_id = fixture.space(fixture.admin.user.id).await;
    let issue = async || {
        let secret = Secret::new(CredentialKind::AgentToken).expect("drawn");
        let row = AgentTokenRow {
            made_by: None,
            id: Id(Uuid::now_v7()),
            space_id,
            hash: secret.hash,
            kind: AgentTokenKind::Shown,
            created_at: fixture.now(),
        };
        let replace = move |tx: &mut Change<'_, '_>| {
            agent_tokens::replace(tx, &row)?;
            tx.affects(ZoneChange::Space(space_id));
            Ok::<_, StoreError>(())
        };
        fixture
            .identity
            .change_as_server(replace)
            .await
            .expect("committed");
        secret.text
    };
    let first = issue().await;
    let caller = directory
        .authenticate(&first, fixture.now())
        .expect("the credential is accepted");
    let stopped = false;
    assert_eq!(caller.credential, Credential::Agent { space_id, stopped });
    assert_eq!(caller.user.id, fixture.admin.user.id);
    let mut changes = directory.subscribe();
    let second = issue().await;
    assert_eq!(
        directory.authenticate(&first, fixture.now()).err(),
        Some(AccessDenied::Unknown)
    );
    assert_eq!(
        changes.try_recv(),
        Ok(DirectoryChange::AgentTokensRevoked(space_id))
    );
    assert!(directory.authenticate(&second, fixture.now()).is_ok());
    let at = fixture.now();
    let delete = move |tx: &mut Change<'_, '_>| {
        spaces::mark_deleted(tx, space_id, at)?;
        tx.affects(ZoneChange::Space(space_id));
        Ok::<_, StoreError>(())
    };
    fixture
        .identity
        .change_as_server(delete)
        .await
        .expect("committed");
    assert_eq!(
        directory.authenticate(&second, fixture.now()).err(),
        Some(AccessDenied::Unknown)
    );
}

#[tokio::test]
async fn tokens_and_groups_are_loaded_after_a_restart() {
    let fixture = Fixture::new().await;
    let token = fixture.token(&fixture.admin, &[]).await;
    let group = api::GroupBody { name: "ops".into() };
    let group = fixture.identity.create_group(&fixture.admin, group).await;
    let identity = Identity::load(
        fixture.store.clone(),
        super::policy(),
        super::quotas(),
        Default::default(),
    )
    .await
    .expect("loads");
    let directory = identity.directory();
    let text = token.token.expect("shown once");
    assert!(directory.authenticate(&text, fixture.now()).is_ok());
    let id = group.expect("created").id;
    assert_eq!(directory.resolve_group("ops"), Some(id));
    assert_eq!(directory.resolve_group(&id.to_string()), Some(id));
    assert_eq!(directory.resolve_group("dev"), None);
    assert_eq!(directory.group_name(id).as_deref(), Some("ops"));
}
