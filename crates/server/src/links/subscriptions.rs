//! Keeps the stored subscriptions of a space equal to those of its registration. They are stored so
//! that they survive a restart of the server.

use std::sync::Arc;

use svc_core::{LaneId, Quotas, SpaceId, space::State, subscription::Subscription};
use svc_store::{
    StoreError, Tx,
    lanes::{self, Withdrawal},
    records,
    spaces::SpaceRow,
};

use super::Links;
use crate::{events, live::LiveSpace, methods::publish::RegistrationRejected};

impl Links {
    /// Replaces the stored subscriptions of a space. Most spaces have none, or have the same as
    /// before, and need no write. `quotas` limits the subscriptions of a new registration.
    pub(super) async fn declare(
        &self,
        live: &Arc<LiveSpace>,
        subscriptions: Vec<Subscription>,
        quotas: Option<Quotas>,
    ) -> Result<Vec<LaneId>, RegistrationRejected> {
        let (owner, space) = (live.owner, live.id);
        let none = subscriptions.is_empty();
        if none && !self.declares(space) {
            return Ok(Vec::new());
        }
        let subscriptions = Arc::new(subscriptions);
        if !none && let Some(lanes) = self.find_declared(live, &subscriptions).await? {
            self.note_declaring(space, true);
            return Ok(lanes);
        }
        let declaring =
            self.lifecycle
                .store
                .try_write(move |tx| -> Result<_, RegistrationRejected> {
                    // A space that was stopped or deleted in the meantime declares nothing.
                    let row = records::find::<SpaceRow>(tx, space)?;
                    if !none && row.is_none_or(|row| row.state != State::Deployed) {
                        return Ok(Vec::new());
                    }
                    let before = lanes::totals_of(tx, owner)?;
                    let lanes = events::subscriptions::declare(tx, owner, space, &subscriptions)?;
                    if let Some(quotas) = quotas {
                        before.check_growth(lanes::totals_of(tx, owner)?, &quotas)?;
                    }
                    Ok(lanes)
                });
        let lanes = declaring.await?;
        self.note_declaring(space, !none);
        Ok(lanes)
    }

    /// The lanes of the subscriptions, if the space declares exactly these.
    async fn find_declared(
        &self,
        live: &LiveSpace,
        subscriptions: &Arc<Vec<Subscription>>,
    ) -> Result<Option<Vec<LaneId>>, StoreError> {
        let (space, subscriptions) = (live.id, Arc::clone(subscriptions));
        let finding = move |tx: &mut Tx<'_>| lanes::find_declared(tx, space, &subscriptions);
        self.lifecycle.store.read(finding).await
    }

    /// Removes the subscriptions of a space that did not register again, except those with
    /// `event_overflow = "hold"`.
    pub(super) async fn withdraw_absent(&self, live: &LiveSpace) -> Result<(), StoreError> {
        let space = live.id;
        let withdrawing = self.lifecycle.store.write(move |tx| {
            events::subscriptions::withdraw_space(tx, space, Withdrawal::ExceptHolding)?;
            lanes::declares(tx, space)
        });
        let declares = withdrawing.await?;
        self.note_declaring(space, declares);
        Ok(())
    }

    pub(super) fn declares(&self, space: SpaceId) -> bool {
        self.declaring.lock().contains(&space)
    }

    pub(super) fn note_declaring(&self, space: SpaceId, declares: bool) {
        let mut declaring = self.declaring.lock();
        if declares {
            declaring.insert(space);
        } else {
            declaring.remove(&space);
        }
    }

    /// Wakes lanes that wait for a provider.
    pub(super) fn wake(&self, lanes: Vec<LaneId>) {
        lanes
            .into_iter()
            .for_each(|lane| self.lifecycle.hub.wake_lane(lane));
    }
}
