//! Credentials by the hash of their secret, and when each was last used.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use svc_core::{SpaceId, Timestamp, UserId};
use svc_store::{
    Hash, StoreError, Tx, agent_tokens::OwnedAgentToken, oauth::grants::GrantRow, records,
    sessions::SessionRow, tokens::TokenRow, users,
};

use super::snapshot::UserRecords;
use crate::{identity::caller::Credential, random_key::RandomKeyMap};

/// The time of last use of a credential that was never used. It is earlier than any real time.
const NEVER: i64 = i64::MIN;
/// A time of last use changes by at least this much, so that the record of a busy credential stays
/// in the cache of every core.
const USE_GRAIN_MILLIS: i64 = 1_000;

pub(super) struct Record {
    pub(super) user_id: UserId,
    pub(super) credential: Credential,
    expires_at: Option<Timestamp>,
    used: Arc<LastUse>,
}

/// The time of last use. It is kept when the record of the credential is read from the store again.
struct LastUse {
    at: AtomicI64,
    /// The value of `at` that was last taken to be stored.
    written: AtomicI64,
}

/// A time of last use to be stored.
#[derive(Clone)]
pub(in crate::identity) struct LastUseUpdate {
    key: Hash,
    user: UserId,
    credential: Credential,
    at: Timestamp,
}

impl Record {
    fn new(
        user_id: UserId,
        credential: Credential,
        expires_at: Option<Timestamp>,
        last_used_at: Option<Timestamp>,
    ) -> Self {
        let at = last_used_at.map_or(NEVER, |at| at.0);
        Self {
            user_id,
            credential,
            expires_at,
            used: Arc::new(LastUse {
                at: AtomicI64::new(at),
                written: AtomicI64::new(at),
            }),
        }
    }

    /// A user's tokens, sessions and the access tokens of their apps.
    pub(super) fn of_user(records: &UserRecords) -> Vec<(Hash, Self)> {
        let tokens = records.tokens.iter().map(|token| {
            let credential = Credential::Token {
                id: token.id,
                scopes: token.scopes.clone(),
                expires_at: token.expires_at,
            };
            let record = Self::new(
                token.user_id,
                credential,
                token.expires_at,
                token.last_used_at,
            );
            (token.hash, record)
        });
        let sessions = records.sessions.iter().map(|session| {
            let id = session.id;
            let credential = match session.must_enrol {
                true => Credential::Enrolment { id },
                false => Credential::Session { id },
            };
            let record = Self::new(
                session.user_id,
                credential,
                Some(session.expires_at),
                session.last_used_at,
            );
            (session.hash, record)
        });
        let app_tokens = records.app_tokens.iter().filter_map(|token| {
            let credential = Credential::App {
                grant_id: token.grant_id,
                scopes: token.scopes.routes()?,
            };
            let record = Self::new(token.user_id, credential, Some(token.expires_at), None);
            Some((token.hash, record))
        });
        tokens.chain(sessions).chain(app_tokens).collect()
    }

    /// A space's agent tokens. They act as the owner of the space.
    pub(super) fn of_space(tokens: &[OwnedAgentToken]) -> Vec<(Hash, Self)> {
        tokens
            .iter()
            .map(|token| {
                let credential = Credential::agent(token);
                let record = Self::new(token.owner_id, credential, None, None);
                (token.hash, record)
            })
            .collect()
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    pub(super) fn mark_used(&self, now: Timestamp) {
        let before = self.used.at.load(Ordering::Relaxed);
        if now.0.saturating_sub(before) >= USE_GRAIN_MILLIS {
            self.used.at.fetch_max(now.0, Ordering::Relaxed);
        }
    }

    pub(super) fn last_used(&self) -> Option<Timestamp> {
        let at = self.used.at.load(Ordering::Relaxed);
        (at != NEVER).then_some(Timestamp(at))
    }
}

#[derive(Default)]
pub(super) struct Credentials {
    by_hash: RandomKeyMap<Hash, Record>,
    of_user: HashMap<UserId, Vec<Hash>>,
    of_space: HashMap<SpaceId, Vec<Hash>>,
}

impl Credentials {
    pub(super) fn find(&self, key: &Hash) -> Option<&Record> {
        self.by_hash.get(key)
    }

    /// Spaces with agent tokens.
    pub(super) fn spaces(&self) -> Vec<SpaceId> {
        self.of_space.keys().copied().collect()
    }

    /// Replaces the tokens, sessions and app tokens of a user. Returns whether an earlier
    /// credential was removed.
    pub(super) fn set_of_user(&mut self, id: UserId, records: Vec<(Hash, Record)>) -> bool {
        let before = set_keys(&mut self.of_user, id, &records);
        self.replace(before, records)
    }

    /// Replaces the agent tokens of a space. Returns whether an earlier token was removed.
    pub(super) fn set_of_space(&mut self, id: SpaceId, records: Vec<(Hash, Record)>) -> bool {
        let before = set_keys(&mut self.of_space, id, &records);
        self.replace(before, records)
    }

    fn replace(&mut self, before: Vec<Hash>, records: Vec<(Hash, Record)>) -> bool {
        let mut earlier: HashMap<Hash, Record> = before
            .into_iter()
            .filter_map(|key| Some((key, self.by_hash.remove(&key)?)))
            .collect();
        for (key, mut record) in records {
            if let Some(earlier) = earlier.remove(&key) {
                record.used = earlier.used;
            }
            self.by_hash.insert(key, record);
        }
        !earlier.is_empty()
    }

    pub(super) fn take_used(&self) -> Vec<LastUseUpdate> {
        let mut used = Vec::new();
        for (key, record) in &self.by_hash {
            let at = record.used.at.load(Ordering::Relaxed);
            if record.used.written.swap(at, Ordering::Relaxed) != at {
                used.push(LastUseUpdate {
                    key: *key,
                    user: record.user_id,
                    credential: record.credential.clone(),
                    at: Timestamp(at),
                });
            }
        }
        used
    }

    pub(super) fn put_back_used(&self, used: &[LastUseUpdate]) {
        for record in used.iter().filter_map(|used| self.by_hash.get(&used.key)) {
            record.used.written.store(NEVER, Ordering::Relaxed);
        }
    }
}

/// Sets the keys of an owner and returns the earlier ones.
fn set_keys<K: Eq + std::hash::Hash>(
    keys_of: &mut HashMap<K, Vec<Hash>>,
    owner: K,
    records: &[(Hash, Record)],
) -> Vec<Hash> {
    let before = if records.is_empty() {
        keys_of.remove(&owner)
    } else {
        keys_of.insert(owner, records.iter().map(|(key, _)| *key).collect())
    };
    before.unwrap_or_default()
}

/// Stores times of last use, of credentials and of their users. Skips agent tokens: the state of the
/// agent's link says more.
pub(in crate::identity) fn write_used(
    tx: &mut Tx<'_>,
    used: &[LastUseUpdate],
) -> Result<(), StoreError> {
    for used in used {
        match &used.credential {
            Credential::Token { id, .. } => records::set_last_used::<TokenRow>(tx, *id, used.at)?,
            Credential::Session { id } | Credential::Enrolment { id } => {
                records::set_last_used::<SessionRow>(tx, *id, used.at)?;
            }
            Credential::App { grant_id, .. } => {
                records::set_last_used::<GrantRow>(tx, *grant_id, used.at)?;
            }
            Credential::Agent { .. } | Credential::Script | Credential::Process => continue,
        }
        users::set_last_seen(tx, used.user, used.at)?;
    }
    Ok(())
}
