//! A logout at a provider finds the identities whose grants or pending codes come from the session
//! that ended.

use std::collections::BTreeMap;

use svc_core::{OidcIdentityId, OidcProviderId, QuotaOverrides, Timestamp, UserId, UserName};
use uuid::Uuid;

use crate::{
    engines::{TestEngine, on_each_engine},
    oidc::{
        grants::{self, ProviderLogin},
        identities::IdentityRow,
        providers::ProviderRow,
        sessions,
    },
    records,
    users::UserRow,
};

const AT: Timestamp = Timestamp(1_700_000_000_123);
const ISSUER: &str = "https://id.example.org";

fn provider() -> ProviderRow {
    ProviderRow {
        id: OidcProviderId(Uuid::now_v7()),
        name: "work".into(),
        label: "Work".into(),
        issuer: ISSUER.into(),
        client_id: "svc".into(),
        sealed_secret: None,
        scopes: Vec::new(),
        enabled: true,
        create_users: false,
        required_claims: BTreeMap::new(),
        groups_claim: None,
        mappings: Vec::new(),
        created_at: AT,
    }
}

async fn a_session_at_a_provider_is_found_by_its_grants_and_its_pending_codes(engine: &TestEngine) {
    let store = engine.open().await;
    let written = store.write(|tx| {
        let user = UserRow {
            quotas: QuotaOverrides::new(),
            id: UserId(Uuid::now_v7()),
            username: UserName::parse("ann").expect("valid"),
            password_hash: "x".into(),
            active: true,
            created_at: AT,
        };
        records::insert(tx, &user)?;
        let provider = provider();
        records::insert(tx, &provider)?;
        let identity = IdentityRow {
            id: OidcIdentityId(Uuid::now_v7()),
            provider_id: provider.id,
            user_id: user.id,
            issuer: ISSUER.into(),
            sub: "ann".into(),
            email: None,
            display_name: None,
            created_at: AT,
            last_login_at: None,
        };
        records::insert(tx, &identity)?;
        let login = |sid: &str| ProviderLogin {
            identity_id: identity.id,
            sid: Some(sid.to_owned()),
        };
        grants::insert(tx, "a grant".to_owned(), login("exchanged"))?;
        grants::insert_pending(tx, &[1; 32], login("pending"), AT)?;
        for sid in ["exchanged", "pending"] {
            let found = sessions::list_identities(tx, ISSUER, sid)?;
            assert_eq!(found, [identity.id], "{sid}");
            let elsewhere = sessions::list_identities(tx, "https://other.example", sid)?;
            assert!(elsewhere.is_empty(), "{sid}");
        }
        assert!(sessions::list_identities(tx, ISSUER, "other")?.is_empty());
        Ok(())
    });
    written.await.expect("committed");
    store.close().await;
}

on_each_engine!(a_session_at_a_provider_is_found_by_its_grants_and_its_pending_codes,);
