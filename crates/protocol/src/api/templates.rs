//! Bodies of `/api/templates`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_core::{ScriptId, TemplateId, Timestamp, space::HealthCheck};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Template {
    pub id: TemplateId,
    pub name: String,
    pub ports: Vec<Port>,
    pub startup_script_id: Option<ScriptId>,
    pub health_check: Option<HealthCheck>,
    pub custom_fields: BTreeMap<String, String>,
    pub created_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    pub name: String,
    pub port: u16,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTemplate {
    pub name: String,
    #[serde(default)]
    pub ports: Vec<Port>,
    pub startup_script_id: Option<ScriptId>,
    pub health_check: Option<HealthCheck>,
    #[serde(default)]
    pub custom_fields: BTreeMap<String, String>,
}
