//! Bodies of `/api/templates`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{ScriptId, TemplateId, Timestamp, name::FreeName, space::HealthCheck};

use svc_derive::Patch;

use super::PORTS_MAX;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Template {
    pub id: TemplateId,
    pub name: String,
    pub ports: Vec<Port>,
    pub startup_script_id: Option<ScriptId>,
    pub health_check: Option<HealthCheck>,
    pub custom_fields: BTreeMap<String, String>,
    pub created_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    #[schemars(with = "FreeName")]
    pub name: String,
    #[schemars(range(min = 1))]
    pub port: u16,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "web", "ports": [{"name": "http", "port": 8080}]}))]
#[patch(
    TemplatePatch of Template,
    "A merge patch; `null` resets a member to its default, or removes a custom field.",
    example = json!({"ports": [{"name": "http", "port": 8081}]})
)]
pub struct NewTemplate {
    #[schemars(with = "FreeName")]
    pub name: String,
    #[serde(default)]
    #[schemars(length(max = PORTS_MAX))]
    #[patch(type = Option<Vec<Port>>)]
    pub ports: Vec<Port>,
    pub startup_script_id: Option<ScriptId>,
    pub health_check: Option<HealthCheck>,
    #[serde(default)]
    #[patch(merge, type = Option<BTreeMap<String, Option<String>>>)]
    pub custom_fields: BTreeMap<String, String>,
}
