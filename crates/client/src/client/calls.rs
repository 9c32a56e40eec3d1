//! Requests about the call journal.

use http::{HeaderMap, HeaderValue, header};
use svc_core::{Id, journal::CallGrouping};
use svc_protocol::api;

use super::{
    Client,
    query::{page_path, with_query},
};
use crate::{error::Error, sse::EventStream};

impl Client {
    /// One page of calls, newest first.
    pub async fn recorded_calls(
        &self,
        page: &api::PageQuery,
        query: &api::CallQuery,
    ) -> Result<api::Calls, Error> {
        self.get(&page_path(api::CALLS_PATH, page, query)).await
    }

    /// One call, with its recorded params and answer.
    pub async fn recorded_call(&self, id: Id) -> Result<api::CallDetail, Error> {
        self.get(&format!("{}/{id}", api::CALLS_PATH)).await
    }

    /// The number of calls of each caller or of each credential.
    pub async fn recorded_call_summary(
        &self,
        by: CallGrouping,
        query: &api::CallQuery,
    ) -> Result<api::CallSummary, Error> {
        let by = api::CallSummaryQuery { by };
        let path = with_query(api::CALL_SUMMARY_PATH, &by);
        self.get(&with_query(&path, query)).await
    }

    /// A stream of new calls.
    pub async fn recorded_call_stream(&self, query: &api::CallQuery) -> Result<EventStream, Error> {
        let accept = HeaderValue::from_static("text/event-stream");
        let headers = HeaderMap::from_iter([(header::ACCEPT, accept)]);
        let path = with_query(&format!("{}/stream", api::CALLS_PATH), query);
        self.open_stream(&path, headers).await
    }
}
