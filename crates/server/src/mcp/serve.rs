//! `tools/list` and `tools/call`, for both eras; `legacy` and `modern` write the answers.

use std::sync::Arc;

use bytes::Bytes;
use svc_core::journal::{CallVia, trace_id};
use svc_protocol::{jsonrpc::RpcError, mcp::Params};

use super::{
    Era, Exchange, Mcp, Mode,
    refusal::{Refusal, echo},
    results::ToolResult,
    search,
    tools::{Tool, ToolSource, param_headers},
    view::{Page, View},
};
use crate::methods::calls::{CallFacts, outcome_of};

/// A search in more tools than this takes more than a millisecond and runs on `App::compute`.
const SMALL_SEARCH: usize = 100;

impl Mcp {
    /// One page of tools as JSON.
    pub(super) async fn list_tools(
        &self,
        exchange: &Exchange<'_>,
        era: Era,
        params: &Params<'_>,
    ) -> Result<Page, Refusal> {
        let bad_cursor = || Refusal::invalid_params("the cursor is invalid; list from the start");
        let cursor = params.cursor();
        let cursor = cursor
            .map(|cursor| cursor.ok_or_else(bad_cursor))
            .transpose()?;
        if exchange.mode == Mode::Search {
            return match cursor {
                Some(_) => Err(bad_cursor()),
                None => Ok(Page {
                    tools: Bytes::from_static(search::TOOLS_JSON.as_bytes()),
                    next: None,
                    hidden: None,
                }),
            };
        }
        let view = self.views.get(&exchange.caller.user).await?;
        view.page(era, cursor.as_deref()).ok_or_else(bad_cursor)
    }

    /// Answers `tools/call`.
    pub(super) async fn call_tool(
        &self,
        exchange: &Exchange<'_>,
        era: Era,
        params: &Params<'_>,
    ) -> Result<ToolResult, Refusal> {
        let name = params
            .name()
            .ok_or_else(|| Refusal::invalid_params("`name` must be the name of a tool"))?;
        let arguments = params
            .arguments()
            .map_err(|_| Refusal::invalid_params("`arguments` must be an object"))?;
        let trace = params.traceparent().as_deref().and_then(trace_id);
        let view = self.views.get(&exchange.caller.user).await?;
        if exchange.mode == Mode::Search {
            return match &*name {
                search::SEARCH => self.search(exchange, view, era, arguments).await,
                search::EXECUTE => Ok(self.execute(exchange, era, &view, arguments, trace).await),
                _ => Err(Refusal::unknown_tool(&name)),
            };
        }
        let tool = view
            .find(&name)
            .ok_or_else(|| Refusal::unknown_tool(&name))?;
        if era == Era::Modern {
            param_headers::check(&tool.headers, exchange.headers, arguments)?;
        }
        self.run_tool(exchange, era, tool, arguments, trace)
            .await
            .ok_or_else(|| Refusal::unknown_tool(&name))
    }

    /// Answers `tool_search`.
    async fn search(
        &self,
        exchange: &Exchange<'_>,
        view: Arc<View>,
        era: Era,
        arguments: &str,
    ) -> Result<ToolResult, Refusal> {
        let query = match search::Query::read(arguments) {
            Ok(query) => query,
            Err(error) => return Ok(error),
        };
        if view.tools().len() <= SMALL_SEARCH {
            return Ok(query.answer(&view, era));
        }
        let answer = move |_: &_| query.answer(&view, era);
        let user = exchange.caller.user.id;
        Ok(Box::pin(self.compute.run(user, answer)).await?)
    }

    /// Answers `execute_tool`. Errors become a tool result, so that the model can correct itself.
    async fn execute(
        &self,
        exchange: &Exchange<'_>,
        era: Era,
        view: &View,
        arguments: &str,
        trace: Option<u128>,
    ) -> ToolResult {
        let (name, arguments) = match search::read_execution(arguments) {
            Ok(read) => read,
            Err(error) => return error,
        };
        let unknown = || {
            let name = echo(&name);
            ToolResult::error(&format!(
                "unknown tool `{name}`; find names with tool_search"
            ))
        };
        let Some(tool) = view.find(&name) else {
            return unknown();
        };
        let result = self.run_tool(exchange, era, tool, arguments, trace).await;
        result.unwrap_or_else(unknown)
    }

    /// Runs a tool; `None` if it no longer exists. `trace` is the trace id of the message, and is
    /// used instead of that of the HTTP request.
    async fn run_tool(
        &self,
        exchange: &Exchange<'_>,
        era: Era,
        tool: &Tool,
        arguments: &str,
        trace: Option<u128>,
    ) -> Option<ToolResult> {
        let caller = exchange.caller;
        let reply = match &tool.source {
            ToolSource::Method { visible, .. } => {
                let call = CallFacts {
                    caller,
                    arrived: exchange.arrived,
                    method: visible,
                    params: Some(arguments),
                    via: CallVia::Mcp,
                    trace: trace.as_ref().or(caller.trace.as_deref()),
                };
                self.calls.call_one(&call, exchange.reports).await
            }
            ToolSource::Script(script) => {
                let reply = Box::pin(self.scripts.run(caller, script, arguments)).await;
                let took = exchange.arrived.elapsed();
                let outcome = outcome_of(&reply);
                self.calls.stats.record(caller.user.id, outcome, took);
                reply
            }
        };
        match reply {
            Ok(reply) => Some(ToolResult::of(&reply, tool.output, era)),
            Err(RpcError::MethodNotFound) => None,
            Err(error) => Some(ToolResult::of_failure(&error)),
        }
    }
}
