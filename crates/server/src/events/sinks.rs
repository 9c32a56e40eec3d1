//! Management of sinks: create, change, delete, test, list deliveries, resend, replay.
//!
//! A user manages their own sinks, and with `manage_global_event_sinks` the global sinks too, but
//! never the sinks of another user (spec 6.6). A global sink acts for the user who created it:
//! other users need every permission of that user to change, delete or test it, to resend or replay
//! events, or to read its deliveries.
//!
//! Every change and its audit entry are one transaction. A secret appears only in the answer to the
//! request that sets it, never in an audit entry. Queued events are delivered by the delivery
//! engine, never by this module.

pub mod check;
mod origin;
mod programs;
mod queue;
mod record;
mod recovery;
mod resend;
mod script;
mod secret;
mod trial;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Value, json};
use svc_core::{Permission, Quota, Quotas, SinkId, power::SavedPower};
use svc_protocol::api::{NewSink, Sink, SinkOwner, SinkPatch, SinkType};
use svc_store::{
    Page, PageRequest, Store, StoreError, Tx,
    records::{self, set_saved_power},
    sinks::{self, GLOBAL, SinkConfig, SinkRow},
};
use uuid::Uuid;

use self::{
    programs::Programs,
    record::{describe, record},
};
use super::{deliver::Deliverers, hub::Hub, sink_secrets::origin_of};
use crate::secrets;
use crate::{
    identity::{Actor, Caller, Change, Writer, check_one_more, delete_sink, difference},
    limits::TrialLimits,
    records::{RecordError, Result, check_name_free},
};

/// What [`Caller::reject_code`] names.
const GLOBAL_SINK: &str = "a global event sink";

pub struct SinksService {
    pub store: Store,
    pub writer: Writer,
    pub hub: Hub,
    /// Renders and sends. Also holds the key that encrypts secrets.
    pub deliverers: Arc<Deliverers>,
    pub trials: Arc<TrialLimits>,
    pub quotas: Quotas,
}

impl SinksService {
    pub async fn list(&self, caller: &Caller, page: PageRequest) -> Result<Page<Sink>> {
        let keys = owner_keys(caller);
        let page = self.store.read_list(caller.user.id, move |tx| {
            let page = sinks::list(tx, &keys, page)?;
            page.try_map(|row| record(tx, row))
        });
        Ok(page.await?)
    }

    pub async fn get(&self, caller: &Caller, id: SinkId) -> Result<Sink> {
        let manager = caller.clone();
        let found = self.store.read(move |tx| {
            let row = find_managed(tx, &manager, id)?;
            row.map(|row| record(tx, row)).transpose()
        });
        found.await?.ok_or_else(|| not_found(id))
    }

