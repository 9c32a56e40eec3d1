//! Builds the delivery of events: sinks, scripts, and the engine that makes the attempts.

use std::sync::Arc;

use svc_outbound::Outbound;

use super::Base;
use crate::{
    events::{
        deliver::{Deliverers, method::MethodDelivery, webhook::Webhook},
        emit::StorageLimits,
        lanes::{Engine, LanePolicy, Retention, Slots},
        sinks::SinksService,
    },
    options::Options,
    scripts::{InternalApi, ScriptRunner, Scripts, StoredTools, WaitingDelivery},
};

pub(super) fn event_sinks(
    base: &Base,
    options: &Options,
    deliverers: Arc<Deliverers>,
) -> SinksService {
    with_parts!(SinksService of base { store, hub, trials;
        writer: base.identity.writer.clone(),
        deliverers,
        quotas: options.quotas,
    })
}

pub(super) fn scripts(base: &Base, options: &Options, runner: Arc<ScriptRunner>) -> Scripts {
    with_parts!(Scripts of base { store, compute, trials;
        writer: base.identity.writer.clone(),
        tools: Arc::new(StoredTools::new(
            base.store.clone(),
            runner.clone(),
            base.identity.writer.memory.tools.clone(),
        )),
        runner,
        quotas: options.quotas,
    })
}

pub(super) fn runner(base: &Base, options: &Options, api: Arc<InternalApi>) -> Arc<ScriptRunner> {
    let hub = base.hub.clone();
    Arc::new(ScriptRunner::new(
        options.agent_program.clone(),
        options.scripts,
        base.store.clone(),
        base.directory.clone(),
        api,
        base.metrics.clone(),
        move |waiting: WaitingDelivery| hub.wake_attempt(waiting.lane, waiting.failures),
    ))
}

pub(super) fn deliverers(
    base: &Base,
    outbound: Arc<Outbound>,
    scripts: Arc<ScriptRunner>,
) -> Deliverers {
    with_parts!(Deliverers of base { secrets, compute, metrics, traces;
        store: base.store.for_delivery(),
        webhook: Webhook::new(outbound),
        methods: MethodDelivery::new(base.registry.clone(), base.recorder.clone()),
        scripts,
        withheld: Default::default(),
    })
}

pub(super) fn engine(
    base: &Base,
    options: &Options,
    deliverers: Arc<Deliverers>,
) -> Engine<Deliverers> {
    let slots = Slots::default();
    let policy = LanePolicy {
        retry: options.events.retry,
        lease: options.events.lease,
        slots: Slots {
            // One owner gets at most a quarter of the slots. This quarter must be enough for all
            // workers.
            script: slots.script.max(4 * options.scripts.workers),
            ..slots
        },
        retention: Retention {
            keep: options.events.retention,
            ..Retention::default()
        },
        storage: StorageLimits {
            quotas: options.quotas,
            server_bytes: options.events.server_bytes,
        },
        ..LanePolicy::default()
    };
    Engine::new(
        base.store.for_delivery(),
        base.server_id,
        deliverers,
        policy,
        base.shutdown.clone(),
        base.hub.clone(),
    )
}
