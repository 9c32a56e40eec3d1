//! Builds the record of a new space from the request, its template and defaults.

use svc_core::{
    ScriptId, SpaceId, SpaceName, UserId,
    space::{Health, HealthCheck, Probe, Runtime, State, space_urls},
};
use svc_protocol::api::{NewSpace, ScriptKind, Template};
use svc_store::{Tx, records, scripts, spaces::SpaceRow};

use crate::{
    identity::User,
    records::{RecordError, Result},
};

/// Longest URL or command of a health check.
const PROBE_BYTES_MAX: usize = 4_096;

pub fn find_template(tx: &mut Tx<'_>, new: &NewSpace) -> Result<Option<Template>> {
    let Some(id) = new.template_id else {
        return Ok(None);
    };
    let template = records::find::<Template>(tx, id)?;
    let missing = || {
        RecordError::new(
            "unknown_template",
            format!("template `{id}` does not exist"),
        )
    };
    template.map(Some).ok_or_else(missing)
}

/// Limits the length of the URL or command of a health check, because each space stores it.
pub fn check_health_check(check: Option<&HealthCheck>) -> Result<()> {
    let (what, text) = match check.map(|check| &check.probe) {
        Some(Probe::Http { url }) => ("url", url),
        Some(Probe::Command { command }) => ("command", command),
        Some(Probe::None | Probe::Tcp { .. }) | None => return Ok(()),
    };
    if text.len() <= PROBE_BYTES_MAX {
        return Ok(());
    }
    Err(RecordError::new(
        "invalid",
        format!(
            "the {what} of the health check has {} bytes; at most {PROBE_BYTES_MAX} are allowed",
            text.len()
        ),
    ))
}

/// Checks that the script is a startup script of the owner or a global one.
pub fn check_startup_script(tx: &mut Tx<'_>, owner: UserId, id: Option<ScriptId>) -> Result<()> {
    let Some(id) = id else {
        return Ok(());
    };
    match scripts::find_visible(tx, id, owner)? {
        Some(script) if script.kind == ScriptKind::Startup => Ok(()),
        Some(script) => Err(RecordError::new(
            "unknown_script",
            format!("script `{}` is not a startup script", script.name),
        )),
        None => Err(RecordError::new(
            "unknown_script",
            format!("startup script `{id}` does not exist"),
        )),
    }
}

pub fn new_row(
    id: SpaceId,
    owner: &User,
    name: SpaceName,
    runtime: Runtime,
    new: &NewSpace,
    template: Option<Template>,
    domain: Option<&str>,
) -> SpaceRow {
    let ports: Vec<_> = template
        .iter()
        .flat_map(|template| {
            template
                .ports
                .iter()
                .map(|port| (port.name.clone(), port.port))
        })
        .collect();
    let startup_script_id = new
        .startup_script_id
        .or_else(|| template.as_ref()?.startup_script_id);
    let of_template = template
        .as_ref()
        .and_then(|template| template.health_check.clone());
    SpaceRow {
        id,
        owner_id: owner.id,
        state: State::Created,
        stop_reason: None,
        health: Health::Unknown,
        runtime,
        template_id: new.template_id,
        startup_script_id,
        health_check: new.health_check.clone().or(of_template).unwrap_or_default(),
        node_id: None,
        space_urls: space_urls(&owner.name, &name, &ports, domain),
        name,
        created_at: svc_clock::now(),
        started_at: None,
        stopped_at: None,
        deleted_at: None,
    }
}
