//! Management of sources: create, change, rotate, delete, list. A user manages their own sources
//! only.
//!
//! Every change and its audit entry are one transaction. A secret and a URL appear only in the
//! answer to the request that creates them, never in an audit entry.

use serde_json::{Value, json};
use svc_core::{
    Quota, SourceId,
    credential::CredentialKind,
    source::settings::{Verification, VerifyType},
};
use svc_protocol::api::{
    NewSource, RotateSource, Source, SourcePatch, SourceRequests, SourceRotation,
};
use svc_store::{Page, PageRequest, records, sources::SourceRow, zone_changes::ZoneChange};
use uuid::Uuid;

use super::{Sources, settings};
use crate::{
    identity::{Caller, Change, Secret, check_one_more, difference},
    records::{RecordError, Result, check_name_free, overlap_end, own, read_own, settings_of},
    secrets::{self, SecretOf},
};

/// A new source, and the secret of its URL, which is shown once.
pub struct CreatedSource {
    pub source: Source,
    pub token: String,
}

impl Sources {
    pub async fn list(&self, caller: &Caller, page: PageRequest) -> Result<Page<Source>> {
        let owner = caller.user.id;
        let rows = self.store.read_list(owner, move |tx| {
            records::list::<SourceRow>(tx, &owner, page)
        });
        Ok(rows.await?.map(|row| self.record(row)))
    }

    pub async fn get(&self, caller: &Caller, id: SourceId) -> Result<Source> {
        let row = read_own(&self.store, caller.user.id, id).await?;
        Ok(self.record(row))
    }

    /// Creates a source. Only this answer contains the secret and the URL.
    pub async fn create(&self, caller: &Caller, new: NewSource) -> Result<CreatedSource> {
        let id = SourceId(Uuid::now_v7());
        let mut settings = new;
        let verify = &mut settings.verify;
        let secret = match (verify.secret.take(), verify.r#type) {
            (Some(given), _) => Some(given),
            (None, VerifyType::None) => None,
            (None, kind) => Some(new_secret(kind)?),
        };
        let token = Secret::new(CredentialKind::SourceUrl)?;
        let row = SourceRow {
            id,
            owner_id: caller.user.id,
            token_hash: token.hash,
            secret: self.seal(id, &settings.verify, secret.as_deref())?,
            settings,
            previous_secret: None,
            previous_until: None,
            created_at: svc_clock::now(),
        };
        settings::check(&row.settings)?;
        let (inserted, quotas) = (row.clone(), self.quotas);
        self.writer
            .change(caller, move |tx, caller| {
                let owner = caller.user.id;
                let has = records::count::<SourceRow>(tx, &owner)?;
                check_one_more(tx, &quotas, owner, Quota::Sources, has)?;
                check_name_free(tx, &inserted)?;
                records::insert(tx, &inserted)?;
                finish(tx, caller, "source.created", &inserted, describe(&inserted))
            })
            .await?;
        let mut source = self.record(row);
        source.verify.secret = secret;
        Ok(CreatedSource {
            source,
            token: token.text,
        })
    }

    pub async fn patch(&self, caller: &Caller, id: SourceId, patch: SourcePatch) -> Result<Source> {
        let row = self
            .writer
            .change(caller, move |tx, caller| {
                let before: SourceRow = own(tx, caller.user.id, id)?;
                let after = SourceRow {
                    settings: settings::patched(&before.settings, patch)?,
                    ..before.clone()
                };
                check_name_free(tx, &after)?;
                records::replace(tx, &after)?;
                if after != before {
                    let detail = difference(&describe(&before), describe(&after));
                    finish(tx, caller, "source.updated", &after, detail)?;
                }
                Ok(after)
            })
            .await?;
        Ok(self.record(row))
    }

    pub async fn delete(&self, caller: &Caller, id: SourceId) -> Result<()> {
        self.writer
            .change(caller, move |tx, caller| {
                let row: SourceRow = own(tx, caller.user.id, id)?;
                records::delete::<SourceRow>(tx, id)?;
                let detail = json!({"name": row.settings.name});
                finish(tx, caller, "source.deleted", &row, detail)
            })
            .await
    }

    /// Replaces the secret or the URL. The old secret stays valid until the overlap ends. The old
    /// URL becomes invalid at once. `url` in the result is the new secret of the URL.
    pub async fn rotate(
        &self,
        caller: &Caller,
        id: SourceId,
        request: RotateSource,
    ) -> Result<SourceRotation> {
        match request.url {
            true => self.rotate_url(caller, id, request).await,
            false => self.rotate_secret(caller, id, request).await,
        }
    }

