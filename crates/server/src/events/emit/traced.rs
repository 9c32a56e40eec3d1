//! The span of an emit.

use std::time::Instant;

use svc_core::event::Event;

use super::{Emission, EmitServiceError};
use crate::traces::{Attribute, SpanKind, TracedWork};

/// An emit of a recorded trace.
pub(super) struct TracedEmit {
    event_type: String,
}

impl TracedEmit {
    pub(super) fn new(event: &Event) -> Self {
        Self {
            event_type: event.r#type.clone(),
        }
    }

    /// The span of the emit, which has just ended.
    pub(super) fn ended(
        self,
        began: Instant,
        emission: &Result<Emission, EmitServiceError>,
    ) -> TracedWork {
        let mut attributes = vec![
            Attribute::text("messaging.system", "svc"),
            Attribute::text("messaging.operation.type", "send"),
            Attribute::text("messaging.operation.name", "emit"),
            Attribute::text("messaging.destination.name", self.event_type),
        ];
        if let Ok(Emission::New(event) | Emission::Repeated(event)) = emission {
            let id = event.event_id.to_string();
            attributes.push(Attribute::text("messaging.message.id", id));
        }
        TracedWork {
            name: "emit event".into(),
            kind: SpanKind::Producer,
            took: began.elapsed(),
            attributes,
            error: emission
                .as_ref()
                .err()
                .map(|error| error_type(error).into()),
        }
    }
}

fn error_type(error: &EmitServiceError) -> &'static str {
    match error {
        EmitServiceError::Invalid(_) | EmitServiceError::InvalidKey => "invalid",
        EmitServiceError::IdempotencyConflict => "idempotency_conflict",
        EmitServiceError::OverLimit(_) => "over_limit",
        EmitServiceError::Caller(_) => "caller",
        EmitServiceError::Quota(_) => "quota_exceeded",
        EmitServiceError::Store(_) => "store",
    }
}
