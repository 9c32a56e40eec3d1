//! Emit: custom events, as callers raise them (spec 6.2).
//!
//! Answers only after event, deliveries, drops and audit entries are durable. Whether the caller
//! may emit at all is the route's concern.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use svc_core::{
    EventId, SpaceId,
    event::{self, EmitError, Event},
};
use svc_protocol::api::{Emit, Emitted};
use thiserror::Error;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::{dispatch::emit_in, hub::Hub};
use crate::{
    clock::Clock,
    identity::{Caller, Credential},
    methods::rate_limit::{OverLimit, RateLimit},
    store::{Hash, Store, StoreError, Tx, idempotency},
};

/// How long an idempotency key stands for its first use.
const KEY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Characters of an idempotency key.
const KEY_MAX: usize = 255;

#[derive(Clone, PartialEq, Debug, Error)]
pub enum EmitServiceError {
    #[error(transparent)]
    Invalid(#[from] EmitError),
    #[error("an idempotency key must have 1 to {KEY_MAX} visible ASCII characters")]
    InvalidKey,
    #[error(
        "this idempotency key was used for another event; use a new key, or send the same body again"
    )]
    IdempotencyConflict,
    #[error("more events than allowed; try again in {} ms", .0.retry_after.as_millis())]
    OverLimit(OverLimit),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub struct Emitter {
    store: Store,
    hub: Hub,
    clock: Clock,
    limit: RateLimit,
    /// Emits on their way: one whose caller has gone still tells the hub.
    running: TaskTracker,
}

impl Emitter {
    pub fn new(store: Store, hub: Hub, clock: Clock, per_second: Option<u32>) -> Self {
        Self {
            store,
            hub,
            clock,
            limit: RateLimit::new(per_second),
            running: TaskTracker::new(),
        }
    }

    /// Raises a custom event of the caller: from their space when an agent asks, else from none.
    pub async fn emit(
        &self,
        caller: &Caller,
        emit: Emit,
        idempotency_key: Option<&str>,
    ) -> Result<Emitted, EmitServiceError> {
        let event_type = event::custom_type(&emit.r#type)?;
        event::check_payload(&emit.payload)?;
        let key = idempotency_key
            .map(|key| Key::new(key, &emit))
            .transpose()?;
        self.limit
            .take(caller.user.id, 1, Instant::now())
            .map_err(EmitServiceError::OverLimit)?;
        let event = Event {
            id: EventId::NIL,
            r#type: event_type,
            ts: self.clock.now(),
            owner_id: caller.user.id,
            space_id: match caller.credential {
                Credential::Agent { space_id } => space_id,
                Credential::Token { .. } | Credential::Session { .. } | Credential::Script => {
                    SpaceId::NIL
                }
            },
            actor: caller.actor(),
            data: emit.payload,
        };
        let (store, hub) = (self.store.clone(), self.hub.clone());
        let running = self.running.spawn(async move {
            let outcome = store.try_write(move |tx| write(tx, event, key)).await?;
            Ok(match outcome {
                Outcome::New(event) => {
                    hub.committed(std::slice::from_ref(&event));
                    emitted(&event)
                }
                Outcome::Repeated(emitted) => emitted,
            })
        });
        running
            .await
            .unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Waits for emits whose callers have gone.
    pub async fn close(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

/// An idempotency key and the body it stands for.
struct Key {
    text: String,
    body_hash: Hash,
}

impl Key {
    fn new(text: &str, emit: &Emit) -> Result<Self, EmitServiceError> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !visible || !(1..=KEY_MAX).contains(&text.len()) {
            return Err(EmitServiceError::InvalidKey);
        }
        let body = serde_json::to_vec(emit).expect("an emit has string keys");
        Ok(Self {
            text: text.to_owned(),
            body_hash: Sha256::digest(body).into(),
        })
    }
}

enum Outcome {
    New(Arc<Event>),
    Repeated(Emitted),
}

/// The id is made here, where writers take turns: the order of ids is the order of commits.
fn write(tx: &mut Tx<'_>, mut event: Event, key: Option<Key>) -> Result<Outcome, EmitServiceError> {
    event.id = EventId(Uuid::now_v7());
    if let Some(key) = key {
        match idempotency::find(tx, event.owner_id, &key.text, event.ts)? {
            Some(used) if used.body_hash == key.body_hash => {
                return Ok(Outcome::Repeated(used.emitted));
            }
            Some(_) => return Err(EmitServiceError::IdempotencyConflict),
            None => {
                let used = idempotency::Use {
                    body_hash: key.body_hash,
                    emitted: emitted(&event),
                };
                let expires_at = event.ts.plus(KEY_LIFE);
                idempotency::put(tx, event.owner_id, &key.text, &used, expires_at)?;
            }
        }
    }
    emit_in(tx, &event)?;
    Ok(Outcome::New(Arc::new(event)))
}

fn emitted(event: &Event) -> Emitted {
    Emitted {
        event_id: event.id,
        event_type: event.r#type.clone(),
    }
}

#[cfg(test)]
mod tests;
