//! Requests about stored scripts, besides those of all resources.

use http::Method;
use svc_core::ScriptId;
use svc_protocol::api::{self, PageQuery, ScriptQuery};

use super::{Client, query::page_path};
use crate::error::Error;

impl Client {
    /// One page of the caller's own scripts and the global scripts.
    pub async fn scripts(
        &self,
        page: &PageQuery,
        query: &ScriptQuery,
    ) -> Result<api::Scripts, Error> {
        self.get(&page_path("/api/scripts", page, query)).await
    }

    /// Every script that the query selects.
    pub async fn all_scripts(&self, query: &ScriptQuery) -> Result<Vec<api::Script>, Error> {
        self.list_matching::<api::Scripts, _>(query).await
    }

    /// Runs a tool or a sink's script once, as the caller.
    pub async fn run_script(
        &self,
        id: ScriptId,
        run: &api::RunScript,
    ) -> Result<api::ScriptRunResult, Error> {
        let path = format!("/api/scripts/{id}/run");
        self.send_json(Method::POST, &path, run).await
    }
}
