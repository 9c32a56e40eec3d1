//! `svc mcp tools` and `svc mcp call`.

use std::time::Duration;

use serde_json::{Value, json};

use super::speak::{HiddenTool, McpClient, ToolList};
use crate::{
    commands::Shell,
    exit::{Exit, Failure, OrFail, Outcome},
    output::{Column, Format, clean},
    prompt,
};

/// Call a tool as an MCP client does
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc mcp call notes_add '{\"text\":\"hello\"}'\n  \
                   svc mcp call user_ann_notes_search '{\"query\":\"he\"}' -o json")]
pub struct Args {
    /// Name as `svc mcp tools` shows it
    tool: String,
    /// Arguments as a JSON object; `-` means stdin, the default if stdin is redirected; empty
    /// means {}
    #[arg(allow_hyphen_values = true)]
    arguments: Option<String>,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "SECONDS", value_parser = prompt::parse_seconds)]
    timeout: Option<Duration>,
}

pub async fn list(shell: &Shell) -> Outcome {
    let ToolList { tools, hidden } = McpClient::new(shell.client()?).tools().await?;
    let empty = "no tools yet; a method becomes a tool with: mcp_tool = true";
    let columns: [Column<Value>; 2] = [
        ("NAME", |tool| text(tool, "name")),
        ("DESCRIPTION", |tool| text(tool, "description")),
    ];
    let output = &shell.output;
    output.list(&json!({ "tools": tools }), empty, &tools, &columns)?;
    for hidden in &hidden {
        eprintln!("{}", clean(&describe(hidden)));
    }
    Ok(Exit::Ok)
}

/// The text in a member, or an empty text.
fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Why a tool is not in the list, and what to do.
fn describe(tool: &HiddenTool) -> String {
    let (hidden, listed, name) = (&tool.hidden, &tool.listed, &tool.tool);
    let advice = match hidden.kind.as_str() {
        "method" => "call the unlisted method with `svc method call`, or rename it",
        _ => "rename the script",
    };
    format!(
        "the {} `{}` is not listed: the {} `{}` has the tool name `{name}`; {advice}",
        hidden.kind, hidden.name, listed.kind, listed.name
    )
}

pub async fn call(shell: &Shell, args: Args) -> Outcome {
    let arguments = prompt::argument_or_stdin(args.arguments)?;
    let arguments = check(&arguments)?;
    let client = McpClient::new(shell.client()?);
    let answer = client.call(&args.tool, arguments, args.timeout).await?;
    let raw = answer.result()?;
    let result: Value = serde_json::from_str(raw.get()).or_fail("cannot read the result")?;
    match shell.output.format {
        Format::Json => shell.output.raw(raw.get().as_bytes())?,
        Format::Yaml => {
            shell.output.data(&result)?;
        }
        Format::Table => {
            for line in lines(&result) {
                shell.output.line(clean(&line))?;
            }
        }
    }
    Ok(Exit::ok_if(result["isError"] != true, Exit::MethodError))
}

/// Arguments must be a JSON object. An empty text means no arguments.
fn check(arguments: &str) -> Result<&str, Failure> {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return Ok("{}");
    }
    prompt::check_json("the arguments", arguments, "svc mcp call <tool>")?;
    if arguments.starts_with('{') {
        Ok(arguments)
    } else {
        Err(Failure::usage("the arguments must be a JSON object"))
    }
}

/// A result for people: texts, and a short description of other content.
fn lines(result: &Value) -> Vec<String> {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks
        .flat_map(|block| match block["type"].as_str() {
            Some("text") => text(block, "text").lines().map(str::to_owned).collect(),
            Some(kind @ ("image" | "audio")) => {
                let bytes = text(block, "data").len() / 4 * 3;
                let format = text(block, "mimeType");
                vec![format!("[{kind} {format}, about {bytes} bytes]")]
            }
            Some("resource_link") => vec![format!("[link {}]", text(block, "uri"))],
            Some("resource") => match block["resource"]["text"].as_str() {
                Some(text) => text.lines().map(str::to_owned).collect(),
                None => vec![format!("[resource {}]", text(&block["resource"], "uri"))],
            },
            _ => vec!["[content of an unknown type]".to_owned()],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_and_other_content_is_described() {
        let result = json!({"content": [
            {"type": "text", "text": "a\nb"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x:y", "text": "inside"}},
            {"type": "news"},
        ]});
        assert_eq!(
            lines(&result),
            [
                "a",
                "b",
                "[image image/png, about 3 bytes]",
                "inside",
                "[content of an unknown type]"
            ]
        );
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(check(" ").expect("nothing"), "{}");
        assert_eq!(check(" {\"a\": 1} ").expect("an object"), "{\"a\": 1}");
        assert!(check("[1]").is_err());
        assert!(check("nope").is_err());
    }
}
