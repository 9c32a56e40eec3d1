//! `tools/list` and `tools/call`, for both protocol eras (see `era`). The modules `legacy` and
//! `modern` write the answers.

use std::sync::Arc;

use bytes::Bytes;
use svc_core::{TraceContext, journal::CallVia};
use svc_protocol::{jsonrpc::RpcError, mcp::Params};

use super::{
    Era, Exchange, Mcp, Mode,
    refusal::{Refusal, echo},
    results::ToolResult,
    search,
    tools::{Tool, ToolSource, param_headers},
    view::{Page, View},
};
use crate::{
    methods::{
        calls::{CallFacts, unread_answers},
        ended_call::{CallSubject, EndedCall, Ending},
    },
    traces::RunningTrace,
};

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
        let trace = params.trace();
        let view = self.views.get(&exchange.caller.user).await?;
        if exchange.mode == Mode::Search {
            return match &*name {
                search::SEARCH => self.search(exchange, view, era, arguments).await,
                search::EXECUTE => {
                    let trace = trace.as_ref();
                    Ok(self.execute(exchange, era, &view, arguments, trace).await)
                }
                _ => Err(Refusal::unknown_tool(&name)),
            };
        }
        let tool = view
            .find(&name)
            .ok_or_else(|| Refusal::unknown_tool(&name))?;
        if era == Era::Modern {
            param_headers::check(&tool.headers, exchange.headers, arguments)?;
        }
        self.run_tool(exchange, era, tool, arguments, trace.as_ref())
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
        trace: Option<&TraceContext>,
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

    /// Runs a tool; `None` if it no longer exists. `trace` is the trace context of the message,
    /// which has priority over the trace context of the HTTP request.
    async fn run_tool(
        &self,
        exchange: &Exchange<'_>,
        era: Era,
        tool: &Tool,
        arguments: &str,
        trace: Option<&TraceContext>,
    ) -> Option<ToolResult> {
        let caller = exchange.caller;
        let parent = trace.or(caller.trace.as_deref());
        let traces = &self.calls.recorder.traces;
        let reply = match &tool.source {
            ToolSource::Method { visible, .. } => {
                let call = CallFacts {
                    caller,
                    arrived: exchange.arrived,
                    method: visible,
                    params: Some(arguments),
                    via: CallVia::Mcp,
                    trace: traces.begin(caller.user.id, parent),
                };
                let (reports, served) = (exchange.reports, exchange.served);
                self.calls.call_one(&call, reports, served).await
            }
            ToolSource::Script(script) => {
                let trace = traces.begin(caller.user.id, parent);
                let context = trace.as_deref().map(RunningTrace::context);
                let running = self.scripts.run(caller, script, arguments, context);
                let reply = Box::pin(running).await;
                self.calls.recorder.ended(&EndedCall {
                    subject: CallSubject::Script(&script.name),
                    caller: caller.user.id,
                    credential: caller.credential.in_journal(),
                    via: CallVia::Mcp,
                    ending: Ending::of(&reply),
                    took: exchange.arrived.elapsed(),
                    params: Some(arguments),
                    reply: reply.as_ref().ok(),
                    trace: trace.as_deref(),
                });
                reply
            }
        };
        match reply {
            Ok(reply) => {
                let result = ToolResult::of(&reply, tool.output, era);
                // The result is a copy that replaces the reply in memory.
                let replaced = match &tool.source {
                    ToolSource::Method { .. } => reply.size(),
                    // Only the link counts replies.
                    ToolSource::Script(_) => 0,
                };
                let (user, bytes) = (caller.user.id, (result.members.len(), replaced));
                let counted = exchange.hold.add(&self.calls.answers, user, bytes);
                Some(match counted {
                    Ok(()) => result,
                    Err(full) => ToolResult::of_failure(&unread_answers(full, true)),
                })
            }
            Err(RpcError::MethodNotFound) => None,
            Err(error) => Some(ToolResult::of_failure(&error)),
        }
    }
}
