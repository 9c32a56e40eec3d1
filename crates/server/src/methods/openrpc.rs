//! The OpenRPC document of the methods that a caller sees: `rpc.discover`, `GET /api/openrpc.json`.
//!
//! A schema with references is stored in `components`, because its references are valid only there.

mod params;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_core::schema::{Relocated, relocate};
use svc_pool::{Cancelled, PoolError};
use svc_protocol::api::Method;

use self::params::Params;

use super::discovery::{Discovery, Filter};
use crate::identity::Caller;

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
    let description = format!("Methods visible to {}", caller.user.name);
    let document = describe_all(&methods, &description);
    serde_json::to_vec(&document).expect("a JSON value is always JSON")
}

fn describe_all(methods: &[Method], description: &str) -> Value {
    let mut components = Components::default();
    let methods: Vec<_> = methods
        .iter()
        .map(|method| describe(method, &mut components))
        .collect();
    let mut document = json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "svc",
            "description": description,
            "version": env!("CARGO_PKG_VERSION"),
        },
        "methods": methods,
    });
    if !components.0.is_empty() {
        document["components"] = json!({"schemas": components.0});
    }
    document
}

fn describe(method: &Method, components: &mut Components) -> Value {
    let result = method.result_schema.as_ref();
    let result = result.map_or_else(
        || json!({}),
        |schema| components.embed(method, "result", schema),
    );
    let mut described = json!({
        "name": method.name,
        "description": method.description,
        "tags": method.keywords.iter().map(|word| json!({"name": word})).collect::<Vec<_>>(),
        "result": {"name": "result", "schema": result},
    });
    // OpenRPC defines no title, no annotations and no journal. Names that start with `x-` are for
    // extensions.
    if let Some(title) = &method.title {
        described["x-title"] = json!(title);
    }
    if !method.annotations.is_empty() {
        described["x-annotations"] = json!(method.annotations);
    }
    if !method.journal.is_default() {
        described["x-journal"] = json!(method.journal);
    }
    let schema = method.params_schema.as_ref();
    let Some(schema) = schema.map(|schema| components.relocate(method, "params", schema)) else {
        described["paramStructure"] = json!("either");
        described["params"] = json!([]);
        return described;
    };
    let params = Params::read(&schema);
    described["paramStructure"] = json!(params.structure());
    described["params"] = json!(params.describe());
    let is_complete = params.is_complete();
    if !is_complete || schema.has_references {
        let place = components.store(method, "params", schema);
        if !is_complete {
            described["x-params-schema"] = place;
        }
    }
    described
}

/// Schemas that other parts of the document refer to.
#[derive(Default)]
struct Components(Map<String, Value>);

impl Components {
    /// Unique, because the part before the last dot is the name of a method.
    fn key(method: &Method, part: &str) -> String {
        format!("{}.{part}", method.name)
    }

    fn relocate(&self, method: &Method, part: &str, schema: &Value) -> Relocated {
        let place = format!("/components/schemas/{}", Self::key(method, part));
        relocate(schema, &place)
    }

    /// Stores a schema; returns a reference to it.
    fn store(&mut self, method: &Method, part: &str, schema: Relocated) -> Value {
        let key = Self::key(method, part);
        let reference = json!({"$ref": format!("#/components/schemas/{key}")});
        self.0.insert(key, schema.schema);
        reference
    }

    /// Returns a schema without references as it is. Stores a schema with references and returns a
    /// reference to it.
    fn embed(&mut self, method: &Method, part: &str, schema: &Value) -> Value {
        let schema = self.relocate(method, part, schema);
        match schema.has_references {
            true => self.store(method, part, schema),
            false => schema.schema,
        }
    }
}

#[cfg(test)]
mod tests;
