//! A method or a stored script as a tool: its name, and its schemas made safe.
//!
//! A list is read as a whole: one schema that a client cannot take costs it every tool. So what
//! others publish is changed as little as possible, and as much as clients in use need.

pub mod param_headers;
mod schema;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use svc_core::{UserId, name::tool_name, visibility::visible_name};

use self::param_headers::ParamHeader;
use crate::{identity::User, methods::registry::Definition, scripts::ScriptTool};

/// One tool as one user sees it.
pub struct Tool {
    pub name: Arc<str>,
    pub target: Target,
    pub output: Output,
    /// Arguments that modern clients repeat in headers.
    pub headers: Vec<ParamHeader>,
}

/// What stands behind a tool.
pub enum Target {
    Method {
        /// The name the user calls it by.
        visible: String,
        definition: Arc<Definition>,
    },
    Script(Arc<ScriptTool>),
}

/// Which lists say what a successful result looks like; there it then also has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    Unsaid,
    /// An object; both eras know that.
    Object,
    /// Any value; only the modern era knows that.
    AnyValue,
}

/// A tool and its place in the lists.
pub struct Projected {
    pub tool: Tool,
    /// Whether it is the user's own, and when it was registered: what decides over a name.
    pub is_own: bool,
    pub place: u64,
    /// As JSON; the legacy form only where it is another one.
    pub modern: String,
    pub legacy: Option<String>,
}

impl Tool {
    pub fn description(&self) -> &str {
        match &self.target {
            Target::Method { definition, .. } => &definition.description,
            Target::Script(script) => &script.description,
        }
    }

    pub fn keywords(&self) -> &[String] {
        match &self.target {
            Target::Method { definition, .. } => &definition.keywords,
            Target::Script(_) => &[],
        }
    }

    fn public_name(&self) -> String {
        match &self.target {
            Target::Method { visible, .. } => tool_name(visible),
            // People name scripts freely; clients take letters, digits, `_` and `-`.
            Target::Script(script) => script.name.replace(|c: char| !is_name_character(c), "_"),
        }
    }

    /// The name that people know what stands behind it by.
    pub fn source(&self) -> &str {
        match &self.target {
            Target::Method { visible, .. } => visible,
            Target::Script(script) => &script.name,
        }
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
}

/// A method as a tool of `viewer`; `None` if it is none, or its owner is gone.
pub fn of_method(
    viewer: UserId,
    owner: &User,
    definition: &Arc<Definition>,
    place: u64,
) -> Option<Projected> {
    definition.tool_name.as_ref()?;
    let is_own = owner.id == viewer;
    if !is_own && !owner.active {
        return None;
    }
    let target = Target::Method {
        visible: visible_name(viewer, owner.as_owner(), &definition.name).into_owned(),
        definition: Arc::clone(definition),
    };
    Some(project(
        target,
        definition.params_schema.as_ref(),
        definition.result_schema.as_ref(),
        is_own,
        place,
    ))
}

pub fn of_script(script: &Arc<ScriptTool>) -> Projected {
    let target = Target::Script(Arc::clone(script));
    // Scripts stand behind methods of the same kind: a method is there because a space runs.
    project(
        target,
        script.params_schema.as_ref(),
        None,
        script.is_own,
        u64::MAX,
    )
}

fn project(
    target: Target,
    params_schema: Option<&Value>,
    result_schema: Option<&Value>,
    is_own: bool,
    place: u64,
) -> Projected {
    let mut input = params_schema.cloned().unwrap_or_else(|| json!({}));
    schema::make_object_root(&mut input);
    let headers = param_headers::take(&mut input);
    let output = result_schema.and_then(schema::portable_output);
    let mut tool = Tool {
        name: Arc::default(),
        target,
        output: match &output {
            None => Output::Unsaid,
            Some(schema) if schema.get("type") == Some(&json!("object")) => Output::Object,
            Some(_) => Output::AnyValue,
        },
        headers,
    };
    tool.name = tool.public_name().into();
    let write = |output_schema: Option<&Value>| {
        let written = Written {
            name: &tool.name,
            description: tool.description(),
            input_schema: &input,
            output_schema,
        };
        serde_json::to_string(&written).expect("a tool is always JSON")
    };
    Projected {
        modern: write(output.as_ref()),
        legacy: (tool.output == Output::AnyValue).then(|| write(None)),
        tool,
        is_own,
        place,
    }
}
