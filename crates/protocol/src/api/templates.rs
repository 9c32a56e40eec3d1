//! Bodies of `/api/templates`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use svc_core::{ScriptId, TemplateId, Timestamp, name::FreeName, space::HealthCheck};

use super::PORTS_MAX;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "web", "ports": [{"name": "http", "port": 8080}]}))]
pub struct NewTemplate {
    #[schemars(with = "FreeName")]
    pub name: String,
    #[serde(default)]
    #[schemars(length(max = PORTS_MAX))]
    pub ports: Vec<Port>,
    pub startup_script_id: Option<ScriptId>,
    pub health_check: Option<HealthCheck>,
    #[serde(default)]
    pub custom_fields: BTreeMap<String, String>,
}

/// A merge patch of [`NewTemplate`]: `null` resets a member, or removes a custom field.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TemplatePatch(#[schemars(with = "TemplateChange")] pub Value);

/// The members of a [`TemplatePatch`]. This type exists only for its schema.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, example = json!({"ports": [{"name": "http", "port": 8081}]}))]
#[expect(dead_code, reason = "only a schema")]
struct TemplateChange {
    #[schemars(with = "FreeName", default)]
    name: String,
    #[schemars(length(max = PORTS_MAX))]
    ports: Option<Vec<Port>>,
    startup_script_id: Option<ScriptId>,
    health_check: Option<HealthCheck>,
    custom_fields: Option<BTreeMap<String, Option<String>>>,
}
