//! Tests a source: signs a request as the sender would, verifies it and emits its event. The source
//! may be inactive. Tests do not count in the activity of the source.

use std::{net::IpAddr, net::Ipv4Addr};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use svc_core::{
    SourceId,
    source::{
        request::{BODY_BYTES_MAX, Request},
        verify,
    },
};
use svc_protocol::api::{SourceTest, SourceTestResult};
use svc_store::sources::SourceRow;
use uuid::Uuid;

use super::{
    Sources,
    receive::{Inbound, ReceiveError, Received, read_request},
};
use crate::{
    events::emit::EMIT_NEEDS,
    identity::Caller,
    records::{RecordError, Result, read_own},
    secrets::SecretError,
};

/// The maximum number of headers that a test may give. Headers of the signature do not count.
const HEADERS_MAX: usize = 50;

impl Sources {
    /// Tests a source with its current secret. Emits the event, unless the test is a dry run.
    pub async fn test(
        &self,
        caller: &Caller,
        id: SourceId,
        test: SourceTest,
    ) -> Result<SourceTestResult> {
        let row: SourceRow = read_own(&self.store, caller.user.id, id).await?;
        let inbound = self.signed_request(&row, &test)?;
        let verified = match self.verify(&row, &inbound) {
            Ok(verified) => verified,
            Err(ReceiveError::Secret(error)) => return Err(unreadable_secret(&error)),
            Err(error) => return Ok(rejected(&error)),
        };
        let event = match read_request(&row, &verified, &inbound, self.clock.now()) {
            Ok(Request::Event(event)) => event,
            Ok(Request::Challenge(_)) => {
                let text = "the body is a `url_verification` request of Slack, and such a request makes no event; use another body";
                return Err(RecordError::new("invalid", text.to_owned()));
            }
            Err(error) => return Ok(rejected(&error.into())),
        };
        let mut result = SourceTestResult {
            accepted: true,
            reason: None,
            event_type: Some(event.event_type.clone()),
            event_id: None,
            data: Some(event.data.clone().into_raw()),
        };
        if !test.dry_run {
            // Emits as the caller, not as the owner: if the caller's token was revoked meanwhile,
            // the emit fails.
            let caller = caller.clone().with_needs(EMIT_NEEDS);
            match self.emit(&caller, &row, event, &inbound.body).await {
                Ok(
                    Received::Event(emitted)
                    | Received::Repeated(emitted)
                    | Received::SameBody(emitted),
                ) => result.event_id = Some(emitted.event_id),
                Ok(Received::Challenge(_)) => {}
                Err(ReceiveError::Emit(error)) => return Err(error.into()),
                Err(error) => return Ok(rejected(&error)),
            }
        }
        Ok(result)
    }

    fn signed_request(&self, row: &SourceRow, test: &SourceTest) -> Result<Inbound> {
        let body = test.body.as_ref().map_or("{}", |body| body.get());
        if body.len() > BODY_BYTES_MAX {
            return Err(RecordError::new(
                "invalid",
                format!(
                    "`body` has {} bytes; at most {BODY_BYTES_MAX} are allowed",
                    body.len()
                ),
            ));
        }
        if test.headers.len() > HEADERS_MAX {
            let text = format!("`headers` has more than {HEADERS_MAX} members");
            return Err(RecordError::new("invalid", text));
        }
        let mut headers = HeaderMap::new();
        let json = ("content-type".to_owned(), "application/json".to_owned());
        let given = test
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        // Each test has its own delivery id, like each request of a real sender.
        let id = format!("test_{}", Uuid::now_v7().simple());
        let secrets = self.secrets_of(row);
        let secrets = secrets.map_err(|error| unreadable_secret(&error))?;
        let secret = secrets.first().map_or("", String::as_str);
        let signed = verify::sign(
            &row.settings.verify,
            secret,
            &id,
            body.as_bytes(),
            self.clock.now(),
        );
        for (name, value) in std::iter::once(json).chain(given).chain(signed) {
            let invalid =
                || RecordError::new("invalid", format!("`headers`: `{name}` is not valid"));
            let value = HeaderValue::from_str(&value).map_err(|_| invalid())?;
            headers.insert(
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?,
                value,
            );
        }
        Ok(Inbound {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            headers,
            body: Bytes::copy_from_slice(body.as_bytes()),
        })
    }
}

fn rejected(error: &ReceiveError) -> SourceTestResult {
    SourceTestResult {
        accepted: false,
        reason: Some(error.to_string()),
        event_type: None,
        event_id: None,
        data: None,
    }
}

fn unreadable_secret(error: &SecretError) -> RecordError {
    let message =
        format!("{error}; create a new secret: svc source rotate <source> --overlap-hours 0");
    RecordError::new("conflict", message)
}
