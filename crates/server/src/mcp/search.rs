//! Search mode (`/mcp?tools=search`), for users with hundreds of tools: the list has only two
//! tools, which find and run the others.

mod index;

pub use index::Index;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use svc_protocol::mcp::{is_object, text};

use super::{era::Era, results::ToolResult, view::View};

pub const SEARCH: &str = "tool_search";
pub const EXECUTE: &str = "execute_tool";
/// Instructions for clients in search mode.
pub const INSTRUCTIONS: &str = "Find tools with tool_search and run them with execute_tool.";

/// Tools in the answer to a search: by default, and at most.
const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 50;
/// The maximum number of bytes of tools in the answer to a search; the first tool may be larger.
/// With very large schemas, the answer has fewer tools, and a narrower query finds the others.
const FOUND_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a query that are used; the rest is ignored.
const QUERY_MAX: usize = 1_024;

/// The tools of search mode as JSON, separated by a comma. The annotations of
/// `execute_tool` must be right for any tool that it may run.
pub const TOOLS_JSON: &str = concat!(
    r#"{"name":"tool_search","title":"Find tools","annotations":{"readOnlyHint":true,"openWorldHint":false},"description":"Find tools by what they do. Returns the best matches with names, descriptions and input schemas, and the number of all matches as `total`; run one with execute_tool. An empty query lists the first tools by name.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"Words to look for in names, keywords and descriptions"},"limit":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"Maximum number of tools to return"}},"required":["query"]}},"#,
    r#"{"name":"execute_tool","title":"Run a tool","annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true},"description":"Run a tool that tool_search found.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name, exactly as tool_search returned it"},"arguments":{"type":"object","description":"The tool's arguments, as its input schema requires"}},"required":["name"]}}"#
);

#[derive(Deserialize)]
struct SearchArguments<'a> {
    #[serde(borrow, default)]
    query: Option<&'a RawValue>,
    #[serde(borrow, default)]
    limit: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ExecuteArguments<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// The arguments of `tool_search`.
pub struct Query {
    text: String,
    limit: usize,
}

impl Query {
    /// The error is a tool result, so that the model can correct itself.
    pub fn read(arguments: &str) -> Result<Self, ToolResult> {
        let arguments: SearchArguments<'_> = serde_json::from_str(arguments)
            .map_err(|_| ToolResult::error("`query` and `limit` must occur only once"))?;
        let query = match arguments.query.map(text) {
            None => Cow::Borrowed(""),
            Some(Some(query)) => query,
            Some(None) => return Err(ToolResult::error("`query` must be a string")),
        };
        let limit = arguments.limit.map(|limit| limit.get().parse::<f64>());
        let limit = match limit.transpose().map_err(|_| invalid_limit())? {
            None => LIMIT_DEFAULT,
            Some(limit) if limit.fract() == 0.0 && (1.0..=LIMIT_MAX as f64).contains(&limit) => {
                limit as usize
            }
            Some(_) => return Err(invalid_limit()),
        };
        Ok(Self {
            text: query[..query.floor_char_boundary(QUERY_MAX)].to_owned(),
            limit,
        })
    }

    /// Finds the best tools of a view. Slow for a view with many tools.
    pub fn answer(&self, view: &View, era: Era) -> ToolResult {
        let hits = view.index().search(&self.text);
        ToolResult::object(&self.write(view, era, &hits))
    }

    /// `total` is the number of hits; fewer tools are shown if `limit` or their size requires it.
    fn write(&self, view: &View, era: Era, hits: &[usize]) -> String {
        let list = view.list(era);
        let mut tools = String::new();
        for at in hits.iter().take(self.limit) {
            let tool = String::from_utf8_lossy(list.tool(*at));
            if !tools.is_empty() {
                if tools.len() + tool.len() > FOUND_BYTES_MAX {
                    break;
                }
                tools.push(',');
            }
            tools.push_str(&tool);
        }
        let total = hits.len();
        format!(r#"{{"tools":[{tools}],"total":{total}}}"#)
    }
}

fn invalid_limit() -> ToolResult {
    ToolResult::error(&format!("`limit` must be an integer from 1 to {LIMIT_MAX}"))
}

/// Reads the name and the arguments of a tool from the arguments of `execute_tool`. The error is a
/// tool result, so that the model can correct itself.
pub fn read_execution(arguments: &str) -> Result<(Cow<'_, str>, &str), ToolResult> {
    let read: ExecuteArguments<'_> = serde_json::from_str(arguments)
        .map_err(|_| ToolResult::error("`name` and `arguments` must occur only once"))?;
    let name = read
        .name
        .and_then(text)
        .ok_or_else(|| ToolResult::error("`name` must be the name of a tool; see tool_search"))?;
    match read.arguments.map(RawValue::get) {
        None => Ok((name, "{}")),
        Some(arguments) if is_object(arguments) => Ok((name, arguments)),
        Some(_) => Err(ToolResult::error("`arguments` must be an object")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn search_mode_lists_two_tools() {
        let list: Value = serde_json::from_str(&format!("[{TOOLS_JSON}]")).expect("JSON");
        let names: Vec<_> = list
            .as_array()
            .expect("a list")
            .iter()
            .map(|tool| &tool["name"])
            .collect();
        assert_eq!(names, [SEARCH, EXECUTE]);
    }

    #[test]
    fn execute_tool_needs_a_name_and_accepts_only_an_object_as_arguments() {
        let read = |arguments| {
            read_execution(arguments)
                .ok()
                .map(|(name, arguments)| (name.into_owned(), arguments))
        };
        let check = |arguments, expected: Option<(&str, &'static str)>| {
            let expected = expected.map(|(name, arguments)| (name.to_owned(), arguments));
            assert_eq!(read(arguments), expected, "{arguments}");
        };
        check(r#"{"name":"a"}"#, Some(("a", "{}")));
        check(
            r#"{"name":"a","arguments":{"b":1}}"#,
            Some(("a", r#"{"b":1}"#)),
        );
        check(r#"{"arguments":{}}"#, None);
        check(r#"{"name":7}"#, None);
        check(r#"{"name":"a","arguments":[]}"#, None);
    }
}
