//! Receives a request to a source: verifies the request, and emits its event.

use std::{net::IpAddr, sync::Arc, time::Duration, time::Instant};

use bytes::Bytes;
use http::HeaderMap;
use svc_core::{
    Id, Timestamp,
    source::{
        request::{self, DeliveryKey, EventRule, Request, RequestError, SourceEvent},
        verify::{self, Headers, Rejection, Verified},
    },
};
use svc_crypto::{sha256, sha256_of_parts};
use svc_pool::PoolError;
use svc_protocol::api::{EmittedEvent, RequestOutcome, SourceRequest};
use svc_store::{StoreError, sources::SourceRow};
use thiserror::Error;

use super::Sources;
use crate::{
    events::emit::{Emission, EmitServiceError, Origin, ServiceEvent},
    identity::Caller,
    records::RecordError,
    secrets::{SecretError, SecretOf},
    tables::KnownSource,
};

/// Reading a larger body takes more than about a millisecond, so it runs on the compute threads.
const SMALL_BODY_BYTES: usize = 32 * 1024;
/// The time after which to retry if there are too many requests at the same time.
const BUSY_WAIT: Duration = Duration::from_secs(1);

/// A request to a source, with its whole body.
#[derive(Clone)]
pub struct Inbound {
    pub address: IpAddr,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The answer to a request that was accepted.
#[derive(Clone, PartialEq, Debug)]
pub enum Received {
    Event(EmittedEvent),
    /// The same delivery, by its id or by the time that its sender signed, arrived before: its event.
    Repeated(EmittedEvent),
    /// A request with the same body arrived before, and its sender signs nothing else: its event.
    /// The sender may have meant another delivery.
    SameBody(EmittedEvent),
    /// The text that the sender expects in the answer.
    Challenge(String),
}

/// Why a request caused no event.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// The answer is the same as for an unknown path.
    #[error("the source is not active")]
    Inactive,
    #[error("requests of this address were rejected too often")]
    AddressLimited { retry_after: Duration },
    #[error("too many requests at the same time")]
    Busy { retry_after: Duration },
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the owner of the source may not emit: {0}")]
    Owner(RecordError),
    #[error(transparent)]
    Emit(#[from] EmitServiceError),
    #[error(transparent)]
    Compute(#[from] PoolError),
    /// The body did not arrive, or is too large.
    #[error("{detail}")]
    Body { status: u16, detail: String },
}

impl ReceiveError {
    /// The status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Inactive => 404,
            Self::AddressLimited { .. } | Self::Busy { .. } | Self::Compute(_) => 429,
            Self::Rejected(_) => 401,
            Self::Request(RequestError::TooLarge(_)) => 413,
            Self::Request(_) => 400,
            Self::Secret(_) => 500,
            Self::Owner(_) | Self::Emit(EmitServiceError::Caller(_)) => 403,
            Self::Emit(EmitServiceError::OverLimit(_)) => 429,
            Self::Emit(EmitServiceError::Quota(_)) => 409,
            Self::Emit(_) => 503,
            Self::Body { status, .. } => *status,
        }
    }
}

/// The headers of a request, as the rules of `core` read them.
struct SentHeaders<'a>(&'a HeaderMap);

impl Headers for SentHeaders<'_> {
    fn find(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }
}

impl Sources {
    /// Whether the body of a request may be read. Cheap, so that it can reject a flood.
    pub fn admit(&self, source: &KnownSource, address: IpAddr) -> Result<(), ReceiveError> {
        // Before the limit: a source that is off answers like an unknown URL, without an end.
        if !source.row.settings.active {
            self.note(source, address, Err(&ReceiveError::Inactive));
            return Err(ReceiveError::Inactive);
        }
        let admitted = source.activity.check_address(address, Instant::now());
        admitted.map_err(|retry_after| {
            source.activity.note_refused();
            self.metrics.sources.count_request("limited");
            ReceiveError::AddressLimited { retry_after }
        })
    }

    /// Records that a request could not be read.
    pub fn note_unreadable(&self, source: &KnownSource, address: IpAddr, error: &ReceiveError) {
        self.note(source, address, Err(error));
    }

    /// Handles a request. The result is recorded for the owner.
    pub async fn receive(
        &self,
        source: &Arc<KnownSource>,
        inbound: Inbound,
    ) -> Result<Received, ReceiveError> {
        let address = inbound.address;
        let handled = self.handle(source, inbound).await;
        self.note(source, address, handled.as_ref());
        handled
    }

    async fn handle(
        &self,
        source: &Arc<KnownSource>,
        inbound: Inbound,
    ) -> Result<Received, ReceiveError> {
        let _in_flight = source.activity.begin().ok_or(ReceiveError::Busy {
            retry_after: BUSY_WAIT,
        })?;
        let verified = self.verify(&source.row, &inbound)?;
        let event = match self.read(source, &verified, &inbound).await? {
            Request::Challenge(text) => return Ok(Received::Challenge(text)),
            Request::Event(event) => event,
        };
        let owner = self
            .events
            .owner(source.row.owner_id)
            .map_err(ReceiveError::Owner)?;
        self.emit(&owner, &source.row, event, &inbound.body).await
    }

