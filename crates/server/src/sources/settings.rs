//! Checks the settings of a source, and applies merge patches to them.

use svc_core::source::{check_event_name, settings::check_headers};
use svc_protocol::api::{DESCRIPTION_MAX, SourcePatch, merge};
use svc_store::sources::SourceRow;

use crate::records::RecordError;

/// Checks all settings of a source except its secret.
pub(super) fn check(row: &SourceRow) -> Result<(), RecordError> {
    check_event_name(&row.name)?;
    if row.description.chars().count() > DESCRIPTION_MAX {
        let text = format!("`description` has more than {DESCRIPTION_MAX} characters; shorten it");
        return Err(RecordError::invalid("invalid", text));
    }
    row.verify.check()?;
    row.event_type.check()?;
    Ok(check_headers(&row.headers)?)
}

/// The source after a merge patch.
pub(super) fn patched(before: &SourceRow, patch: SourcePatch) -> Result<SourceRow, RecordError> {
    let mut after = before.clone();
    if let Some(name) = patch.name {
        after.name = name;
    }
    if let Some(description) = patch.description {
        after.description = description;
    }
    if let Some(change) = patch.verify {
        after.verify = merge("verify", &before.verify, &change)?;
        if after.verify.r#type != before.verify.r#type {
            let text = "the type of the verification cannot be changed; create another source";
            return Err(RecordError::conflict("conflict", text.to_owned()));
        }
        if after.verify.secret.is_some() {
            let text = "`verify.secret` is changed with: svc source rotate <source>";
            return Err(RecordError::invalid("invalid", text.to_owned()));
        }
    }
    if let Some(change) = patch.event_type {
        after.event_type = merge("event_type", &before.event_type, &change)?;
    }
    if let Some(headers) = patch.headers {
        after.headers = headers;
    }
    if let Some(active) = patch.active {
        after.active = active;
    }
    check(&after)?;
    Ok(after)
}