    async fn rotate_url(
        &self,
        caller: &Caller,
        id: SourceId,
        request: RotateSource,
    ) -> Result<SourceRotation> {
        if request.secret.is_some() || request.overlap_hours.is_some() {
            let text = "`url` creates a new URL; leave `secret` and `overlap_hours` out";
            return Err(RecordError::new("invalid", text.to_owned()));
        }
        let token = Secret::new(CredentialKind::SourceUrl)?;
        let hash = token.hash;
        self.writer
            .change(caller, move |tx, caller| {
                let row = SourceRow {
                    token_hash: hash,
                    ..own::<SourceRow>(tx, caller.user.id, id)?
                };
                records::replace(tx, &row)?;
                let detail = json!({"name": row.settings.name});
                finish(tx, caller, "source.url_rotated", &row, detail)
            })
            .await?;
        Ok(SourceRotation {
            secret: None,
            url: Some(token.text),
            previous_until: None,
        })
    }

    async fn rotate_secret(
        &self,
        caller: &Caller,
        id: SourceId,
        request: RotateSource,
    ) -> Result<SourceRotation> {
        let previous_until = overlap_end(request.overlap_hours, self.clock.now())?;
        let row: SourceRow = read_own(&self.store, caller.user.id, id).await?;
        let verify = row.settings.verify;
        if verify.r#type == VerifyType::None {
            let text = "a source of the type `none` has no secret; to replace its URL, set `url`";
            return Err(RecordError::new("conflict", text.to_owned()));
        }
        let generated = match request.secret {
            Some(_) => None,
            None => Some(new_secret(verify.r#type)?),
        };
        let secret = request.secret.as_deref().or(generated.as_deref());
        let sealed = self.seal(id, &verify, secret)?;
        self.writer
            .change(caller, move |tx, caller| {
                let mut row: SourceRow = own(tx, caller.user.id, id)?;
                row.previous_secret = std::mem::replace(&mut row.secret, sealed);
                row.previous_until = Some(previous_until);
                records::replace(tx, &row)?;
                let detail = json!({"name": row.settings.name, "previous_until": previous_until});
                finish(tx, caller, "source.secret_rotated", &row, detail)
            })
            .await?;
        Ok(SourceRotation {
            secret: generated,
            url: None,
            previous_until: Some(previous_until),
        })
    }

    /// The last requests that this server received.
    pub async fn requests(&self, caller: &Caller, id: SourceId) -> Result<SourceRequests> {
        let row: SourceRow = read_own(&self.store, caller.user.id, id).await?;
        let activity = self.table.activity_of(row.owner_id, row.id);
        Ok(SourceRequests {
            requests: activity
                .map(|activity| activity.requests())
                .unwrap_or_default(),
        })
    }

    /// Encrypts a secret for its source, after checking its form.
    fn seal(
        &self,
        id: SourceId,
        verify: &Verification,
        secret: Option<&str>,
    ) -> Result<Option<Vec<u8>>> {
        let Some(secret) = secret else {
            return Ok(None);
        };
        verify.check_secret(secret)?;
        Ok(Some(
            self.secrets.seal(SecretOf::Source(id), secret.as_bytes()),
        ))
    }

    fn record(&self, row: SourceRow) -> Source {
        let activity = self.table.activity_of(row.owner_id, row.id);
        let counters = activity.unwrap_or_default().counters();
        let now = self.clock.now();
        let settings = row.settings;
        Source {
            id: row.id,
            name: settings.name,
            description: settings.description,
            owner_id: row.owner_id,
            verify: settings.verify,
            event_type: settings.event_type,
            headers: settings.headers,
            active: settings.active,
            url: None,
            previous_secret_until: row.previous_until.filter(|until| *until > now),
            accepted: counters.accepted,
            rejected: counters.rejected,
            last_accepted_at: counters.last_accepted_at,
            last_rejection: counters.last_rejection,
            created_at: row.created_at,
        }
    }
}

/// A secret in the form that the sender expects.
fn new_secret(kind: VerifyType) -> Result<String> {
    if kind == VerifyType::Standard {
        return Ok(secrets::new_webhook_secret());
    }
    // Any random text is suitable. A client secret has 256 random bits.
    let random = Secret::new(CredentialKind::ClientSecret)?.text;
    let random = random.rsplit('_').next().unwrap_or(&random);
    Ok(match kind {
        VerifyType::Basic => format!("svc:{random}"),
        _ => random.to_owned(),
    })
}

/// Records a change: in the audit log, and for the other servers of the zone.
fn finish(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    action: &'static str,
    row: &SourceRow,
    detail: Value,
) -> Result<()> {
    tx.affects(ZoneChange::Sources(row.owner_id));
    Ok(tx.audit(caller, action, ("source", row.id), detail)?)
}

/// The detail of an audit entry.
fn describe(row: &SourceRow) -> Value {
    settings_of(&row.settings, NewSource::MEMBERS, &[])
}
