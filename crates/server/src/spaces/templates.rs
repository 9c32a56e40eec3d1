//! Templates: ports, startup script, health check and custom fields for new spaces.
//!
//! The startup script and the health check of a template run on the machines of users who create
//! spaces from it. So only a user who holds every permission of the owners of these spaces may
//! change the template. A new space can take the script or the check from a template only if the
//! user who last saved the template held every permission of the space's owner.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use svc_core::{Permission, ScriptId, TemplateId, name::check_free_name, power::SavedPower};
use svc_protocol::api::{
    NewTemplate, PORTS_MAX, Script, ScriptKind, ScriptOwner, Template, TemplatePatch,
};
use svc_store::{Page, PageRequest, Store, Tx, records, templates, users::UserFilter};
use uuid::Uuid;

use super::record::check_health_check;
use crate::{
    identity::{Actor, Caller, Writer, difference, name_uses},
    records::{RecordError, Result, check_limit, check_name_free, settings_of},
};

const FIELDS_MAX: usize = 100;
const FIELD_NAME_BYTES_MAX: usize = 128;
const FIELD_BYTES_MAX: usize = 4_096;
/// The maximum number of templates of the whole server.
const TEMPLATES_MAX: u64 = 1_000;

pub struct Templates {
    pub store: Store,
    pub writer: Writer,
}

impl Templates {
    pub async fn list(&self, page: PageRequest) -> Result<Page<Template>> {
        Ok(self
            .store
            .read(move |tx| records::list::<Template>(tx, &(), page))
            .await?)
    }

    pub async fn get(&self, id: TemplateId) -> Result<Template> {
        Ok(self
            .store
            .read(move |tx| records::get::<Template>(tx, id))
            .await?)
    }

    pub async fn create(&self, caller: &Caller, new: NewTemplate) -> Result<Template> {
        let template = Template {
            id: TemplateId(Uuid::now_v7()),
            name: new.name,
            ports: new.ports,
            startup_script_id: new.startup_script_id,
            health_check: new.health_check,
            custom_fields: new.custom_fields,
            created_at: svc_clock::now(),
        };
        check(&template)?;
        let kept = template.clone();
        self.writer
            .change(caller, move |tx, caller| {
                let actor = Actor::read(tx, caller)?;
                check_name_free(tx, &kept)?;
                check_startup_script(tx, kept.startup_script_id)?;
                let has = records::count::<Template>(tx, &())?;
                check_limit(has, TEMPLATES_MAX, "templates", "conflict")?;
                records::insert(tx, &kept)?;
                let power = SavedPower::of(actor.permissions);
                records::set_saved_power::<Template>(tx, kept.id, power)?;
                let target = ("template", kept.id);
                Ok(tx.audit(caller, "template.created", target, describe(&kept))?)
            })
            .await?;
        Ok(template)
    }

    pub async fn patch(
        &self,
        caller: &Caller,
        id: TemplateId,
        patch: TemplatePatch,
    ) -> Result<Template> {
        self.writer
            .change(caller, move |tx, caller| {
                let current = records::get::<Template>(tx, id)?;
                let actor = Actor::read(tx, caller)?;
                actor.check_users(tx, UserFilter::SpaceOf(id))?;
                let mut changed = current.clone();
                patch.apply(&mut changed)?;
                check(&changed)?;
                check_name_free(tx, &changed)?;
                check_startup_script(tx, changed.startup_script_id)?;
                records::replace(tx, &changed)?;
                records::set_saved_power::<Template>(tx, id, SavedPower::of(actor.permissions))?;
                if changed != current {
                    let detail = difference(&describe(&current), describe(&changed));
                    tx.audit(caller, "template.updated", ("template", id), detail)?;
                }
                Ok(changed)
            })
            .await
    }

    pub async fn delete(&self, caller: &Caller, id: TemplateId) -> Result<()> {
        self.writer
            .change(caller, move |tx, caller| {
                let template = records::get::<Template>(tx, id)?;
                let actor = Actor::read(tx, caller)?;
                actor.check_users(tx, UserFilter::SpaceOf(id))?;
                let uses = templates::list_uses(tx, id)?;
                if !uses.is_empty() {
                    let sees_all = actor.permissions.contains(Permission::ManageSpaces);
                    let (name, by) = (&template.name, name_uses(caller, sees_all, &uses));
                    let message =
                        format!("template `{name}` is used by {by}; delete these spaces first");
                    return Err(RecordError::new("in_use", message));
                }
                records::delete::<Template>(tx, id)?;
                let detail = json!({"name": template.name});
                Ok(tx.audit(caller, "template.deleted", ("template", id), detail)?)
            })
            .await
    }
}

fn check(template: &Template) -> Result<()> {
    check_free_name("template", &template.name)?;
    let invalid = |message: String| Err(RecordError::new("invalid", message));
    if template.ports.len() > PORTS_MAX {
        return invalid(format!(
            "{} ports; at most {PORTS_MAX} are allowed",
            template.ports.len()
        ));
    }
    let mut names = BTreeSet::new();
    for port in &template.ports {
        check_free_name("port", &port.name)?;
        if port.port == 0 {
            return invalid(format!(
                "port `{}` is 0; it must be between 1 and 65535",
                port.name
            ));
        }
        if !names.insert(&port.name) {
            return invalid(format!("port `{}` is listed twice", port.name));
        }
    }
    if template.custom_fields.len() > FIELDS_MAX {
        return invalid(format!("more than {FIELDS_MAX} custom fields"));
    }
    for (name, value) in &template.custom_fields {
        if name.is_empty() {
            return invalid("a custom field has an empty name; give it a name".to_owned());
        }
        if name.len() > FIELD_NAME_BYTES_MAX || value.len() > FIELD_BYTES_MAX {
            return invalid(format!(
                "a custom field has a name of {} and a value of {} bytes; at most {FIELD_NAME_BYTES_MAX} and {FIELD_BYTES_MAX} are allowed",
                name.len(),
                value.len()
            ));
        }
    }
    check_health_check(template.health_check.as_ref())
}

/// The script must be global, because spaces of any owner use it.
fn check_startup_script(tx: &mut Tx<'_>, id: Option<ScriptId>) -> Result<()> {
    let Some(id) = id else {
        return Ok(());
    };
    let found =
        records::find::<Script>(tx, id)?.filter(|script| script.owner == ScriptOwner::Global);
    match found {
        Some(script) if script.kind == ScriptKind::Startup => Ok(()),
        _ => Err(RecordError::new(
            "unknown_script",
            format!("`{id}` is not a global startup script"),
        )),
    }
}

/// The detail of an audit entry.
fn describe(template: &Template) -> Value {
    settings_of(template, NewTemplate::MEMBERS, &[])
}
