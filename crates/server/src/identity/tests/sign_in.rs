use std::time::Duration;

use svc_core::{Timestamp, credential::CredentialKind};
use svc_protocol::api;
use svc_store::meta;

use super::{Fixture, assert_code, client};
use crate::identity::{SIGN_IN_LINK_LIFETIME, Secret};

const INVALID: &str = "invalid_sign_in_link";

#[tokio::test]
async fn s5_a_sign_in_link_opens_one_session() {
    let fixture = Fixture::new().await;
    let identity = &fixture.identity;
    let admin = fixture.admin.user.id;
    let stale = identity.sign_in_token(admin).await.expect("written");
    let token = identity.sign_in_token(admin).await.expect("written");
    let stored = fixture
        .store
        .read(|tx| meta::find(tx, "sign_in_link"))
        .await;
    let stored = stored.expect("read").expect("there is a link");
    assert!(!stored.contains(&token["svc_sgn_".len()..]), "{stored}");
    let made_up = Secret::new(CredentialKind::SignIn).expect("drawn").text;
    let setup = Secret::new(CredentialKind::Setup).expect("drawn").text;
    for wrong in [stale.as_str(), &made_up, &setup, "", "svc_sgn_"] {
        assert_code(identity.sign_in(wrong, client(1)).await, INVALID);
    }
    // A request cannot use the token as its credential.
    let directory = identity.directory();
    assert!(directory.authenticate(&token, Timestamp(0)).is_err());
    let session = identity.sign_in(&token, client(1)).await;
    let session = session.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(session.user.id, admin);
    let caller = directory.authenticate(&session.cookie, fixture.now());
    assert_eq!(caller.expect("the credential is accepted").user.id, admin);
    assert_code(identity.sign_in(&token, client(1)).await, INVALID);
    let actions = fixture.actions().await;
    assert_eq!(
        actions.last().map(String::as_str),
        Some("session.created"),
        "{actions:?}"
    );
}

#[tokio::test]
async fn s5_a_sign_in_link_is_redeemed_by_one_of_two_requests() {
    let fixture = Fixture::new().await;
    let identity = &fixture.identity;
    let token = identity.sign_in_token(fixture.admin.user.id).await;
    let token = token.expect("written");
    let (first, second) = tokio::join!(
        identity.sign_in(&token, client(1)),
        identity.sign_in(&token, client(2))
    );
    assert!(first.is_ok() != second.is_ok(), "exactly one succeeds");
}

#[tokio::test]
async fn s5_a_sign_in_link_ends_with_its_lifetime_with_a_new_password_or_with_its_user() {
    let fixture = Fixture::new().await;
    let identity = &fixture.identity;
    let token = async |user| identity.sign_in_token(user).await.expect("written");
    let late = token(fixture.admin.user.id).await;
    fixture.pass(SIGN_IN_LINK_LIFETIME);
    assert_code(identity.sign_in(&late, client(1)).await, INVALID);
    let timely = token(fixture.admin.user.id).await;
    fixture.pass(SIGN_IN_LINK_LIFETIME - Duration::from_millis(1));
    assert!(identity.sign_in(&timely, client(1)).await.is_ok());

    let ann = fixture.user("ann", &["user"]).await;
    let before = token(ann.id).await;
    let patch = api::UserPatch {
        password: Some("another long password".to_owned()),
        ..api::UserPatch::default()
    };
    let patched = identity.update_user(&fixture.admin, ann.id, patch).await;
    patched.expect("a new password");
    assert_code(identity.sign_in(&before, client(1)).await, INVALID);
    let of_ann = token(ann.id).await;
    let patch = api::UserPatch {
        active: Some(false),
        ..api::UserPatch::default()
    };
    let patched = identity.update_user(&fixture.admin, ann.id, patch).await;
    assert!(!patched.expect("deactivated").active);
    assert_code(identity.sign_in(&of_ann, client(1)).await, INVALID);
}