    /// Creates a sink. Only this answer contains the webhook's secret.
    pub async fn create(&self, caller: &Caller, new: NewSink) -> Result<Sink> {
        if new.owner == SinkOwner::Global {
            if !caller.may(Permission::ManageGlobalEventSinks) {
                return Err(global_denied());
            }
            caller.reject_code(GLOBAL_SINK)?;
        }
        check::name_and_description(&new.name, &new.description)?;
        let patterns = check::patterns(&new.patterns)?;
        let config = check::new_config(&new)?;
        let policy = check::policy(new.delivery.unwrap_or_default(), new.r#type)?;
        let programs = Programs {
            template: config.body_template().map(str::to_owned),
            filter: policy.filter.clone(),
            key: policy.key.clone(),
        };
        self.check_programs(caller, new.r#type, programs).await?;
        if let SinkConfig::Script(script) = &config {
            self.check_source(caller, &new.name, script.source.as_deref())
                .await?;
        }
        let id = SinkId(Uuid::now_v7());
        let secret = new.webhook.map(|webhook| {
            let given = webhook.secret;
            given.unwrap_or_else(secrets::new_webhook_secret)
        });
        let mut row = SinkRow {
            id,
            owner_key: match new.owner {
                SinkOwner::User => sinks::owner_key(caller.user.id),
                SinkOwner::Global => GLOBAL.to_owned(),
            },
            owner_id: caller.user.id,
            name: new.name,
            description: new.description,
            patterns,
            kind: new.r#type,
            active: new.active,
            config,
            policy,
            paused: None,
            secret: None,
            previous_secret: None,
            previous_until: None,
            sealed_headers: None,
            sealed_client_key: None,
            created_at: svc_clock::now(),
        };
        if let Some(text) = &secret {
            let sealed = secret::seal_signing_secret(&self.deliverers, &row, text)?;
            row.secret = Some(sealed);
        }
        secret::seal_headers(&self.deliverers, &mut row)?;
        secret::seal_client_key(&self.deliverers, &mut row)?;
        let quotas = self.quotas;
        let mut sink = self
            .writer
            .change(caller, move |tx, caller| {
                let actor = Actor::read(tx, caller)?;
                check_may_own(&actor, &row)?;
                check_name_free(tx, &row)?;
                check_quota(tx, &quotas, &row)?;
                script::check_stored_script(tx, &row)?;
                sinks::insert(tx, &row)?;
                set_saved_power::<SinkRow>(tx, row.id, SavedPower::of(actor.permissions))?;
                audit(tx, caller, "event_sink.created", &row, describe(&row))?;
                Ok(record(tx, row)?)
            })
            .await?;
        if let Some(webhook) = &mut sink.webhook {
            webhook.secret = secret;
        }
        Ok(sink)
    }

    /// Applies a merge patch. The change also applies to deliveries that are already queued. If the
    /// URL of a webhook gets another origin, only this answer contains the new signing secret.
    pub async fn patch(&self, caller: &Caller, id: SinkId, patch: SinkPatch) -> Result<Sink> {
        if let Some(script) = &patch.script {
            let name = patch.name.as_deref().unwrap_or("sink");
            let source = script.get("source").and_then(Value::as_str);
            self.check_source(caller, name, source).await?;
        }
        self.check_patched_programs(caller, id, &patch).await?;
        let deliverers = self.deliverers.clone();
        let changed = self
            .writer
            .change(caller, move |tx, caller| {
                let (actor, before) = managed(tx, caller, id)?;
                let given = origin::signing_secret(&patch);
                let mut after = apply_patch(&before, patch)?;
                let mut new_secret = None;
                if origin_of(&after) != origin_of(&before) {
                    let secret = secret::replace_signing_secret(&deliverers, &mut after, given)?;
                    new_secret = Some(secret);
                }
                let headers = after.config.webhook().map(|webhook| &webhook.headers);
                if headers != before.config.webhook().map(|webhook| &webhook.headers) {
                    secret::seal_headers(&deliverers, &mut after)?;
                }
                secret::seal_client_key(&deliverers, &mut after)?;
                check_name_free(tx, &after)?;
                script::check_script_change(tx, caller, &before, &after)?;
                sinks::update(tx, &after)?;
                set_saved_power::<SinkRow>(tx, id, SavedPower::of(actor.permissions))?;
                if is_edited(&before, &after) {
                    let detail = difference(&describe(&before), describe(&after));
                    audit(tx, caller, "event_sink.updated", &after, detail)?;
                }
                if before.active != after.active {
                    let action = match after.active {
                        true => "event_sink.enabled",
                        false => "event_sink.disabled",
                    };
                    let detail = json!({"name": after.name});
                    audit(tx, caller, action, &after, detail)?;
                }
                let mut sink = record(tx, after)?;
                if let Some(webhook) = &mut sink.webhook {
                    webhook.secret = new_secret;
                }
                Ok(sink)
            })
            .await?;
        self.hub.sinks_changed();
        Ok(changed)
    }

    /// Deletes a sink with its queue. The audit entry has the number of queued deliveries.
    pub async fn delete(&self, caller: &Caller, id: SinkId) -> Result<()> {
        self.writer
            .change(caller, move |tx, caller| {
                let (_, row) = managed(tx, caller, id)?;
                delete_sink(tx, row.id, caller.user.name.as_str(), svc_clock::now())?;
                Ok(())
            })
            .await?;
        self.hub.sinks_changed();
        Ok(())
    }

    /// Reads a sink that the caller may act on.
    async fn read_managed(&self, caller: &Caller, id: SinkId) -> Result<SinkRow> {
        let caller = caller.clone();
        let found = self.store.read(move |tx| Ok(managed(tx, &caller, id)));
        found.await?.map(|(_, row)| row)
    }
}

/// The owner keys of the sinks that a caller manages.
pub fn owner_keys(caller: &Caller) -> Vec<String> {
    let own = sinks::owner_key(caller.user.id);
    if caller.may(Permission::ManageGlobalEventSinks) {
        vec![own, GLOBAL.to_owned()]
    } else {
        vec![own]
    }
}

/// Finds a sink that the caller manages. Returns `None` for any other sink.
fn find_managed(
    tx: &mut Tx<'_>,
    caller: &Caller,
    id: SinkId,
) -> Result<Option<SinkRow>, StoreError> {
    let keys = owner_keys(caller);
    Ok(records::find::<SinkRow>(tx, id)?.filter(|row| keys.contains(&row.owner_key)))
}

/// A sink that the caller may change or make send. Code may not do this with a global sink, because
/// the sink acts on the events of all users.
fn managed(tx: &mut Tx<'_>, caller: &Caller, id: SinkId) -> Result<(Actor, SinkRow)> {
    let (actor, row) = readable(tx, caller, id)?;
    if row.is_global() {
        caller.reject_code(GLOBAL_SINK)?;
    }
    Ok((actor, row))
}

/// A sink whose deliveries the caller may read. For a global sink, the caller needs every
/// permission of its creator.
fn readable(tx: &mut Tx<'_>, caller: &Caller, id: SinkId) -> Result<(Actor, SinkRow)> {
    let row = find_managed(tx, caller, id)?.ok_or_else(|| not_found(id))?;
    let actor = Actor::read(tx, caller)?;
    check_may_own(&actor, &row)?;
    actor.check_user(tx, row.owner_id)?;
    Ok((actor, row))
}

fn check_may_own(actor: &Actor, row: &SinkRow) -> Result<()> {
    match row.is_global() && !actor.may(Permission::ManageGlobalEventSinks) {
        true => Err(global_denied()),
        false => Ok(()),
    }
}

/// Limits the number of sinks, because every event of the owner is compared with each sink, and one
/// delivery is written for each match. Global sinks are counted together, against the server's
/// default quota.
fn check_quota(tx: &mut Tx<'_>, quotas: &Quotas, row: &SinkRow) -> Result<()> {
    let has = records::count::<SinkRow>(tx, &row.owner_key)?;
    match row.owner_key == GLOBAL {
        true => Ok(quotas.check(Quota::Sinks, has + 1)?),
        false => check_one_more(tx, quotas, row.owner_id, Quota::Sinks, has),
    }
}

fn not_found(id: SinkId) -> RecordError {
    RecordError::not_found("event sink", id)
}

fn global_denied() -> RecordError {
    RecordError::new(
        "permission_denied",
        "you need the permission `manage_global_event_sinks` for a global sink; leave `owner` out for a sink of your own",
    )
}

/// Whether a field other than `active` changed.
fn is_edited(before: &SinkRow, after: &SinkRow) -> bool {
    let active = after.active;
    SinkRow {
        active,
        ..before.clone()
    } != *after
}

fn apply_patch(before: &SinkRow, patch: SinkPatch) -> Result<SinkRow> {
    let SinkPatch {
        name,
        description,
        patterns,
        active,
        webhook,
        script,
        json_rpc,
        delivery,
    } = patch;
    let mut after = before.clone();
    if let Some(name) = name {
        after.name = name;
    }
    if let Some(description) = description {
        after.description = description;
    }
    check::name_and_description(&after.name, &after.description)?;
    if let Some(patterns) = patterns {
        after.patterns = check::patterns(&patterns)?;
    }
    let is_corrected = before.paused.as_ref().is_some_and(|pause| {
        let changes = [&delivery, &webhook];
        pause.until_corrected && changes.into_iter().any(Option::is_some)
    });
    if let Some(active) = active.or(is_corrected.then_some(true)) {
        after.active = active;
        after.paused = None;
    }
    if let Some(change) = delivery {
        after.policy = check::merged_policy(&before.policy, &change, before.kind)?;
    }
    let parts = [
        ("webhook", webhook, SinkType::Webhook),
        ("script", script, SinkType::Script),
        ("json_rpc", json_rpc, SinkType::JsonRpc),
    ];
    for (part, change, kind) in parts {
        let Some(change) = change else { continue };
        if kind != before.kind {
            return Err(check::wrong_part(part, before.kind));
        }
        after.config = check::merged_config(&before.config, &change)?;
    }
    Ok(after)
}

fn audit(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    action: &'static str,
    row: &SinkRow,
    detail: Value,
) -> Result<()> {
    Ok(tx.audit(caller, action, ("event_sink", row.id), detail)?)
}
