//! Access is decided again in the transaction of a change.

use svc_core::{Permission, Permissions, RoleId};
use svc_store::{memberships, users};

use super::{Fixture, PASSWORD, assert_code, client};
use crate::{
    identity::{AccessDenied, Caller, OwnProof, authority::resolve},
    records::RecordError,
};

impl Fixture {
    async fn resolve(&self, caller: &Caller) -> Result<Caller, RecordError> {
        let (caller, now) = (caller.clone(), self.now());
        let resolving = self.store.write(move |tx| Ok(resolve(tx, &caller, now)));
        resolving.await.expect("committed")
    }

    async fn check(&self, proof: &OwnProof, caller: &Caller) -> Result<(), RecordError> {
        let (proof, caller, now) = (proof.clone(), caller.clone(), self.now());
        let checking = move |tx: &mut svc_store::Tx<'_>| Ok(proof.check(tx, &caller, now));
        self.store.write(checking).await.expect("committed")
    }
}

#[tokio::test]
async fn a_change_needs_the_credential_of_its_caller() {
    let fixture = Fixture::new().await;
    let session = fixture.caller("ann", &[Permission::ManageSpaces]).await;
    let token = fixture.token(&session, &["methods"]).await;
    let text = token.token.expect("shown once");
    let directory = fixture.identity.directory();
    let token = directory.authenticate(&text, fixture.now());
    let unknown = Some(AccessDenied::Unknown.into());
    for caller in [session, token.expect("accepted")] {
        assert!(fixture.resolve(&caller).await.is_ok());
        // For example a token that was rotated meanwhile.
        let rotated = Caller {
            key: [9; 32],
            ..caller.clone()
        };
        assert_eq!(fixture.resolve(&rotated).await.err(), unknown);
        let of_another_user = Caller {
            user: fixture.admin.user.clone(),
            ..caller
        };
        assert_eq!(fixture.resolve(&of_another_user).await.err(), unknown);
    }
}

#[tokio::test]
async fn a_change_is_made_with_the_current_permissions() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[Permission::ManageSpaces]).await;
    let id = ann.user.id;
    let losing = fixture
        .store
        .write(move |tx| memberships::set_of_user::<RoleId>(tx, id, &[]));
    losing.await.expect("committed");
    let resolved = fixture.resolve(&ann).await.expect("still a user");
    assert_eq!(resolved.user.permissions, Permissions::default());
    let route = Caller {
        needs: &[Permission::ManageSpaces],
        ..ann
    };
    assert!(fixture.resolve(&route).await.is_err());
}

#[tokio::test]
async fn the_proof_of_an_old_password_ends_with_the_password() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[]).await;
    let address = client(1).address;
    let proving = fixture.identity.prove(&ann, Some(PASSWORD.into()), address);
    let proof = proving.await.expect("the right password");
    assert_eq!(fixture.check(&proof, &ann).await, Ok(()));
    let id = ann.user.id;
    let changing = fixture
        .store
        .write(move |tx| users::set_password_hash(tx, id, "another"));
    changing.await.expect("committed");
    assert_code(fixture.check(&proof, &ann).await, "password_changed");
}
