//! Groups: create, rename, delete.
//!
//! Renaming or deleting a group affects its members, so the caller must be allowed to act on them.

use serde_json::json;
use svc_core::{GroupId, UserId, name::check_free_name};
use svc_protocol::api;
use svc_store::{
    PageRequest, memberships, records, sinks, users::UserFilter, zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::{Identity, caller::Caller, power::Actor};
use crate::records::{RecordError, Result, check_limit, check_name_free};

/// The maximum number of groups. Every server of a zone holds all groups in memory.
const GROUPS_MAX: u64 = 10_000;

impl Identity {
    pub async fn create_group(&self, caller: &Caller, body: api::GroupBody) -> Result<api::Group> {
        check_name(&body.name)?;
        let group = api::Group {
            id: GroupId(Uuid::now_v7()),
            name: body.name,
            created_at: self.clock.now(),
        };
        let detail = json!({"name": group.name});
        self.change(caller, move |tx, caller| {
            check_name_free(tx, &group)?;
            check_limit(
                records::count::<api::Group>(tx, &())?,
                GROUPS_MAX,
                "groups",
                "too_many_groups",
            )?;
            records::insert(tx, &group)?;
            tx.audit(caller, "group.created", ("group", group.id), detail)?;
            tx.affects(ZoneChange::Groups);
            Ok(group)
        })
        .await
    }

    pub async fn list_groups(&self, page: PageRequest) -> Result<api::Groups> {
        let page = self
            .store
            .read(move |tx| records::list::<api::Group>(tx, &(), page))
            .await?;
        Ok(page.into_list())
    }

    pub async fn get_group(&self, id: GroupId) -> Result<api::Group> {
        let reading = self.store.read(move |tx| records::get(tx, id));
        Ok(reading.await?)
    }

    /// The number of active script sinks of the members of a group.
    pub async fn count_script_sinks(&self, reader: UserId, id: GroupId) -> Result<u64> {
        let reading = self.store.read_list(reader, move |tx| {
            records::get::<api::Group>(tx, id)?;
            sinks::count_scripts_of_members(tx, id)
        });
        Ok(reading.await?)
    }

    /// Methods published for the group stay visible to its members: methods refer to a group by id.
    pub async fn rename_group(
        &self,
        caller: &Caller,
        id: GroupId,
        body: api::GroupBody,
    ) -> Result<api::Group> {
        check_name(&body.name)?;
        self.change(caller, move |tx, caller| {
            let group: api::Group = records::get(tx, id)?;
            Actor::read(tx, caller)?.check_users(tx, UserFilter::Group(id))?;
            if body.name == group.name {
                return Ok(group);
            }
            let detail = json!({"name": body.name, "previous": group.name});
            let renamed = api::Group {
                name: body.name,
                ..group
            };
            check_name_free(tx, &renamed)?;
            records::replace(tx, &renamed)?;
            tx.audit(caller, "group.updated", ("group", id), detail)?;
            let members = memberships::list_users(tx, id)?;
            tx.affects_users(members);
            tx.affects(ZoneChange::Groups);
            Ok(renamed)
        })
        .await
    }

    /// Methods published for the group are no longer visible through it.
    pub async fn delete_group(&self, caller: &Caller, id: GroupId) -> Result<()> {
        self.change(caller, move |tx, caller| {
            let group: api::Group = records::get(tx, id)?;
            Actor::read(tx, caller)?.check_users(tx, UserFilter::Group(id))?;
            let members = memberships::list_users(tx, id)?;
            records::delete::<api::Group>(tx, id)?;
            let detail = json!({"name": group.name, "members": members.len()});
            tx.audit(caller, "group.deleted", ("group", id), detail)?;
            tx.affects_users(members);
            tx.affects(ZoneChange::Groups);
            Ok(())
        })
        .await
    }
}

/// Rejects names that are valid ids: requests may refer to a group by name or by id.
fn check_name(name: &str) -> Result<()> {
    check_free_name("group", name)?;
    if Uuid::parse_str(name).is_ok() {
        return Err(RecordError::new(
            "invalid_name",
            format!("group name `{name}` reads like an id; choose another"),
        ));
    }
    Ok(())
}
