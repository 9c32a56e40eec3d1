//! Codes are valid once, tries are limited, and everything is deleted with the user.

use svc_core::{PasskeyId, QuotaOverrides, Timestamp, UserId, UserName};
use uuid::Uuid;

use crate::{
    StoreError, Tx,
    engines::{TestEngine, on_each_engine},
    keyed, memberships, records,
    second_factors::{
        self,
        passkeys::{self, ChallengeRow, PasskeyRow},
        pending::{self, PendingLoginRow},
        recovery_codes,
        totp::{self, EnrolmentRow, TotpRow},
    },
    users::{self, UserRow},
};
use svc_protocol::api::Role;

const AT: Timestamp = Timestamp(1_700_000_000_123);

/// Runs statements with a user in a fresh store.
async fn with_user(
    engine: &TestEngine,
    work: impl FnOnce(&mut Tx<'_>, UserId) -> Result<(), StoreError> + Send + 'static,
) {
    let store = engine.open().await;
    let written = store.write(move |tx| {
        let user = UserRow {
            quotas: QuotaOverrides::new(),
            id: UserId(Uuid::now_v7()),
            username: UserName::parse("ann").expect("valid"),
            password_hash: "x".into(),
            active: true,
            created_at: AT,
        };
        records::insert(tx, &user)?;
        work(tx, user.id)
    });
    written.await.expect("committed");
    store.close().await;
}

fn app(user_id: UserId) -> TotpRow {
    TotpRow {
        user_id,
        secret: vec![1, 2],
        last_step: 10,
        wrong_codes: 0,
        created_at: AT,
    }
}

fn login(user_id: UserId, hash: u8, expires_at: i64) -> PendingLoginRow {
    PendingLoginRow {
        hash: [hash; 32],
        user_id,
        proof: [0; 32],
        tries: 0,
        expires_at: Timestamp(expires_at),
    }
}

async fn a_code_is_used_up_once_and_resets_the_wrong_ones(engine: &TestEngine) {
    with_user(engine, |tx, user| {
        totp::set(tx, user, &app(user))?;
        totp::set(tx, user, &app(user))?;
        totp::count_wrong_code(tx, user)?;
        assert_eq!(
            keyed::find::<TotpRow>(tx, &user)?.expect("set").wrong_codes,
            1
        );
        for (step, is_unused) in [(10, false), (9, false), (11, true), (11, false)] {
            assert_eq!(totp::use_step(tx, user, step)?, is_unused, "{step}");
        }
        let found = keyed::find::<TotpRow>(tx, &user)?.expect("set");
        assert_eq!((found.last_step, found.wrong_codes), (11, 0));
        let codes = [[1; 32], [2; 32]];
        recovery_codes::set(tx, user, &codes)?;
        assert!(recovery_codes::exists(tx, user, &codes[0])?);
        assert!(recovery_codes::take(tx, user, &codes[0])?);
        assert!(!recovery_codes::take(tx, user, &codes[0])?);
        assert_eq!(recovery_codes::count(tx, user)?, 1);
        Ok(())
    })
    .await;
}

async fn tries_and_pending_logins_are_bounded(engine: &TestEngine) {
    with_user(engine, |tx, user| {
        for (hash, expires_at) in [(1, 100), (2, 200), (3, 300)] {
            records::insert(tx, &login(user, hash, expires_at))?;
        }
        let count = |tx: &mut Tx<'_>| pending::count_try(tx, &[3; 32], 2);
        assert!(count(tx)? && count(tx)?);
        assert!(!count(tx)?);
        pending::delete_oldest_of_user(tx, user, 2)?;
        assert_eq!(keyed::find::<PendingLoginRow>(tx, &[1; 32])?, None);
        second_factors::delete_expired(tx, Timestamp(200))?;
        assert_eq!(keyed::find::<PendingLoginRow>(tx, &[2; 32])?, None);
        assert!(keyed::delete::<PendingLoginRow>(tx, &[3; 32])?);
        assert!(!keyed::delete::<PendingLoginRow>(tx, &[3; 32])?);
        Ok(())
    })
    .await;
}

async fn expired_records_are_deleted_and_their_users_are_returned_once(engine: &TestEngine) {
    with_user(engine, |tx, user| {
        for (hash, expires_at) in [(1, 100), (2, 200), (3, 300)] {
            records::insert(tx, &login(user, hash, expires_at))?;
        }
        let end = |tx: &mut Tx<'_>| keyed::end_expired::<PendingLoginRow>(tx, Timestamp(200));
        assert_eq!(end(tx)?, [user]);
        assert_eq!(end(tx)?, []);
        assert!(keyed::find::<PendingLoginRow>(tx, &[3; 32])?.is_some());
        keyed::delete_expired::<PendingLoginRow>(tx, Timestamp(300))?;
        assert_eq!(keyed::find::<PendingLoginRow>(tx, &[3; 32])?, None);
        Ok(())
    })
    .await;
}

async fn a_profile_says_whether_a_factor_is_set_up_and_required(engine: &TestEngine) {
    with_user(engine, |tx, user| {
        let enrolment = EnrolmentRow {
            user_id: user,
            secret: vec![1],
            expires_at: AT,
        };
        totp::set(tx, user, &enrolment)?;
        totp::set(tx, user, &enrolment)?;
        assert_eq!(keyed::find::<EnrolmentRow>(tx, &user)?, Some(enrolment));
        let flags = |tx: &mut Tx<'_>| {
            let profile = users::find_profile(tx, user)?.expect("inserted");
            Ok::<_, StoreError>((profile.has_second_factor, profile.requires_second_factor))
        };
        assert_eq!(flags(tx)?, (false, false), "an enrolment is not a factor");
        let mut role = records::find_named::<Role>(tx, &(), "user")?.expect("built in");
        memberships::set_of_user(tx, user, &[role.id])?;
        role.require_second_factor = true;
        records::replace(tx, &role)?;
        assert_eq!(flags(tx)?, (false, true));
        totp::set(tx, user, &app(user))?;
        assert_eq!(flags(tx)?, (true, true));
        assert!(second_factors::any_secret(tx)?);
        users::delete(tx, user)?;
        assert!(!second_factors::any_secret(tx)?);
        Ok(())
    })
    .await;
}

