//! Operations of users on spaces: create, read, change, start, stop, delete.

use std::{num::NonZeroU32, sync::Arc};

use serde_json::json;
use svc_core::{
    Permission, Quota, ServerId, SpaceId, SpaceName,
    space::{Health, Runtime, State, StopReason, Transition},
};
use svc_link::{Control, Goodbye};
use svc_protocol::api::{NewSpace, NumberedLine, Space, SpacePatch};
use svc_store::{
    Page, PageRequest, Store, StoreError, Tx,
    agent_tokens::{self, AgentTokenKind},
    lanes::Withdrawal,
    records,
    spaces::{self, SpaceRow},
    users,
    zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::{
    LogsElsewhere,
    access::{check_local, check_template_power, find_foreign_maker, managed},
    agent_tokens::{self as tokens, new_agent_token},
    local::LocalRuntime,
    record::{check_health_check, check_startup_script, find_template, new_row},
};
use crate::{
    events::{hub::Hub, subscriptions},
    identity::{Actor, Caller, Directory, Identity, check_one_more},
    lifecycle::{self, announce, append},
    links::Links,
    live::SpaceLogs,
    records::{RecordError, Result},
};

/// Records of deleted spaces kept per owner. Without a limit, creating and deleting spaces would
/// fill the database.
const DELETED_KEPT: NonZeroU32 = NonZeroU32::new(1_000).expect("not zero");

pub struct Spaces {
    pub store: Store,
    pub hub: Hub,
    pub identity: Identity,
    pub directory: Arc<Directory>,
    pub links: Arc<Links>,
    pub logs: Arc<SpaceLogs>,
    /// Logs of spaces that are linked to other servers.
    pub logs_elsewhere: LogsElsewhere,
    pub local: Arc<LocalRuntime>,
    pub allow_local: bool,
    pub wildcard_domain: Option<String>,
}

impl Spaces {
    /// Whether the caller may create spaces that this server runs itself.
    pub fn may_run_local(&self, caller: &Caller) -> bool {
        check_local(self.allow_local, caller.user.permissions).is_ok()
    }

    /// Creates a space. Only this answer contains its agent token.
    pub async fn create(&self, caller: &Caller, new: NewSpace) -> Result<Space> {
        tokens::check_may_make(caller)?;
        let name = SpaceName::parse(&new.name)?;
        check_health_check(new.health_check.as_ref())?;
        let runtime = new.runtime.unwrap_or(Runtime::External);
        let allow_local = self.allow_local;
        let id = SpaceId(Uuid::now_v7());
        let (agent_token, token_row) = new_agent_token(id, AgentTokenKind::Shown, None)?;
        let (owner, actor) = (caller.user.clone(), caller.user.name.to_string());
        let domain = self.wildcard_domain.clone();
        let by = caller.actor();
        let quotas = self.identity.quotas();
        let (row, events) = self
            .identity
            .change(caller, move |tx, caller| {
                let permissions = Actor::read(tx, caller)?.permissions;
                if runtime == Runtime::Local {
                    check_local(allow_local, permissions)?;
                }
                let template = find_template(tx, &new)?;
                check_template_power(tx, &new, template.as_ref(), permissions)?;
                check_startup_script(tx, owner.id, new.startup_script_id)?;
                if spaces::find_by_name(tx, owner.id, &name)?.is_some() {
                    return Err(RecordError::name_taken("space", name.as_str()));
                }
                let has = users::count_spaces(tx, owner.id)?;
                check_one_more(tx, &quotas, owner.id, Quota::Spaces, has)?;
                let row = new_row(id, &owner, name, runtime, &new, template, domain.as_deref());
                records::insert(tx, &row)?;
                agent_tokens::insert(tx, &token_row)?;
                let created = Transition::Created {
                    template_id: row.template_id,
                    startup_script_id: row.startup_script_id.map(|id| id.to_string()),
                };
                let events = announce(tx, &row, &created, by)?;
                append(
                    tx,
                    &actor,
                    "space.created",
                    row.id,
                    json!({"name": row.name, "runtime": runtime}),
                )?;
                tx.affects(ZoneChange::Space(row.id));
                Ok((row, events))
            })
            .await?;
        self.hub.committed(&events);
        if runtime == Runtime::Local {
            self.local.start(row.id, row.owner_id);
        }
        Ok(Space {
            agent_token: Some(agent_token),
            ..self.present(row)?
        })
    }

    pub async fn list(&self, caller: &Caller, page: PageRequest) -> Result<Page<Space>> {
        let all = caller.user.permissions.contains(Permission::ManageSpaces);
        let owner = (!all).then_some(caller.user.id);
        let page = self
            .store
            .read_list(caller.user.id, move |tx| spaces::list(tx, owner, page))
            .await?;
        let items = page.items.into_iter();
        Ok(Page {
            items: items.filter_map(|row| self.present(row).ok()).collect(),
            next_cursor: page.next_cursor,
        })
    }

    pub async fn get(&self, caller: &Caller, id: SpaceId) -> Result<Space> {
        let row = self.store.read(move |tx| spaces::get(tx, id)).await?;
        check_access(caller, &row)?;
        self.present(row)
    }

    pub async fn patch(&self, caller: &Caller, id: SpaceId, patch: SpacePatch) -> Result<Space> {
        let SpacePatch {
            health_check,
            startup_script_id: script,
        } = patch;
        check_health_check(health_check.iter().flatten().next())?;
        let row = self
            .identity
            .change(caller, move |tx, caller| {
                let row = managed(tx, caller, id)?;
                let check = health_check.map(Option::unwrap_or_default);
                let check = check.filter(|check| *check != row.health_check);
                let script = script.filter(|script| *script != row.startup_script_id);
                if check.is_none() && script.is_none() {
                    return Ok(row);
                }
                if let Some(check) = check {
                    spaces::update_health_check(tx, id, &check)?;
                    let by = find_foreign_maker(tx, caller, &row)?;
                    spaces::set_health_check_by(tx, id, by)?;
                    // Results of the old check do not apply to the new check.
                    spaces::set_health(tx, id, Health::Unknown)?;
                }
                if let Some(script) = script {
                    check_startup_script(tx, row.owner_id, script)?;
                    spaces::update_startup_script(tx, id, script)?;
                }
                append_audit(tx, caller, "space.updated", &row)?;
                tx.affects(ZoneChange::Space(id));
                Ok(spaces::get(tx, id)?)
            })
            .await?;
        let link = self.links.find(id).and_then(|live| live.link());
        if let Some(link) = link.filter(|link| !link.is_side()) {
            let health_check = row.health_check.clone();
            let _ = link.control(0, &Control::HealthCheckChanged { health_check });
        }
        self.present(row)
    }

    /// Accepts the agent of a stopped space again. If the server runs this agent, starts it.
    pub async fn start(&self, caller: &Caller, id: SpaceId) -> Result<Space> {
        let allow_local = self.allow_local;
        let row = self
            .identity
            .change(caller, move |tx, caller| {
                let row = managed(tx, caller, id)?;
                if row.runtime == Runtime::Local {
                    let owner = users::find_power(tx, row.owner_id)?;
                    let owner = owner.filter(|owner| owner.active);
                    let permissions = owner.map(|owner| owner.permissions);
                    check_local(allow_local, permissions.unwrap_or_default())?;
                }
                spaces::set_stop_reason(tx, id, None)?;
                append_audit(tx, caller, "space.started", &row)?;
                // The space is affected, because its agent token is accepted again.
                tx.affects(ZoneChange::Space(id));
                Ok(spaces::get(tx, id)?)
            })
            .await?;
        if row.runtime == Runtime::Local {
            self.local.start(id, row.owner_id);
        }
        self.present(row)
    }

    /// Stops a space and rejects its agent until the space is started again.
    pub async fn stop(&self, caller: &Caller, id: SpaceId) -> Result<Space> {
        let (row, events) = self
            .identity
            .change(caller, move |tx, caller| {
                let row = managed(tx, caller, id)?;
                let by = caller.actor();
                let events = lifecycle::stop(tx, id, StopReason::Requested, by)?;
                append_audit(tx, caller, "space.stopped", &row)?;
                // The space is affected, because its agent token is no longer accepted.
                tx.affects(ZoneChange::Space(id));
                Ok((spaces::get(tx, id)?, events))
            })
            .await?;
        self.hub.committed(&events);
        self.links.cut(id, Goodbye::SpaceStopped).await;
        self.local.stop(id).await;
        self.present(row)
    }

    pub async fn delete(&self, caller: &Caller, id: SpaceId) -> Result<()> {
        let events = self
            .identity
            .change(caller, move |tx, caller| {
                let row = managed(tx, caller, id)?;
                let at = svc_clock::now();
                spaces::mark_deleted(tx, id, at)?;
                spaces::prune_deleted(tx, id, DELETED_KEPT)?;
                subscriptions::withdraw_space(tx, id, Withdrawal::All)?;
                let by = caller.actor();
                let events = announce(tx, &row, &Transition::Deleted { at }, by)?;
                append_audit(tx, caller, "space.deleted", &row)?;
                tx.affects(ZoneChange::Space(id));
                Ok(events)
            })
            .await?;
        self.hub.committed(&events);
        self.links.cut(id, Goodbye::Revoked).await;
        self.local.stop(id).await;
        self.logs.forget(id);
        self.local.remove_folder(id).await;
        Ok(())
    }

    /// Replaces the agent token that was shown to a user, and ends the link of the old token.
    pub async fn rotate_agent_token(&self, caller: &Caller, id: SpaceId) -> Result<String> {
        tokens::rotate(&self.identity, caller, id).await
    }

    pub async fn logs(
        &self,
        caller: &Caller,
        id: SpaceId,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<NumberedLine>> {
        // A log shows the output of code that runs as the owner, so reading it requires the rights
        // to act on the space.
        let reading = caller.clone();
        let space = self
            .store
            .read(move |tx| Ok(managed(tx, &reading, id)))
            .await??;
        match space.node_id {
            Some(node) if node != self.links.server_id => {
                let elsewhere = &self.logs_elsewhere;
                let reading = elsewhere.read(caller.user.id, (node, id), after, limit);
                let found = reading.await?;
                found.ok_or_else(|| linked_elsewhere(node))
            }
            _ => Ok(self.logs.read(id, after, limit)),
        }
    }

    /// Converts a record for the API. If the owner was just deleted, the error is "not found".
    pub(super) fn present(&self, row: SpaceRow) -> Result<Space> {
        let owner = self
            .directory
            .find_user(row.owner_id)
            .ok_or_else(|| not_found(row.id))?;
        let folder = self.folder_of(&row);
        Ok(Space {
            registration: self.links.registration_of(row.id),
            id: row.id,
            name: row.name,
            owner_id: row.owner_id,
            owner: owner.name.clone(),
            state: row.state,
            stop_reason: row.stop_reason,
            stopped_at: row.stopped_at.filter(|_| row.state == State::Stopped),
            health: row.health,
            runtime: row.runtime,
            folder,
            template_id: row.template_id,
            startup_script_id: row.startup_script_id,
            space_urls: row.space_urls,
            node_id: row.node_id,
            linked: match row.node_id {
                // Linked to another server, as far as this server knows: the other server records a
                // lost link at the end of the grace period at the latest.
                Some(node) if node != self.links.server_id => true,
                _ => self
                    .links
                    .find(row.id)
                    .is_some_and(|live| live.link().is_some()),
            },
            health_check: row.health_check,
            created_at: row.created_at,
            agent_token: None,
        })
    }
}

impl Spaces {
    /// The folder of a space that this server runs.
    fn folder_of(&self, row: &SpaceRow) -> Option<String> {
        let is_here = row.node_id.is_none_or(|node| node == self.links.server_id);
        (row.runtime == Runtime::Local && is_here)
            .then(|| self.local.folder_of(row.id).display().to_string())
    }
}

/// The error for a space that does not exist, or that the caller may not see.
fn not_found(id: SpaceId) -> RecordError {
    RecordError::not_found("space", id)
}

/// The error for the log of a space whose server does not answer.
fn linked_elsewhere(node: ServerId) -> RecordError {
    let message = format!(
        "the agent of this space is linked to another server of the zone ({node}), which does not answer; try again, or send the request to that server: `svc server list` shows its address"
    );
    RecordError::new("linked_elsewhere", message)
}

fn append_audit(
    tx: &mut Tx<'_>,
    caller: &Caller,
    action: &'static str,
    row: &SpaceRow,
) -> Result<(), StoreError> {
    let detail = json!({"name": row.name});
    append(tx, &caller.user.name, action, row.id, detail)
}

/// For a space that the caller may not see, the error is "not found".
fn check_access(caller: &Caller, row: &SpaceRow) -> Result<()> {
    let is_own = row.owner_id == caller.user.id;
    if is_own || caller.user.permissions.contains(Permission::ManageSpaces) {
        Ok(())
    } else {
        Err(not_found(row.id))
    }
}
