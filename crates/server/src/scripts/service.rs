//! Manages scripts for users.
//!
//! Users see their own scripts and the global ones. A request about a script of another user fails
//! as if the script did not exist. Changing a global script requires `manage_scripts`. A change and
//! its audit entry are one transaction. Audit entries never contain the source.
//!
//! A global script runs as each user who uses it. Changing a global script requires every
//! permission of the user who made it, and of the users whose spaces and sinks use it. A global
//! script runs for a user only if the author of the last change held every permission of that user.

use std::sync::Arc;

use svc_core::{Permission, Permissions, Quota, Quotas, ScriptId};
use svc_pool::{Cancelled, FairPool};
use svc_protocol::api::{NewScript, Script, ScriptKind, ScriptOwner, ScriptPatch, ScriptQuery};
use svc_script::Source;
use svc_store::{Page, PageRequest, Store, Tx, records, scripts, zone_changes::ZoneChange};
use uuid::Uuid;

use super::{
    Libraries, ScriptRunner, StoredTools, check,
    power::{record_saved_power, withheld_from},
};
use crate::{
    identity::{Actor, Caller, Change, Credential, Writer, check_one_more, name_uses},
    limits::TrialLimits,
    records::{RecordError, Result, check_description, check_name_free, settings_of},
};

pub struct Scripts {
    pub store: Store,
    pub writer: Writer,
    pub runner: Arc<ScriptRunner>,
    /// Checks schemas.
    pub compute: FairPool,
    /// The list of tools, refreshed after every change.
    pub tools: Arc<StoredTools>,
    pub trials: Arc<TrialLimits>,
    pub quotas: Quotas,
}

impl Scripts {
    pub async fn list(
        &self,
        caller: &Caller,
        query: ScriptQuery,
        page: PageRequest,
    ) -> Result<Page<Script>> {
        let who = caller.clone();
        let list = self.store.read_list(caller.user.id, move |tx| {
            let mut page = scripts::list(tx, who.user.id, &query, page)?;
            if is_agent(&who) {
                let held = who.user.permissions;
                let mut withheld = scripts::list_global_powers(tx)?;
                withheld.retain(|(_, power)| power.check(held).is_err());
                let is_withheld = |script: &Script| withheld.iter().any(|(id, _)| *id == script.id);
                page.items.retain(|script| !is_withheld(script));
            }
            Ok(page)
        });
        Ok(list.await?)
    }

    pub async fn get(&self, caller: &Caller, id: ScriptId) -> Result<Script> {
        let who = caller.clone();
        let found = self.store.read(move |tx| {
            let Some(script) = scripts::find_visible(tx, id, who.user.id)? else {
                return Ok(Err(RecordError::not_found("script", id)));
            };
            let withheld = match is_agent(&who) {
                true => withheld_from(tx, &script, who.user.id)?,
                false => None,
            };
            Ok(withheld.map_or(Ok(script), Err))
        });
        found.await?
    }

    pub async fn create(&self, caller: &Caller, new: NewScript) -> Result<Script> {
        check_may_own(caller.user.permissions, new.owner)?;
        check::name(new.kind, &new.name)?;
        let script = new_script(caller, new);
        reject_code(caller, &script)?;
        self.check_texts_and_schema(caller, &script).await?;
        self.check_source(caller, &script).await?;
        let quotas = self.quotas;
        self.writer
            .change(caller, move |tx, who| {
                let actor = Actor::read(tx, who)?;
                check_may_own(actor.permissions, script.owner)?;
                check_name_free(tx, &script)?;
                check_quota(tx, &quotas, &script)?;
                records::insert(tx, &script)?;
                record_saved_power(tx, &actor, &script)?;
                finish(tx, who, "script.created", &script)?;
                Ok(script)
            })
            .await
    }

    /// Changes a script. Its users get the new version at the next run.
    pub async fn patch(&self, caller: &Caller, id: ScriptId, patch: ScriptPatch) -> Result<Script> {
        let before = self.get(caller, id).await?;
        check_may_own(caller.user.permissions, before.owner)?;
        reject_code(caller, &before)?;
        let after = patched(before, patch.clone())?;
        check::name(after.kind, &after.name)?;
        self.check_texts_and_schema(caller, &after).await?;
        // Slow, so outside the transaction. A concurrent patch checks its own source.
        if patch.source.is_some() {
            self.check_source(caller, &after).await?;
        }
        self.writer
            .change(caller, move |tx, who| {
                let (actor, before) = managed(tx, who, id)?;
                let after = patched(before.clone(), patch)?;
                check_name_free(tx, &after)?;
                record_saved_power(tx, &actor, &after)?;
                let updated_at = before.updated_at;
                if (Script {
                    updated_at,
                    ..after.clone()
                }) == before
                {
                    return Ok(before);
                }
                records::replace(tx, &after)?;
                finish(tx, who, "script.updated", &after)?;
                Ok(after)
            })
            .await
    }

    /// Checks the texts, and the schema on the compute pool: checking a large schema takes long.
    async fn check_texts_and_schema(&self, caller: &Caller, script: &Script) -> Result<()> {
        check_description(&script.description)?;
        check::title_and_annotations(script)?;
        let (kind, schema) = (script.kind, script.params_schema.clone());
        if schema.is_none() {
            return Ok(());
        }
        let check = move |_: &Cancelled| check::params_schema(kind, schema.as_ref());
        self.compute.run(caller.user.id, check).await?
    }

