//! Method subscriptions of spaces: declared in the store, so that they outlive a restart, in step
//! with what a space has registered.

use std::sync::Arc;

use svc_core::{LaneId, SpaceId, space::State, subscription::Subscription};
use svc_store::{StoreError, spaces};

use super::Links;
use crate::{events, live::LiveSpace};

impl Links {
    /// Declares what a space subscribes to, in place of what it declared before. Most spaces
    /// subscribe to nothing and cost no write.
    pub(super) async fn declare(
        &self,
        live: &Arc<LiveSpace>,
        subscriptions: Vec<Subscription>,
    ) -> Result<Vec<LaneId>, StoreError> {
        let (owner, space) = (live.owner, live.id);
        if subscriptions.is_empty() && !self.declares(space) {
            return Ok(Vec::new());
        }
        let none = subscriptions.is_empty();
        let declaring = self.lifecycle.store.write(move |tx| {
            // A space that was stopped or deleted meanwhile has nothing to declare.
            let row = spaces::find(tx, space)?;
            if !none && row.is_none_or(|row| row.state != State::Deployed) {
                return Ok(Vec::new());
            }
            events::subscriptions::declare(tx, owner, space, &subscriptions)
        });
        let lanes = declaring.await?;
        self.note_declaring(space, !none);
        Ok(lanes)
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

    /// Lanes that wait for a provider may go on.
    pub(super) fn wake(&self, lanes: Vec<LaneId>) {
        lanes
            .into_iter()
            .for_each(|lane| self.lifecycle.hub.wake_lane(lane));
    }
}
