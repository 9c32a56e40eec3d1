//! Restores the registration after a lost link.

use tokio::time::sleep;

use super::{Registrar, RegistrationError};

impl Registrar {
    /// Registers again on every new link, until the agent stops reconnecting.
    pub async fn restore_on_each_link(&self) {
        let mut link = self.link.clone();
        loop {
            let number = link.borrow_and_update().link;
            let restored = async {
                if let Some(number) = number {
                    self.restore(number).await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = restored => {}
                changed = link.changed() => if changed.is_err() {
                    return;
                }
            }
        }
    }

    /// Registers again, with the same generation and with the position that the server assigned
    /// before. Retries until the server accepts the registration, does not answer in time, or the
    /// link is lost.
    async fn restore(&self, link: u64) {
        let mut delays = self.services.policy.reregister.delays();
        loop {
            match self.restore_once(link).await {
                Ok(()) | Err(RegistrationError::LinkLost | RegistrationError::TimedOut) => return,
                Err(error) => {
                    // The home server has rejected the registration, so the servers of the side
                    // links must remove it.
                    if matches!(&error, RegistrationError::Refused(problem) if problem.status < 500)
                    {
                        self.sides.set(None);
                    }
                    let error = error.to_string();
                    tracing::warn!(%error, "the server refuses to restore the registration; it is retried");
                    self.show_refusal(error);
                }
            }
            sleep(delays.next_jittered()).await;
        }
    }

    async fn restore_once(&self, link: u64) -> Result<(), RegistrationError> {
        let mut change = self.change.lock().await;
        if change.closed || change.accepted_on == Some(link) {
            return Ok(());
        }
        let Some(current) = change.current.as_mut() else {
            // The server of a new link may not know that the methods file was refused.
            if let Some(error) = self.error() {
                self.show_refusal(error);
            }
            return Ok(());
        };
        self.ask(current, false).await?;
        self.sides.set(Some(current));
        current.server.report();
        tracing::info!(
            generation = current.generation,
            "registered again after a lost link"
        );
        change.accepted_on = Some(link);
        self.view.lock().error = None;
        Ok(())
    }
}
