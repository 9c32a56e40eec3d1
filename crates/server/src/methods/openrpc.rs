//! The methods that a caller sees as an OpenRPC document: `rpc.discover`, `GET /api/openrpc.json`.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_protocol::api::Method;

use super::discovery::{Discovery, Filter};
use crate::{
    fair_pool::{Cancelled, PoolError},
    identity::Caller,
};

#[derive(Clone)]
pub struct OpenRpc {
    pub discovery: Arc<Discovery>,
}

impl OpenRpc {
    pub async fn document(&self, caller: &Caller) -> Result<Vec<u8>, PoolError> {
        let who = caller.clone();
        let write =
            move |discovery: &Discovery, cancelled: &Cancelled| write(discovery, &who, cancelled);
        self.discovery
            .run_by_size(caller.user.id, &caller.user, false, write)
            .await
    }
}

fn write(discovery: &Discovery, caller: &Caller, cancelled: &Cancelled) -> Vec<u8> {
    let methods = discovery
        .list(caller, &Filter::default(), cancelled)
        .methods;
    let document = json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "svc",
            "description": format!("Methods visible to {}", caller.user.name),
            "version": env!("CARGO_PKG_VERSION"),
        },
        "methods": methods.iter().map(describe).collect::<Vec<_>>(),
    });
    serde_json::to_vec(&document).expect("a JSON value is always JSON")
}

fn describe(method: &Method) -> Value {
    let mut described = json!({
        "name": method.name,
        "description": method.description,
        "tags": method.keywords.iter().map(|word| json!({"name": word})).collect::<Vec<_>>(),
        "paramStructure": "by-name",
        "params": params(method.params_schema.as_ref()),
        "result": {
            "name": "result",
            "schema": method.result_schema.clone().unwrap_or_else(|| json!({})),
        },
    });
    // OpenRPC knows neither; names with `x-` are free.
    if let Some(title) = &method.title {
        described["x-title"] = json!(title);
    }
    if !method.annotations.is_empty() {
        described["x-annotations"] = json!(method.annotations);
    }
    described
}

/// OpenRPC describes each named param separately.
fn params(schema: Option<&Value>) -> Vec<Value> {
    let Some(schema) = schema else {
        return Vec::new();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|n| n == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(
            |(name, schema)| json!({"name": name, "required": is_required(name), "schema": schema}),
        )
        .collect()
}
