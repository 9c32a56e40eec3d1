//! Brings the accepted registration to the servers of the side links, which are the other servers
//! of the zone.
//!
//! The home server decides on a registration and issues a ticket, with which the other servers
//! accept the same registration. If a server of a side link refuses the registration, the agent
//! removes the earlier registration from that server. Otherwise that server would send calls for a
//! method server that has ended.

use std::{collections::HashMap, convert::Infallible, future::pending, sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_link::{Control, Register};
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use super::{CurrentRegistration, Registrar, RegistrationError};

/// The registration that the servers of the side links must have.
#[derive(Clone, Default)]
struct WantedRegistration {
    /// Counts the changes.
    version: u64,
    /// `None`: the servers must have no registration.
    register: Option<Arc<Register>>,
}

#[derive(Default)]
pub struct SideRegistrations {
    wanted: watch::Sender<WantedRegistration>,
    /// The last version that each side link has finished, successfully or not.
    finished: Mutex<HashMap<u64, u64>>,
    finished_one: Notify,
}

/// Removes a side link from `finished` when the link ends, so that [`SideRegistrations::wait`] does
/// not wait for it.
struct OpenSide<'a> {
    sides: &'a SideRegistrations,
    link: u64,
}

impl Drop for OpenSide<'_> {
    fn drop(&mut self) {
        self.sides.finished.lock().remove(&self.link);
        self.sides.finished_one.notify_waiters();
    }
}

impl SideRegistrations {
    /// Sets the registration that the servers of the side links must have. A registration without
    /// a ticket counts as none.
    pub fn set(&self, current: Option<&CurrentRegistration>) {
        let register = current.and_then(|current| {
            Some(Register {
                registration: current.registration.clone(),
                generation: current.generation,
                replace_conflicting: false,
                place: current.place,
                ticket: Some(current.ticket.clone()?),
            })
        });
        self.wanted.send_if_modified(|wanted| {
            let key = |register: &Register| {
                (register.generation, register.place, register.ticket.clone())
            };
            let known = wanted.register.as_deref().map(key);
            let changed = known != register.as_ref().map(key);
            if changed {
                wanted.version += 1;
                wanted.register = register.map(Arc::new);
            }
            changed
        });
    }

    /// Waits until every side link has finished the last change, at most for `limit`. Until then,
    /// calls of the previous generation may arrive.
    pub async fn wait(&self, limit: Duration) {
        let version = self.wanted.borrow().version;
        let finished = async {
            loop {
                let notified = self.finished_one.notified();
                if self.finished.lock().values().all(|last| *last >= version) {
                    return;
                }
                notified.await;
            }
        };
        if timeout(limit, finished).await.is_err() {
            tracing::info!("a server of a side link has not taken over the registration in time");
        }
    }

    fn enter(&self, link: u64) -> OpenSide<'_> {
        self.finished.lock().insert(link, 0);
        OpenSide { sides: self, link }
    }

    fn finish(&self, link: u64, version: u64) {
        self.finished.lock().insert(link, version);
        self.finished_one.notify_waiters();
    }
}

impl Registrar {
    /// Registers on a side link, and again after each change. The caller drops the future when the
    /// link ends.
    pub async fn keep_side_registered(&self, link: u64) -> Infallible {
        let mut wanted = self.sides.wanted.subscribe();
        let _open = self.sides.enter(link);
        let mut delays = self.services.policy.reregister.delays();
        loop {
            let WantedRegistration { version, register } = wanted.borrow_and_update().clone();
            let done = self.register_on(link, register.as_deref()).await;
            if let Err(RegistrationError::Refused(problem)) = &done {
                tracing::warn!(error = %problem, "a server of a side link refuses the registration; retrying");
                // Otherwise the server would keep the methods of an earlier generation.
                let _ = self.register_on(link, None).await;
            }
            self.sides.finish(link, version);
            let changed = match done {
                Ok(()) => {
                    delays = self.services.policy.reregister.delays();
                    let server = self.view.lock().server.clone();
                    if let Some(server) = server {
                        server.report();
                    }
                    wanted.changed().await
                }
                Err(_) => tokio::select! {
                    changed = wanted.changed() => changed,
                    () = sleep(delays.next_jittered()) => Ok(()),
                },
            };
            if changed.is_err() {
                return pending().await;
            }
        }
    }

    async fn register_on(
        &self,
        link: u64,
        register: Option<&Register>,
    ) -> Result<(), RegistrationError> {
        let control = match register {
            Some(register) => Control::Register(Box::new(register.clone())),
            None => Control::Unregister,
        };
        let asking = self.services.outbox.request_on(link, &control);
        match timeout(self.services.policy.register_timeout, asking).await {
            Ok(Ok(Control::Registered(_) | Control::Unregistered)) => Ok(()),
            Ok(Ok(Control::RegisterRefused { problem })) => {
                Err(RegistrationError::Refused(problem))
            }
            Ok(Ok(answer)) => {
                tracing::error!(?answer, "a server sent an unexpected answer on a side link");
                Err(RegistrationError::LinkLost)
            }
            Ok(Err(_)) => Err(RegistrationError::LinkLost),
            Err(_) => Err(RegistrationError::TimedOut),
        }
    }
}
