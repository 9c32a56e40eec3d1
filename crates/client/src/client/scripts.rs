//! Stored scripts, beyond what all resources have in common.

use http::Method;
use svc_core::ScriptId;
use svc_protocol::api::{self, ScriptKind, ScriptOwner};

use super::{Client, Page, routes::page_path};
use crate::error::Error;

/// Which scripts are wanted.
#[derive(Clone, Debug, Default)]
pub struct ScriptFilter {
    pub kind: Option<ScriptKind>,
    pub owner: Option<ScriptOwner>,
    pub name: Option<String>,
}

impl Client {
    /// One page of the caller's own scripts and the global ones.
    pub async fn scripts(&self, page: &Page, filter: &ScriptFilter) -> Result<api::Scripts, Error> {
        let kind = filter.kind.map(|kind| match kind {
            ScriptKind::Startup => "startup",
            ScriptKind::Library => "library",
            ScriptKind::Sink => "sink",
            ScriptKind::Tool => "tool",
        });
        let owner = filter.owner.map(|owner| match owner {
            ScriptOwner::User => "user",
            ScriptOwner::Global => "global",
        });
        let filters = [
            ("kind", kind),
            ("owner", owner),
            ("name", filter.name.as_deref()),
        ];
        self.get(&page_path("/api/scripts", page, &filters)).await
    }

    /// Every script that passes the filter.
    pub async fn all_scripts(&self, filter: &ScriptFilter) -> Result<Vec<api::Script>, Error> {
        let (mut page, mut all) = (Page::default(), Vec::new());
        loop {
            let mut found = self.scripts(&page, filter).await?;
            all.append(&mut found.scripts);
            match found.next_cursor {
                // A cursor that does not move would be read for ever.
                Some(next) if page.cursor.as_ref() != Some(&next) => page.cursor = Some(next),
                _ => return Ok(all),
            }
        }
    }

    /// Tries a tool or a sink's script as the caller.
    pub async fn run_script(
        &self,
        id: ScriptId,
        run: &api::RunScript,
    ) -> Result<api::RanScript, Error> {
        let path = format!("/api/scripts/{id}/run");
        self.send_json(Method::POST, &path, run).await
    }
}
