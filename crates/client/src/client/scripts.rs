//! Requests about stored scripts, other than the operations that all resources share.

use http::Method;
use svc_core::ScriptId;
use svc_protocol::api;

use super::Client;
use crate::error::Error;

impl Client {
    /// Runs a tool or a sink's script once, with the permissions of the caller.
    pub async fn run_script(
        &self,
        id: ScriptId,
        run: &api::RunScript,
    ) -> Result<api::ScriptRunResult, Error> {
        let path = format!("/api/scripts/{id}/run");
        self.send_json(Method::POST, &path, run).await
    }
}