fn challenge(user_id: Option<UserId>, hash: u8, expires_at: i64) -> ChallengeRow {
    ChallengeRow {
        hash: [hash; 32],
        purpose: "login".into(),
        user_id,
        expires_at: Timestamp(expires_at),
        network: String::new(),
    }
}

async fn a_challenge_is_used_up_once_and_only_by_its_user(engine: &TestEngine) {
    with_user(engine, |tx, user| {
        let now = Timestamp(50);
        for of in [Some(user), None] {
            for (hash, expires_at) in [(1, 100), (2, 200), (3, 300)] {
                passkeys::insert_challenge(tx, &challenge(of, hash, expires_at), 2)?;
            }
            let taken = |tx: &mut Tx<'_>, hash, purpose, by, now| {
                passkeys::take_challenge(tx, &[hash; 32], (purpose, by), now)
            };
            let other = match of {
                Some(_) => None,
                None => Some(user),
            };
            assert!(!taken(tx, 1, "login", of, now)?, "replaced by newer ones");
            assert!(!taken(tx, 2, "register", of, now)?);
            assert!(!taken(tx, 2, "login", other, now)?);
            assert!(!taken(tx, 2, "login", of, Timestamp(200))?, "expired");
            assert!(taken(tx, 2, "login", of, now)?);
            assert!(!taken(tx, 2, "login", of, now)?);
            second_factors::delete_expired(tx, Timestamp(300))?;
            assert!(!taken(tx, 3, "login", of, now)?);
        }
        Ok(())
    })
    .await;
}

async fn a_counter_only_goes_forward_unless_the_passkey_does_not_count(engine: &TestEngine) {
    with_user(engine, |tx, user| {
        let passkey = |name: &str, counter| PasskeyRow {
            id: PasskeyId(Uuid::now_v7()),
            user_id: user,
            name: name.into(),
            credential_id: name.as_bytes().to_vec(),
            public_key: vec![1],
            counter,
            created_at: AT,
            last_used_at: None,
        };
        let (counting, other) = (passkey("counting", 4), passkey("other", 0));
        for passkey in [&counting, &other] {
            records::insert(tx, passkey)?;
        }
        assert!(second_factors::exists(tx, user)?);
        for (counter, is_next) in [(4, false), (3, false), (0, false), (5, true), (5, false)] {
            let used = passkeys::use_counter(tx, counting.id, counter, AT)?;
            assert_eq!(used, is_next, "{counter}");
        }
        for (counter, is_next) in [(0, true), (0, true), (1, true), (0, false)] {
            let used = passkeys::use_counter(tx, other.id, counter, AT)?;
            assert_eq!(used, is_next, "{counter}");
        }
        let id = "counting".as_bytes().to_vec();
        let found = passkeys::find_credential(tx, &id)?.expect("inserted");
        assert_eq!((found.counter, found.last_used_at), (5, Some(AT)));
        second_factors::delete_of_user(tx, user)?;
        assert_eq!(records::list_of::<PasskeyRow>(tx, &user)?, []);
        assert!(!second_factors::exists(tx, user)?);
        Ok(())
    })
    .await;
}

on_each_engine!(
    a_challenge_is_used_up_once_and_only_by_its_user,
    a_counter_only_goes_forward_unless_the_passkey_does_not_count,
    a_code_is_used_up_once_and_resets_the_wrong_ones,
    expired_records_are_deleted_and_their_users_are_returned_once,
    tries_and_pending_logins_are_bounded,
    a_profile_says_whether_a_factor_is_set_up_and_required,
);
