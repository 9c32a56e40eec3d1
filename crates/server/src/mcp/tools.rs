//! Turns a method or a stored script into a tool, with a safe name and safe schemas.
//!
//! Some clients reject a whole list because of one schema that they cannot read. So schemas are
//! changed where clients in use require it, and as little as possible. `era` defines the two
//! protocol eras, modern and legacy.

pub mod param_headers;
mod schema;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use svc_core::{UserId, name::tool_name, registration::Annotations, visibility::visible_name};

use self::param_headers::ParamHeader;
use crate::{identity::User, methods::registry::Definition, tables::ScriptTool};

/// One tool as one user sees it.
pub struct Tool {
    pub name: Arc<str>,
    pub source: ToolSource,
    pub output: OutputSchema,
    /// Arguments that modern clients repeat in headers.
    pub headers: Vec<ParamHeader>,
}

/// The method or script that a tool calls.
pub enum ToolSource {
    Method {
        /// The visible name, by which the user calls the method.
        visible: String,
        definition: Arc<Definition>,
    },
    Script(Arc<ScriptTool>),
}

/// The output schema that lists show for a tool. A successful result must match it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputSchema {
    /// No schema.
    Absent,
    /// A schema for an object, in both eras.
    Object,
    /// A schema for another type, which only the modern era allows.
    AnyValue,
}

/// A tool and its serialised forms.
pub struct ListedTool {
    pub tool: Tool,
    /// Whether the tool is the user's own. If several tools have the same name, only one is
    /// listed: the user's own before others, then the tool with the lowest `place`.
    pub is_own: bool,
    /// The position in the order of registration.
    pub place: u64,
    /// The tool as JSON, for the modern era.
    pub modern: String,
    /// The tool as JSON, for the legacy era; `None` if it is the same.
    pub legacy: Option<String>,
}

impl Tool {
    pub fn description(&self) -> &str {
        match &self.source {
            ToolSource::Method { definition, .. } => &definition.description,
            ToolSource::Script(script) => &script.description,
        }
    }

    pub fn title(&self) -> Option<&str> {
        match &self.source {
            ToolSource::Method { definition, .. } => definition.title.as_deref(),
            ToolSource::Script(script) => script.title.as_deref(),
        }
    }

    fn annotations(&self) -> Annotations {
        match &self.source {
            ToolSource::Method { definition, .. } => definition.annotations,
            ToolSource::Script(script) => script.annotations,
        }
    }

    pub fn keywords(&self) -> &[String] {
        match &self.source {
            ToolSource::Method { definition, .. } => &definition.keywords,
            ToolSource::Script(_) => &[],
        }
    }

    fn public_name(&self) -> String {
        match &self.source {
            ToolSource::Method { visible, .. } => tool_name(visible),
            // A script's name may contain other characters than the letters, digits, `_` and `-`
            // that clients accept.
            ToolSource::Script(script) => script.name.replace(|c: char| !is_name_character(c), "_"),
        }
    }

    /// `method` or `script`.
    pub fn source_kind(&self) -> &'static str {
        match &self.source {
            ToolSource::Method { .. } => "method",
            ToolSource::Script(_) => "script",
        }
    }

    /// The name of the method or script, as users know it.
    pub fn source_name(&self) -> &str {
        match &self.source {
            ToolSource::Method { visible, .. } => visible,
            ToolSource::Script(script) => &script.name,
        }
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolJson<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Hints>,
}

/// Annotations with the names of MCP. Hints without a value are left out: clients have defaults.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_world_hint: Option<bool>,
}

impl Hints {
    /// `None` if no hint has a value.
    fn of(annotations: Annotations) -> Option<Self> {
        (!annotations.is_empty()).then_some(Self {
            read_only_hint: annotations.read_only,
            destructive_hint: annotations.destructive,
            idempotent_hint: annotations.idempotent,
            open_world_hint: annotations.open_world,
        })
    }
}

/// A method as a tool of `viewer`; `None` if it is not published as a tool, or its owner is
/// inactive.
pub fn of_method(
    viewer: UserId,
    owner: &User,
    definition: &Arc<Definition>,
    place: u64,
) -> Option<ListedTool> {
    definition.tool_name.as_ref()?;
    let is_own = owner.id == viewer;
    if !is_own && !owner.active {
        return None;
    }
    let source = ToolSource::Method {
        visible: visible_name(viewer, owner.as_owner(), &definition.name).into_owned(),
        definition: Arc::clone(definition),
    };
    Some(project(
        source,
        definition.params_schema.as_ref(),
        definition.result_schema.as_ref(),
        is_own,
        place,
    ))
}

pub fn of_script(script: &Arc<ScriptTool>) -> ListedTool {
    let source = ToolSource::Script(Arc::clone(script));
    // Scripts have the last place. If a method and a script have the same tool name, the method is
    // listed, unless the script is the user's own and the method is not.
    project(
        source,
        script.params_schema.as_ref(),
        None,
        script.is_own,
        u64::MAX,
    )
}

fn project(
    source: ToolSource,
    params_schema: Option<&Value>,
    result_schema: Option<&Value>,
    is_own: bool,
    place: u64,
) -> ListedTool {
    let mut input = params_schema.cloned().unwrap_or_else(|| json!({}));
    schema::make_object_root(&mut input);
    let headers = param_headers::extract(&mut input);
    let output = result_schema.and_then(schema::portable_output);
    let mut tool = Tool {
        name: Arc::default(),
        source,
        output: match &output {
            None => OutputSchema::Absent,
            Some(schema) if schema.get("type") == Some(&json!("object")) => OutputSchema::Object,
            Some(_) => OutputSchema::AnyValue,
        },
        headers,
    };
    tool.name = tool.public_name().into();
    let write = |output_schema: Option<&Value>| {
        let tool_json = ToolJson {
            name: &tool.name,
            title: tool.title(),
            description: tool.description(),
            input_schema: &input,
            output_schema,
            annotations: Hints::of(tool.annotations()),
        };
        serde_json::to_string(&tool_json).expect("a tool is always JSON")
    };
    ListedTool {
        modern: write(output.as_ref()),
        legacy: (tool.output == OutputSchema::AnyValue).then(|| write(None)),
        tool,
        is_own,
        place,
    }
}