    /// Verifies a request with all secrets that are valid at the moment.
    pub(super) fn verify(
        &self,
        row: &SourceRow,
        inbound: &Inbound,
    ) -> Result<Verified, ReceiveError> {
        let now = self.clock.now();
        let secrets = self.secrets_of(row)?;
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let headers = SentHeaders(&inbound.headers);
        Ok(verify::verify(
            &row.settings.verify,
            &secrets,
            &headers,
            &inbound.body,
            now,
        )?)
    }

    /// The secrets that are valid at the moment, the current one first.
    pub(super) fn secrets_of(&self, row: &SourceRow) -> Result<Vec<String>, SecretError> {
        let is_previous_valid = row
            .previous_until
            .is_some_and(|until| until > self.clock.now());
        let previous = row.previous_secret.as_ref().filter(|_| is_previous_valid);
        let open = |sealed: &Vec<u8>| {
            let secret = self.secrets.open(SecretOf::Source(row.id), sealed)?;
            String::from_utf8(secret).map_err(|_| SecretError::WrongKey)
        };
        row.secret.iter().chain(previous).map(open).collect()
    }

    async fn read(
        &self,
        source: &Arc<KnownSource>,
        verified: &Verified,
        inbound: &Inbound,
    ) -> Result<Request, ReceiveError> {
        let now = self.clock.now();
        if inbound.body.len() <= SMALL_BODY_BYTES {
            return Ok(read_request(&source.row, verified, inbound, now)?);
        }
        let (source, verified, inbound) = (source.clone(), verified.clone(), inbound.clone());
        let owner = source.row.owner_id;
        let read = move |_: &_| read_request(&source.row, &verified, &inbound, now);
        Ok(self.compute.run(owner, read).await??)
    }

    /// Emits the event of a request, unless the same delivery arrived before.
    pub(super) async fn emit(
        &self,
        caller: &Caller,
        row: &SourceRow,
        event: SourceEvent,
        body: &[u8],
    ) -> Result<Received, ReceiveError> {
        let is_known_by_body =
            matches!(&event.delivery, DeliveryKey::Signed(head) if head.is_empty());
        let origin = match event.delivery {
            DeliveryKey::Id(id) => Origin::Delivery(row.id, sha256(id)),
            DeliveryKey::Signed(head) => {
                let signed = sha256_of_parts(&[head.as_bytes(), body]);
                Origin::Delivery(row.id, signed)
            }
            DeliveryKey::None => Origin::Any,
        };
        let new = ServiceEvent {
            r#type: event.event_type,
            data: event.data,
            origin,
        };
        match self.events.emit_for(caller, new).await? {
            Emission::New(emitted) => Ok(Received::Event(emitted)),
            Emission::Repeated(emitted) if is_known_by_body => Ok(Received::SameBody(emitted)),
            Emission::Repeated(emitted) => Ok(Received::Repeated(emitted)),
            // Never happens here: only runs of schedules return this.
            Emission::AlreadyRan => Err(EmitServiceError::from(StoreError::NoRow).into()),
        }
    }

    fn note(
        &self,
        source: &KnownSource,
        address: IpAddr,
        handled: Result<&Received, &ReceiveError>,
    ) {
        let (outcome, status, emitted) = match handled {
            Ok(Received::Challenge(_)) => (RequestOutcome::Challenge, 200, None),
            Ok(Received::Event(event)) => (RequestOutcome::Accepted, 202, Some(event)),
            Ok(Received::Repeated(event)) => (RequestOutcome::Repeated, 202, Some(event)),
            Ok(Received::SameBody(event)) => (RequestOutcome::Repeated, 200, Some(event)),
            Err(error) => (RequestOutcome::Rejected, error.status(), None),
        };
        self.metrics.sources.count_request(match outcome {
            RequestOutcome::Accepted => "accepted",
            RequestOutcome::Repeated => "repeated",
            RequestOutcome::Challenge => "challenge",
            RequestOutcome::Rejected => "rejected",
        });
        let request = SourceRequest {
            at: self.clock.now(),
            outcome,
            status,
            reason: handled.err().map(ToString::to_string),
            address: address.to_string(),
            event_type: emitted.map(|event| event.event_type.clone()),
            event_id: emitted.map(|event| event.event_id),
        };
        source.activity.note(address, request);
    }
}

pub(super) fn read_request(
    row: &SourceRow,
    verified: &Verified,
    inbound: &Inbound,
    now: Timestamp,
) -> Result<Request, RequestError> {
    let settings = &row.settings;
    let rule = EventRule {
        id: Id(row.id.0),
        name: &settings.name,
        verify: &settings.verify,
        event_type: &settings.event_type,
        headers: &settings.headers,
    };
    request::read(
        &rule,
        verified,
        &SentHeaders(&inbound.headers),
        &inbound.body,
        now,
    )
}
