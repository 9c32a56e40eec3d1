//! `GET /api/openapi.json`: the route table as an OpenAPI document.

use http::Method;
use serde_json::{Map, Value, json};
use svc_store::PAGE_MAX;

use super::{
    extract::Json,
    router::{Needs, routes},
    web::ANY_PATH,
};

pub async fn document() -> Json<Value> {
    let mut paths: Map<String, Value> = Map::new();
    let pages = ["/", "/web/{*path}", ANY_PATH];
    for route in routes() {
        if pages.contains(&route.path) {
            continue;
        }
        let operations = paths.entry(route.path).or_insert_with(|| json!({}));
        operations[route.method.as_str().to_lowercase()] =
            operation(&route.method, route.path, route.needs);
    }
    Json(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "svc",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Publish methods from running workspaces. Errors outside JSON-RPC are `application/problem+json` with a stable `code`.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": super::cookies::PLAIN},
            },
            "schemas": {"Problem": {
                "type": "object",
                "properties": {
                    "type": {"type": "string"}, "title": {"type": "string"},
                    "status": {"type": "integer"}, "detail": {"type": "string"},
                    "code": {"type": "string"},
                    "limit": {"type": "integer"}, "setting": {"type": "string"},
                },
                "required": ["type", "title", "status", "detail", "code"],
            }},
        },
    }))
}

fn operation(method: &Method, path: &str, needs: Needs) -> Value {
    let parameters: Vec<_> = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let schema = match name {
                "n" => json!({"type": "integer"}),
                _ => json!({"type": "string", "format": "uuid"}),
            };
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .chain(query_parameters(method, path))
        .collect();
    let problem = json!({
        "description": "A problem",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    let security = match needs {
        Needs::Nothing | Needs::Loopback => json!([]),
        _ => json!([{"token": []}, {"session": []}]),
    };
    let mut operation = json!({
        "operationId": operation_id(method, path),
        "description": format!("Needs: {needs}"),
        "parameters": parameters,
        "security": security,
        "responses": {"2XX": {"description": "Success"}, "4XX": problem},
    });
    if matches!(*method, Method::POST | Method::PATCH) {
        operation["requestBody"] =
            json!({"content": {"application/json": {"schema": {"type": ["object", "array"]}}}});
    }
    operation
}

/// The query parameters of `GET /api/methods`; other routes have none in this document.
fn query_parameters(method: &Method, path: &str) -> Vec<Value> {
    if *method != Method::GET || path != "/api/methods" {
        return Vec::new();
    }
    let text = json!({"type": "string"});
    let limit = json!({"type": "integer", "minimum": 1, "maximum": PAGE_MAX});
    [
        ("name", "Exactly this name", &text),
        ("q", "Words in name, description or keywords", &text),
        ("limit", "Methods on a page", &limit),
        ("cursor", "`next_cursor` of the page before", &text),
    ]
    .map(|(name, description, schema)| {
        json!({"name": name, "in": "query", "description": description, "schema": schema})
    })
    .into()
}

fn operation_id(method: &Method, path: &str) -> String {
    let words = path
        .split(['/', '{', '}', '.', '-'])
        .filter(|word| !word.is_empty() && *word != "api");
    std::iter::once(method.as_str().to_lowercase().as_str())
        .map(str::to_owned)
        .chain(words.map(str::to_owned))
        .collect::<Vec<_>>()
        .join("_")
}
