//! Reads the directory from the store: all its records, or the records of one user.

use std::collections::HashMap;

use svc_core::{SpaceId, UserId};
use svc_protocol::api::Group;
use svc_store::{
    StoreError, Tx,
    agent_tokens::{self, OwnedAgentToken},
    oauth::tokens::{self as app_tokens, AppTokenRow},
    records,
    sessions::SessionRow,
    tokens::TokenRow,
    users::{self, Profile},
};

/// A user with their tokens, sessions and the access tokens of their apps.
pub(in crate::identity) struct UserRecords {
    pub(super) id: UserId,
    /// `None` if the user was deleted.
    pub(in crate::identity) profile: Option<Profile>,
    pub(super) tokens: Vec<TokenRow>,
    pub(super) sessions: Vec<SessionRow>,
    pub(super) app_tokens: Vec<AppTokenRow>,
}

impl UserRecords {
    /// The records of a deleted user.
    pub(super) fn deleted(id: UserId) -> Self {
        Self {
            id,
            profile: None,
            tokens: Vec::new(),
            sessions: Vec::new(),
            app_tokens: Vec::new(),
        }
    }

    pub(in crate::identity) fn read(tx: &mut Tx<'_>, id: UserId) -> Result<Self, StoreError> {
        Ok(Self {
            id,
            profile: users::find_profile(tx, id)?,
            tokens: records::list_of::<TokenRow>(tx, &id)?,
            sessions: records::list_of::<SessionRow>(tx, &id)?,
            app_tokens: app_tokens::list_of_user(tx, id)?,
        })
    }
}

/// The whole directory at one moment.
pub(in crate::identity) struct Snapshot {
    pub(super) users: Vec<UserRecords>,
    pub(super) groups: Vec<Group>,
    pub(super) agent_tokens: HashMap<SpaceId, Vec<OwnedAgentToken>>,
}

impl Snapshot {
    pub(in crate::identity) fn read(tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        let mut tokens: HashMap<UserId, Vec<TokenRow>> = HashMap::new();
        for token in records::list_all::<TokenRow>(tx)? {
            tokens.entry(token.user_id).or_default().push(token);
        }
        let mut sessions: HashMap<UserId, Vec<SessionRow>> = HashMap::new();
        for session in records::list_all::<SessionRow>(tx)? {
            sessions.entry(session.user_id).or_default().push(session);
        }
        let mut app_tokens: HashMap<UserId, Vec<AppTokenRow>> = HashMap::new();
        for token in app_tokens::list_all(tx)? {
            app_tokens.entry(token.user_id).or_default().push(token);
        }
        let mut agent_tokens: HashMap<SpaceId, Vec<OwnedAgentToken>> = HashMap::new();
        for token in agent_tokens::list_all(tx)? {
            agent_tokens.entry(token.space_id).or_default().push(token);
        }
        let users = users::list_all_profiles(tx)?
            .into_iter()
            .map(|profile| UserRecords {
                id: profile.id,
                tokens: tokens.remove(&profile.id).unwrap_or_default(),
                sessions: sessions.remove(&profile.id).unwrap_or_default(),
                app_tokens: app_tokens.remove(&profile.id).unwrap_or_default(),
                profile: Some(profile),
            })
            .collect();
        Ok(Self {
            users,
            groups: records::list_all::<Group>(tx)?,
            agent_tokens,
        })
    }
}
