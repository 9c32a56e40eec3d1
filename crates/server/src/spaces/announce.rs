//! The one place where a transition of a space is announced, inside its transaction.

use svc_core::{
    Id,
    space::{Subject, Transition},
};
use uuid::Uuid;

use crate::{
    clock,
    store::{
        StoreError, Tx,
        spaces::SpaceRow,
        transitions::{self, TransitionRow},
    },
};

/// Records what spec 6.1 says of a transition. `row` is the space as it was before.
pub fn announce(
    tx: &mut Tx<'_>,
    row: &SpaceRow,
    transition: &Transition,
) -> Result<(), StoreError> {
    let subject = Subject {
        id: row.id,
        name: &row.name,
        urls: &row.space_urls,
    };
    transitions::insert(
        tx,
        &TransitionRow {
            id: Id(Uuid::now_v7()),
            space_id: row.id,
            owner_id: row.owner_id,
            event_type: transition.event_type().to_owned(),
            payload: transition.payload(&subject),
            at: clock::now(),
        },
    )
}
