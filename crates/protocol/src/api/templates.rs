//! Bodies of `/api/templates`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{ScriptId, TemplateId, Timestamp, name::FreeName, space::HealthCheck};

use super::{
    PORTS_MAX,
    patch::{nullable, set},
};

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

/// A merge patch; `null` resets a member to its default, or removes a custom field.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({"ports": [{"name": "http", "port": 8081}]}))]
pub struct TemplatePatch {
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FreeName")]
    pub name: Option<String>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = PORTS_MAX))]
    pub ports: Option<Option<Vec<Port>>>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub startup_script_id: Option<Option<ScriptId>>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub health_check: Option<Option<HealthCheck>>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub custom_fields: Option<Option<BTreeMap<String, Option<String>>>>,
}
