//! How a change is made: one transaction, then the directory takes it in, then the answer.

use svc_core::{SpaceId, UserId};

use super::{Identity, directory::UserRecords, error::IdentityError};
use crate::store::{StoreError, Tx, agent_tokens, groups};

/// What of the directory a change touches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Affected {
    users: Vec<UserId>,
    spaces: Vec<SpaceId>,
    groups: bool,
}

impl Affected {
    /// Nothing the directory holds.
    pub fn none() -> Self {
        Self::default()
    }

    /// A user, their tokens and sessions.
    pub fn user(id: UserId) -> Self {
        Self::users(vec![id])
    }

    pub fn users(users: Vec<UserId>) -> Self {
        Self {
            users,
            ..Self::default()
        }
    }

    /// A space's agent tokens.
    pub fn space(id: SpaceId) -> Self {
        Self {
            spaces: vec![id],
            ..Self::default()
        }
    }

    /// The list of groups, and these members of them.
    pub fn groups(members: Vec<UserId>) -> Self {
        Self {
            users: members,
            groups: true,
            ..Self::default()
        }
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.users.extend(other.users);
        self.spaces.extend(other.spaces);
        self.groups |= other.groups;
        self.users.sort_unstable();
        self.users.dedup();
        self.spaces.sort_unstable();
        self.spaces.dedup();
    }
}

impl Identity {
    /// Makes a change: `work` is one transaction and says what of the directory it touches. When
    /// this answers, the change is durable and in effect.
    ///
    /// It runs to its end even if the request is dropped meanwhile: a committed revocation that
    /// the directory never heard of would go on letting in.
    pub async fn change<T, E>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<(T, Affected), E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let identity = self.clone();
        let change = self.changes.spawn(async move {
            let (answer, affected) = identity.store.try_write(work).await?;
            identity.refresh(affected).await?;
            Ok(answer)
        });
        change
            .await
            .unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Takes what is affected into the directory, with whatever an earlier refresh could not.
    pub(super) async fn refresh(&self, affected: Affected) -> Result<(), StoreError> {
        let _refreshing = self.refreshing.lock().await;
        let mut wanted = std::mem::take(&mut *self.pending.lock());
        wanted.merge(affected);
        if wanted.is_none() {
            return Ok(());
        }
        let reading = wanted.clone();
        let read = self.store.read(move |tx| {
            let users = reading
                .users
                .iter()
                .map(|&id| UserRecords::read(tx, id))
                .collect::<Result<Vec<_>, _>>()?;
            let spaces = reading
                .spaces
                .iter()
                .map(|&id| Ok((id, agent_tokens::list_of_space(tx, id)?)))
                .collect::<Result<Vec<_>, StoreError>>()?;
            let groups = reading.groups.then(|| groups::list_all(tx)).transpose()?;
            Ok((users, spaces, groups))
        });
        let (users, spaces, groups) = match read.await {
            Ok(read) => read,
            Err(error) => {
                tracing::error!(%error, "the directory could not take in a change; it is tried again");
                self.pending.lock().merge(wanted);
                return Err(error);
            }
        };
        if let Some(groups) = groups {
            self.directory.apply_groups(groups);
        }
        for records in users {
            self.directory.apply_user(records);
        }
        for (id, tokens) in spaces {
            self.directory.apply_space(id, &tokens);
        }
        Ok(())
    }

    /// [`change`](Self::change) for the services of identity, whose closures use `?` freely.
    pub(super) async fn apply<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<(T, Affected), IdentityError> + Send + 'static,
    ) -> Result<T, IdentityError> {
        self.change(work).await
    }
}
