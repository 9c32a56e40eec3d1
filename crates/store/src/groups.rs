//! Groups and their members.

use svc_core::{GroupId, UserId};
use svc_protocol::api::Group;

use super::{
    error::StoreError,
    record::record,
    records::kept,
    sql::{Tx, values},
};

record! { Group in "groups": id, name, created_at }

kept! {
    Group "group": GroupId, fixed [created_at], of (): (), unique [name] named name
}

pub fn is_member(tx: &mut Tx<'_>, id: GroupId, user: UserId) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT user_id FROM user_groups WHERE group_id = ?1 AND user_id = ?2",
        values![id, user],
    )
}
