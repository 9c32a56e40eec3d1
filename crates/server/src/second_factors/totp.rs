//! Sets up and removes authenticator apps.

use std::net::IpAddr;

use qrcode::{EcLevel, QrCode, render::svg};
use serde_json::json;
use svc_core::totp::{TOTP_SECRET_BYTES, TypedCode, base32, find_step, uri};
use svc_crypto::random;
use svc_protocol::api;
use svc_store::{
    keyed,
    second_factors::{
        self as rows,
        totp::{EnrolmentRow, TotpRow},
    },
};

use super::{
    ENROLMENT_LIFETIME, SecondFactors, malformed_code, note_added, note_removed,
    recovery::NewCodes, wrong_code,
};
use crate::{
    identity::{Caller, Factor},
    records::{RecordError, Result},
    secrets::SecretOf,
};

/// Pixels of one module (square) of the QR code. The image is scalable.
const MODULE_PIXELS: u32 = 4;

impl SecondFactors {
    /// Creates the secret of a new app. If the user already has an app, that app stays in use until
    /// the user enters the first code of the new app.
    pub async fn begin_totp(
        &self,
        caller: &Caller,
        proof: api::PasswordProof,
        address: IpAddr,
    ) -> Result<api::TotpEnrolment> {
        let secret = random::bytes::<TOTP_SECRET_BYTES>()?;
        let user = caller.user.id;
        let expires_at = self.clock.now().plus(ENROLMENT_LIFETIME);
        let enrolment = EnrolmentRow {
            user_id: user,
            secret: self.secrets.seal(SecretOf::Totp(user), &secret),
            expires_at,
        };
        let (identity, given) = (&self.identity, (Some(proof.password), address));
        let changing = identity.change_with_proof(caller, given, move |tx, _| {
            rows::totp::set(tx, user, &enrolment)?;
            Ok(())
        });
        changing.await?;
        let uri = uri(&self.place, caller.user.name.as_str(), &secret);
        Ok(api::TotpEnrolment {
            secret: base32(&secret),
            qr_svg: draw(&uri)?,
            uri,
            expires_at,
        })
    }

    /// Activates an app with its first code. The new recovery codes are shown only in this answer.
    pub async fn confirm_totp(
        &self,
        caller: &Caller,
        code: api::TotpCode,
    ) -> Result<api::RecoveryCodes> {
        let Some(TypedCode::Totp(digits)) = TypedCode::parse(&code.code) else {
            return Err(malformed_code());
        };
        let codes = NewCodes::draw()?;
        let shown = codes.shown();
        let (user, now) = (caller.user.id, self.clock.now());
        let secrets = self.secrets.clone();
        let changing = self.identity.change(caller, move |tx, caller| {
            let enrolment = keyed::find::<EnrolmentRow>(tx, &user)?
                .filter(|enrolment| now < enrolment.expires_at)
                .ok_or_else(no_enrolment)?;
            let secret = secrets
                .open(SecretOf::Totp(user), &enrolment.secret)
                .map_err(|_| no_enrolment())?;
            let step = find_step(&secret, &digits, now, 0).ok_or_else(wrong_code)?;
            keyed::delete::<EnrolmentRow>(tx, &user)?;
            let totp = TotpRow {
                user_id: user,
                secret: enrolment.secret,
                last_step: step,
                wrong_codes: 0,
                created_at: now,
            };
            rows::totp::set(tx, user, &totp)?;
            codes.store(tx, user)?;
            note_added(tx, caller, json!({"kind": "totp"}))
        });
        changing.await?;
        Ok(shown)
    }

    pub async fn remove_totp(
        &self,
        caller: &Caller,
        proof: api::PasswordProof,
        address: IpAddr,
    ) -> Result<()> {
        let (identity, given) = (&self.identity, (Some(proof.password), address));
        let changing = identity.change_with_proof(caller, given, |tx, caller| {
            let user = caller.user.id;
            if !keyed::delete::<TotpRow>(tx, &user)? {
                return Err(no_totp());
            }
            keyed::delete::<EnrolmentRow>(tx, &user)?;
            note_removed(tx, caller, (Factor::Totp, json!({"kind": "totp"})))
        });
        changing.await
    }
}

fn draw(uri: &str) -> Result<String> {
    let code = QrCode::with_error_correction_level(uri, EcLevel::M)
        .map_err(|error| RecordError::Internal(format!("cannot draw a QR code: {error}")))?;
    Ok(code
        .render::<svg::Color<'_>>()
        .module_dimensions(MODULE_PIXELS, MODULE_PIXELS)
        .build())
}

fn no_enrolment() -> RecordError {
    RecordError::new(
        "no_enrolment",
        "no authenticator app is being set up, or too much time has passed; begin again",
    )
}

fn no_totp() -> RecordError {
    RecordError::new("no_second_factor", "you have no authenticator app")
}