    pub(super) async fn check_source(&self, caller: &Caller, script: &Script) -> Result<()> {
        let file = format!("{}.py", script.name);
        let source = script.source.clone();
        Ok(self.runner.check_source(caller, file, source).await?)
    }

    pub async fn delete(&self, caller: &Caller, id: ScriptId) -> Result<()> {
        self.writer
            .change(caller, move |tx, who| {
                let (_, script) = managed(tx, who, id)?;
                let uses = scripts::list_uses(tx, id)?;
                if !uses.is_empty() {
                    let (name, by) = (&script.name, name_uses(who, false, &uses));
                    let message = format!("script `{name}` is used by {by}; change those first");
                    return Err(RecordError::new("in_use", message));
                }
                records::delete::<Script>(tx, id)?;
                finish(tx, who, "script.deleted", &script)
            })
            .await
    }
}

/// Where the imports of a stored script are found.
pub fn libraries_of(script: &Script) -> Libraries {
    match script.owner {
        ScriptOwner::User => Libraries::Of(script.owner_id),
        ScriptOwner::Global => Libraries::Global,
    }
}

/// The source of a stored script, with the file name for tracebacks.
pub fn source_of(script: Script) -> Source {
    Source {
        file: format!("{}.py", script.name),
        text: script.source,
    }
}

pub(super) fn check_may_own(held: Permissions, owner: ScriptOwner) -> Result<()> {
    match owner {
        ScriptOwner::Global if !held.contains(Permission::ManageScripts) => Err(RecordError::new(
            "permission_denied",
            "this needs the permission `manage_scripts`; ask an administrator for a role with it, or leave `owner` out for a script of your own",
        )),
        ScriptOwner::Global | ScriptOwner::User => Ok(()),
    }
}

/// Returns a script that the caller may change. For a script that the caller cannot see, the error
/// is "not found".
fn managed(tx: &mut Tx<'_>, caller: &Caller, id: ScriptId) -> Result<(Actor, Script)> {
    let found = scripts::find_visible(tx, id, caller.user.id)?;
    let script = found.ok_or_else(|| RecordError::not_found("script", id))?;
    let actor = Actor::read(tx, caller)?;
    check_may_own(actor.permissions, script.owner)?;
    reject_code(caller, &script)?;
    if scripts::list_uses(tx, id)?
        .iter()
        .any(|used| used.owner.is_none())
    {
        caller.reject_code("a script that a global event sink or a template uses")?;
    }
    if script.owner == ScriptOwner::Global {
        actor.check_user(tx, script.owner_id)?;
        actor.check_script_users(tx, id)?;
    }
    Ok((actor, script))
}

/// Rejects code that would change what other spaces execute (startup scripts, libraries) or what
/// runs for other users (global scripts).
fn reject_code(caller: &Caller, script: &Script) -> Result<()> {
    match (script.owner, script.kind) {
        (ScriptOwner::Global, _) => caller.reject_code("a global script"),
        (_, ScriptKind::Startup) => caller.reject_code("a startup script"),
        (_, ScriptKind::Library) => caller.reject_code("a library"),
        (ScriptOwner::User, ScriptKind::Sink | ScriptKind::Tool) => Ok(()),
    }
}

/// Whether the caller is an agent. An agent reads scripts in order to run them, so it does not get
/// a global script that may not run for its user. Other callers read scripts only to review them.
fn is_agent(caller: &Caller) -> bool {
    matches!(caller.credential, Credential::Agent { .. })
}

/// A script that belongs to the caller, and is not stored yet.
pub(super) fn new_script(caller: &Caller, new: NewScript) -> Script {
    let now = svc_clock::now();
    Script {
        id: ScriptId(Uuid::now_v7()),
        name: new.name,
        kind: new.kind,
        owner: new.owner,
        owner_id: caller.user.id,
        title: new.title,
        description: new.description,
        annotations: new.annotations,
        source: new.source,
        params_schema: new.params_schema,
        created_at: now,
        updated_at: now,
    }
}

fn patched(mut script: Script, patch: ScriptPatch) -> Result<Script> {
    patch.apply(&mut script)?;
    script.updated_at = svc_clock::now();
    Ok(script)
}

/// Global scripts are counted together, against the server's quota.
pub(super) fn check_quota(tx: &mut Tx<'_>, quotas: &Quotas, script: &Script) -> Result<()> {
    let has = records::count::<Script>(tx, &scripts::owner_key(script))?;
    match script.owner {
        ScriptOwner::Global => Ok(quotas.check(Quota::Scripts, has + 1)?),
        ScriptOwner::User => check_one_more(tx, quotas, script.owner_id, Quota::Scripts, has),
    }
}

/// Records a change: in the audit log, and for the copies of tool scripts in memory.
fn finish(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    action: &'static str,
    script: &Script,
) -> Result<()> {
    if script.kind == ScriptKind::Tool {
        tx.affects(ZoneChange::Tools(scripts::owner_key(script)));
    }
    let detail = settings_of(script, NewScript::MEMBERS, &["source", "params_schema"]);
    Ok(tx.audit(caller, action, ("script", script.id), detail)?)
}
