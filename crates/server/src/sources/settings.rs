//! Checks the settings of a source, and applies merge patches to them.

use svc_core::source::{
    check_event_name,
    settings::{check_headers, check_proof_header},
};
use svc_protocol::api::{NewSource, SourcePatch};

use crate::records::{RecordError, Result, check_description};

/// Checks all settings of a source except its secret.
pub(super) fn check(settings: &NewSource) -> Result<()> {
    check_event_name(&settings.name)?;
    check_description(&settings.description)?;
    settings.verify.check()?;
    settings.event_type.check()?;
    check_headers(&settings.headers)?;
    Ok(check_proof_header(
        &settings.verify,
        &settings.event_type,
        &settings.headers,
    )?)
}

/// The settings after a merge patch.
pub(super) fn patched(before: &NewSource, patch: SourcePatch) -> Result<NewSource> {
    let mut after = before.clone();
    patch.apply(&mut after)?;
    if after.verify.r#type != before.verify.r#type {
        let text = "the type of the verification cannot be changed; create another source";
        return Err(RecordError::new("conflict", text.to_owned()));
    }
    if after.verify.secret.is_some() {
        let text = "`verify.secret` is changed with: svc source rotate <source>";
        return Err(RecordError::new("invalid", text.to_owned()));
    }
    check(&after)?;
    Ok(after)
}
