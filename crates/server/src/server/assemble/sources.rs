//! Builds the sources and the schedules.

use std::sync::Arc;

use svc_clock::Clock;

use super::Base;
use crate::{
    events::{deliver::Deliverers, emit::Emitter},
    options::Options,
    schedules::Schedules,
    sources::Sources,
};

pub(super) fn sources(
    base: &Base,
    options: &Options,
    events: &Arc<Emitter>,
    deliverers: &Deliverers,
    clock: Clock,
) -> Sources {
    Sources {
        store: base.store.clone(),
        writer: base.identity.writer.clone(),
        table: base.identity.writer.memory.sources.clone(),
        events: events.clone(),
        secrets: deliverers.secrets.clone(),
        compute: base.compute.clone(),
        metrics: base.metrics.clone(),
        clock,
        quotas: options.quotas,
    }
}

pub(super) fn schedules(
    base: &Base,
    options: &Options,
    events: &Arc<Emitter>,
    clock: Clock,
) -> Arc<Schedules> {
    Arc::new(Schedules {
        store: base.store.clone(),
        writer: base.identity.writer.clone(),
        events: events.clone(),
        compute: base.compute.clone(),
        metrics: base.metrics.clone(),
        clock,
        quotas: options.quotas,
        changed: base.identity.writer.memory.schedules.clone(),
    })
}
