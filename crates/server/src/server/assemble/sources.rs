//! Builds the sources and the schedules.

use std::sync::Arc;

use svc_clock::Clock;

use super::Base;
use crate::{events::emit::Emitter, options::Options, schedules::Schedules, sources::Sources};

pub(super) fn sources(
    base: &Base,
    options: &Options,
    events: &Arc<Emitter>,
    clock: Clock,
) -> Sources {
    with_parts!(Sources of base { store, secrets, compute, metrics;
        writer: base.identity.writer.clone(),
        table: base.identity.writer.memory.sources.clone(),
        events: events.clone(),
        clock,
        quotas: options.quotas,
    })
}

pub(super) fn schedules(
    base: &Base,
    options: &Options,
    events: &Arc<Emitter>,
    clock: Clock,
) -> Arc<Schedules> {
    Arc::new(with_parts!(Schedules of base { store, compute, metrics;
        writer: base.identity.writer.clone(),
        events: events.clone(),
        clock,
        quotas: options.quotas,
        changed: base.identity.writer.memory.schedules.clone(),
    }))
}
