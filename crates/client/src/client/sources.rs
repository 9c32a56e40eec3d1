//! Requests about sources and schedules, other than the operations that all resources share.

use http::Method;
use svc_core::{ScheduleId, SourceId};
use svc_protocol::api;

use super::{Client, query::with_query};
use crate::error::Error;

impl Client {
    pub async fn rotate_source(
        &self,
        id: SourceId,
        rotate: &api::RotateSource,
    ) -> Result<api::SourceRotation, Error> {
        let path = format!("/api/sources/{id}/rotate");
        self.send_json(Method::POST, &path, rotate).await
    }

    /// Lets the server sign a request as the sender would, and handle it.
    pub async fn test_source(
        &self,
        id: SourceId,
        test: &api::SourceTest,
    ) -> Result<api::SourceTestResult, Error> {
        let path = format!("/api/sources/{id}/test");
        self.send_json(Method::POST, &path, test).await
    }

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
