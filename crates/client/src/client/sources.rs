//! Requests about sources and schedules, other than the operations and actions that all
//! resources share.

use svc_core::{ScheduleId, SourceId};
use svc_protocol::api;

use super::{Client, query::with_query};
use crate::error::Error;

impl Client {
    pub async fn source_requests(&self, id: SourceId) -> Result<api::SourceRequests, Error> {
        self.get(&format!("/api/sources/{id}/requests")).await
    }

    pub async fn next_runs(
        &self,
        id: ScheduleId,
        query: &api::NextRunsQuery,
    ) -> Result<api::NextRuns, Error> {
        self.get(&with_query(&format!("/api/schedules/{id}/next"), query))
            .await
    }

    /// The next runs of a cron expression.
    pub async fn preview_schedule(
        &self,
        query: &api::PreviewQuery,
    ) -> Result<api::NextRuns, Error> {
        self.get(&with_query("/api/schedules/preview", query)).await
    }

    /// Emits the event of a schedule now.
    pub async fn run_schedule(&self, id: ScheduleId) -> Result<api::EmittedEvent, Error> {
        self.post(&format!("/api/schedules/{id}/run")).await
    }
}
