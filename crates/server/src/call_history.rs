//! Reads the call journal: lists, single calls, summaries and streams of new calls. [`access`] decides
//! which calls and fields a user sees.

mod access;
mod detail;
mod stream;
mod summary;

pub use stream::{CallStream, CallStreamItem};

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use svc_core::{Id, SpaceId, SpaceName, UserId, visibility::resolve};
use svc_protocol::api::{Call, CallDetail, CallQuery, Calls};
use svc_store::{
    PageRequest, Store, StoreError, Tx,
    calls::{self, CallFilter, CallPage, FoundCall},
    records,
    spaces::SpaceRow,
};
use tokio_util::sync::CancellationToken;

use self::{
    access::{reach, sees_payloads, show},
    detail::detail,
};
use crate::{
    identity::{Caller, Directory},
    journal::Journal,
    records::{RecordError, Result},
    streams::Streams,
};

/// The start of the visible name of another user's method.
const USER_PREFIX: &str = "user.";

pub struct CallHistory {
    pub store: Store,
    pub directory: Arc<Directory>,
    pub journal: Arc<Journal>,
    /// Counts open streams.
    pub streams: Streams,
    /// Cancelled when the server stops; ends every stream.
    pub shutdown: CancellationToken,
}

impl CallHistory {
    /// Lists calls, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        query: CallQuery,
        page: PageRequest,
    ) -> Result<Calls> {
        let dropped = self.journal.count_dropped(match reach(caller) {
            calls::Reach::All => None,
            calls::Reach::Of(user) => Some(user),
        });
        let found = match self.filter(caller, query) {
            Some(filter) => self.read(caller, filter, page).await?,
            None => FoundPage::default(),
        };
        Ok(Calls {
            calls: found.calls,
            next_cursor: found.next_cursor,
            dropped,
            incomplete: found.incomplete,
        })
    }

    /// One call, with its recorded params and answer if the caller may see them.
    pub async fn get(&self, caller: &Caller, id: Id) -> Result<CallDetail> {
        let (reach, reader) = (reach(caller), caller.user.id);
        let read = move |tx: &mut Tx<'_>| {
            let Some(found) = calls::find(tx, reach, id)? else {
                return Ok(None);
            };
            let names = space_names(tx, std::iter::once(&found))?;
            let payload = match sees_payloads(reader, &found) {
                true => calls::find_payload(tx, found.owner, id)?,
                false => None,
            };
            Ok(Some((found, names, payload)))
        };
        let found = self.store.read_list(caller.user.id, read).await?;
        let (found, names, payload) = found.ok_or_else(|| {
            RecordError::NotFound(format!(
                "call `{id}` does not exist, is past its retention, or is not written yet"
            ))
        })?;
        let call = show(caller, &self.directory, &names, &found);
        Ok(detail(call, payload))
    }

    async fn read(
        &self,
        caller: &Caller,
        filter: CallFilter,
        page: PageRequest,
    ) -> Result<FoundPage, StoreError> {
        let reach = reach(caller);
        let read = move |tx: &mut Tx<'_>| {
            let page = calls::list(tx, reach, &filter, page)?;
            let names = space_names(tx, page.calls.iter())?;
            Ok((page, names))
        };
        let (page, names) = self.store.read_list(caller.user.id, read).await?;
        let CallPage {
            calls,
            next_cursor,
            incomplete,
        } = page;
        let show = |call: &FoundCall| show(caller, &self.directory, &names, call);
        Ok(FoundPage {
            calls: calls.iter().map(show).collect(),
            next_cursor,
            incomplete,
        })
    }

    /// The filter for a query. `None` if the query names a user who does not exist: no call can
    /// match.
    fn filter(&self, caller: &Caller, query: CallQuery) -> Option<CallFilter> {
        let user = |reference: Option<String>| match reference {
            Some(reference) => self.find_user(&reference).map(Some),
            None => Some(None),
        };
        let mut owner = user(query.owner)?;
        let mut method = query.method;
        if let Some(name) = method.as_ref().filter(|name| name.starts_with(USER_PREFIX)) {
            let find_owner = |name: &str| self.directory.find_active_user(name);
            // If the name does not resolve, the filter keeps it: the journal stores unknown names
            // as they were sent.
            if let Some((found, canonical)) = resolve(caller.user.id, name, find_owner)
                && found != caller.user.id
            {
                (owner, method) = (owner.or(Some(found)), Some(canonical.to_owned()));
            }
        }
        Some(CallFilter {
            id: None,
            owner,
            caller: user(query.caller)?,
            method,
            space: query.space_id,
            end: query.outcome,
            code: query.code,
            via: query.via,
            since: query.since,
            until: query.until,
            duration_us_min: query.min_duration_ms.map(|ms| ms.saturating_mul(1_000)),
        })
    }

    /// A user by name or id.
    fn find_user(&self, reference: &str) -> Option<UserId> {
        match reference.parse() {
            Ok(id) => Some(id),
            Err(_) => Some(self.directory.find_user_by_name(reference)?.id),
        }
    }
}

#[derive(Default)]
struct FoundPage {
    calls: Vec<Call>,
    next_cursor: Option<String>,
    incomplete: bool,
}

type SpaceNames = HashMap<SpaceId, SpaceName>;

/// The current names of the spaces of calls.
fn space_names<'a>(
    tx: &mut Tx<'_>,
    calls: impl Iterator<Item = &'a FoundCall>,
) -> Result<SpaceNames, StoreError> {
    let mut names = SpaceNames::new();
    let spaces: HashSet<_> = calls.filter_map(|call| call.row.space).collect();
    for space in spaces {
        if let Some(row) = records::find::<SpaceRow>(tx, space)? {
            names.insert(space, row.name);
        }
    }
    Ok(names)
}
