//! One run of the simulation.

use std::{sync::Arc, time::Duration};

use svc_link::FrameKind;
use svc_simulation::{Random, Trace};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    bench::{
        Bench, CANCEL_ANSWER_MAX, CallLimit, Fault, call_payload, draw_patience, register_file,
        space,
    },
    server::{DirectServer, LINK},
};
use crate::{
    link_status::LinkStatus, method_server::simulated::CallEnd, outbox::Caller, policy::Policy,
};

const STEPS: u64 = 60;
/// A call must succeed within this time after the last disturbance: a hung method server is
/// restarted 10 s after the timeout of its calls, and a restart waits at most 30 s.
const RECOVERY_MAX: Duration = Duration::from_secs(60);

pub struct World {
    random: Random,
    bench: Arc<Bench>,
    server: Arc<DirectServer>,
    changes: JoinSet<()>,
    callers: JoinSet<CallEnd>,
    registrations: u64,
    calls: u64,
}

impl World {
    pub async fn run(seed: u64, fault: Option<Fault>) -> Arc<Trace> {
        let mut random = Random::new(seed);
        let bench = Bench::new(&mut random, Policy::default(), fault);
        bench.status.send_replace(LinkStatus {
            link: Some(LINK),
            space: Some(space()),
            ..LinkStatus::default()
        });
        let server = DirectServer::start(&bench, Random::new(random.number()));
        let mut world = Self {
            random,
            bench: Arc::new(bench),
            server,
            changes: JoinSet::new(),
            callers: JoinSet::new(),
            registrations: 0,
            calls: 0,
        };
        world.register();
        for _ in 0..STEPS {
            world.step().await;
        }
        world.settle().await;
        Arc::clone(&world.bench.trace)
    }

    async fn step(&mut self) {
        match self.random.below(100) {
            0..80 => self.call(),
            80..90 => self.register(),
            90..92 => self.unregister(),
            _ => {}
        }
        let pause = match self.random.is_chance(5) {
            true => Duration::from_secs(15),
            false => Duration::from_millis(400),
        };
        sleep(self.random.time_below(pause)).await;
    }

    /// Replaces the registration.
    fn register(&mut self) {
        self.registrations += 1;
        let number = self.registrations;
        let file = register_file(number, CallLimit::draw(&mut self.random));
        let (bench, server) = (Arc::clone(&self.bench), Arc::clone(&self.server));
        self.changes.spawn(async move {
            bench.trace.note(&format!("registration {number} begins"));
            let result = bench.registrar.register(file).await;
            let shown = result.as_ref().map(|_| ()).map_err(ToString::to_string);
            bench
                .trace
                .note(&format!("registration {number} ends: {shown:?}"));
            let current = server.current().map(|current| current.number);
            if result.is_ok() && current != Some(number) {
                let text = format!("registrations: {number} succeeded, {current:?} is in force");
                bench.trace.break_promise(text);
            }
        });
    }

    fn unregister(&mut self) {
        let bench = Arc::clone(&self.bench);
        self.changes.spawn(async move {
            let result = bench.registrar.unregister(None).await;
            let shown = result.map(|_| ()).map_err(|error| error.to_string());
            bench.trace.note(&format!("unregistered: {shown:?}"));
        });
    }

    /// Starts a call. Some callers give up before the timeout.
    fn call(&mut self) {
        let Some(accepted) = self.server.choose(&mut self.random) else {
            return;
        };
        self.calls += 1;
        let (call, bench) = (self.calls, Arc::clone(&self.bench));
        let payload = call_payload(accepted.generation, call, &mut self.random);
        let patience = draw_patience(&mut self.random);
        self.callers.spawn(async move {
            let end = bench.ledger.sends(call, accepted.number);
            let caller = Caller {
                link: LINK,
                frame: call,
            };
            bench.registrar.routes.call(caller, payload);
            let cancel = || bench.registrar.routes.cancel(caller);
            bench
                .wait_for_end(call, end, patience, cancel, CANCEL_ANSWER_MAX)
                .await
        });
    }

    /// Ends all disturbances, and checks that a call succeeds and that everything ends.
    async fn settle(&mut self) {
        self.bench.trace.note("all disturbances end");
        self.bench.programs.calm_down();
        self.server.calm_down();
        while self.changes.join_next().await.is_some() {}
        if self.server.current().is_none() || self.random.is_chance(50) {
            self.register();
            while self.changes.join_next().await.is_some() {}
            let current = self.server.current().map(|current| current.number);
            if current != Some(self.registrations) {
                let text = format!("registrations: {current:?} is in force at the end");
                self.bench.trace.break_promise(text);
                return;
            }
        }
        while self.callers.join_next().await.is_some() {}
        self.check_recovery().await;
        self.bench.finish().await;
    }

    async fn check_recovery(&mut self) {
        let began = Instant::now();
        loop {
            self.call();
            let end = self.callers.join_next().await.expect("a call");
            if end.expect("a caller does not panic") == CallEnd::Answered(FrameKind::Result) {
                return;
            }
            if began.elapsed() > RECOVERY_MAX {
                let text = format!("in time: no call succeeds within {RECOVERY_MAX:?}");
                return self.bench.trace.break_promise(text);
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}
