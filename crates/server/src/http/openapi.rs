//! `GET /api/openapi.json`: the OpenAPI document, assembled from the route table, the signatures of
//! the handlers (`describe`) and the schemas of their types.

mod components;
mod sample;
mod texts;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use bytes::Bytes;
use http::Method;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use svc_core::{Scope, Scopes};
use svc_protocol::problem::{self, Problem};

use self::components::{COMPONENTS, OF_REQUESTS};
use super::{
    auth::is_limited,
    cookies,
    describe::{Content, JSON, Operation, name_of},
    error::reason_of,
    extract::JsonBytes,
    failures::{self, Failure},
    router::{Route, routes},
    rule::{Agents, Needs},
};

/// The document. It depends only on the program, so it is built once.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let document = Document::new().build();
    serde_json::to_vec(&document)
        .expect("a JSON value is always JSON")
        .into()
});

pub async fn document() -> JsonBytes<Map<String, Value>> {
    JsonBytes::new(DOCUMENT.clone())
}

struct Document {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
    /// Types of queries. Their members become parameters, so the document has no schemas of them.
    queries: BTreeSet<String>,
}

impl Document {
    fn new() -> Self {
        let generator = |settings: SchemaSettings, path: &'static str| {
            let change = |settings: &mut SchemaSettings| settings.definitions_path = path.into();
            settings.with(change).into_generator()
        };
        let settings = SchemaSettings::draft2020_12;
        Self {
            requests: generator(settings().for_deserialize(), OF_REQUESTS),
            answers: generator(settings().for_serialize(), COMPONENTS),
            queries: BTreeSet::new(),
        }
    }

    fn build(mut self) -> Value {
        let mut paths: Map<String, Value> = Map::new();
        for route in routes() {
            let Some(describe) = route.describe else {
                continue;
            };
            let mut operation = Operation::default();
            describe(&mut operation);
            let operations = paths.entry(route.path).or_insert_with(|| json!({}));
            operations[route.method.as_str().to_lowercase()] = self.operation(&route, operation);
        }
        let tags: BTreeSet<_> = paths.keys().map(|path| tag(path)).collect();
        let tags: Vec<_> = tags
            .iter()
            .map(|tag| json!({"name": tag, "description": texts::of_tag(tag)}))
            .collect();
        // Every failure refers to this schema.
        self.answers.subschema_for::<Problem>();
        let mut document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "svc",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Publish methods from running workspaces, call them, and route events. Errors outside JSON-RPC and MCP are `application/problem+json` with a stable `code`.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "tags": tags,
            "paths": paths,
            "components": {"securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "An API token (`svc_pat_…`)"},
                "agent": {"type": "http", "scheme": "bearer", "description": "The agent token of a space (`svc_agt_…`)"},
                "session": {"type": "apiKey", "in": "cookie", "name": cookies::PLAIN},
            }},
        });
        let mut requests = self.requests.take_definitions(true);
        requests.retain(|name, _| !self.queries.contains(name));
        components::add(&mut document, requests, self.answers.take_definitions(true));
        sample::add(&mut document);
        document
    }

    fn operation(&mut self, route: &Route, described: Operation) -> Value {
        let (summary, own) = texts::find(&route.method, route.path).unwrap_or_default();
        let mut failures = described.failures.clone();
        failures.extend(failures::OF_ANY);
        failures.extend(own);
        if !matches!(route.rule.needs, Needs::Nothing) {
            failures.extend(failures::OF_CALLER);
            if is_limited(&route.method, route.rule) {
                failures.extend(failures::OF_CHANGE);
            }
        } else if route.method == Method::POST {
            failures.insert(failures::FOREIGN_ORIGIN);
        }
        let mut parameters = path_parameters(route.path);
        parameters.extend(self.query_parameters(&described));
        for (name, description) in described.headers {
            parameters.push(json!({
                "name": name, "in": "header", "description": description, "schema": {"type": "string"},
            }));
        }
        let scopes = scopes_of(route);
        let mut operation = json!({
            "operationId": operation_id(&route.method, route.path),
            "tags": [tag(route.path)],
            "summary": summary,
            "description": access(route, &scopes),
            "security": security(route),
            "x-permissions": permissions(route.rule.needs),
            "x-scopes": scopes,
            "x-agent-token": agent_rule(route),
            "parameters": parameters,
            "responses": self.responses(described.answers, failures),
        });
        if let Some(body) = described.body {
            let schema = body(&mut self.requests).to_value();
            // The same rule as in `extract`: a POST without a body means `{}`.
            let required = route.method != Method::POST || self.has_required_members(&schema);
            operation["requestBody"] = json!({
                "required": required, "content": {JSON: {"schema": schema}},
            });
        }
        operation
    }

    /// One parameter for each member of the query types.
    fn query_parameters(&mut self, described: &Operation) -> Vec<Value> {
        for query in &described.queries {
            let schema = query(&mut self.requests).to_value();
            self.queries.extend(name_of(&schema).map(str::to_owned));
        }
        let members = described.query_parameters(&mut self.requests).into_iter();
        members
            .map(|(name, mut schema)| {
                let description = schema.as_object_mut().and_then(|s| s.remove("description"));
                never_null(&mut schema);
                let mut parameter = json!({"name": name, "in": "query", "schema": schema});
                if let Some(description) = description {
                    parameter["description"] = description;
                }
                parameter
            })
            .collect()
    }

    /// Whether the schema rejects an empty object.
    fn has_required_members(&self, schema: &Value) -> bool {
        let definitions = self.requests.definitions();
        let schema = name_of(schema).map_or(schema, |name| &definitions[name]);
        schema["type"] != "object" || schema.get("required").is_some()
    }

    fn responses(
        &mut self,
        answers: Vec<Content>,
        failures: impl IntoIterator<Item = Failure>,
    ) -> Value {
        let mut responses: BTreeMap<String, Value> = BTreeMap::new();
        for answer in answers {
            let response = responses
                .entry(answer.status.to_string())
                .or_insert_with(|| json!({"description": answer.meaning}));
            if let Some((media, schema)) = answer.body {
                let schema = schema(&mut self.answers).to_value();
                response["content"][media] = json!({"schema": schema});
            }
        }
        let mut problems: BTreeMap<u16, Vec<(&str, &str)>> = BTreeMap::new();
        for (status, code, meaning) in failures {
            problems.entry(status).or_default().push((code, meaning));
        }
        for (status, codes) in problems {
            let response = responses
                .entry(status.to_string())
                .or_insert_with(|| json!({"description": describe_codes(status, &codes)}));
            response["content"][problem::CONTENT_TYPE] = problem_of(status, &codes);
        }
        json!(responses)
    }
}

fn describe_codes(status: u16, codes: &[(&str, &str)]) -> String {
    let reason = reason_of(status).unwrap_or("Error");
    let lines = codes
        .iter()
        .map(|(code, meaning)| format!("\n- `{code}`: {meaning}"));
    std::iter::once(format!("{reason}\n"))
        .chain(lines)
        .collect()
}

fn problem_of(status: u16, codes: &[(&str, &str)]) -> Value {
    let names: Vec<_> = codes.iter().map(|(code, _)| code).collect();
    json!({"schema": {
        "allOf": [{"$ref": format!("#{COMPONENTS}/Problem")}],
        "properties": {"status": {"const": status}, "code": {"enum": names}},
    }})
}

/// Removes `null` from the types of a parameter, because a query cannot contain null.
fn never_null(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array_mut() {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(choices) = schema["anyOf"].as_array_mut() {
        choices.retain(|choice| choice["type"] != "null");
        if let [only] = choices.as_slice() {
            *schema = only.clone();
        }
    }
    if let Some(members) = schema.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
}

fn path_parameters(path: &str) -> Vec<Value> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let schema = match name {
                "n" => json!({"type": "integer", "minimum": 0}),
                "id" => json!({"type": "string", "format": "uuid"}),
                _ => json!({"type": "string"}),
            };
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .collect()
}

fn security(route: &Route) -> Value {
    let credentials = match route.rule.agents {
        Agents::Never => vec!["token", "session"],
        Agents::AsOwner | Agents::OwnRecords | Agents::OwnSpace => {
            vec!["token", "session", "agent"]
        }
    };
    let alternatives = credentials.iter().map(|name| json!({*name: []}));
    match route.rule.needs {
        Needs::Nothing | Needs::AnySite | Needs::Loopback => json!([]),
        Needs::Agent => json!([{"agent": []}]),
        Needs::LoopbackOrAudit => alternatives.chain([json!({})]).collect(),
        Needs::Caller | Needs::Enrolling | Needs::Any(_) => alternatives.collect(),
    }
}

fn permissions(needs: Needs) -> Vec<&'static str> {
    needs.permissions().iter().map(|p| p.as_str()).collect()
}

/// The scopes that allow a token to use a route.
fn scopes_of(route: &Route) -> Vec<&'static str> {
    let opens = |scope: &Scope| {
        let scopes = Scopes::parse(&[scope.as_str()]).expect("the name of a scope");
        scopes.permit(route.method.as_str(), route.path)
    };
    Scope::ALL
        .iter()
        .copied()
        .filter(opens)
        .map(Scope::as_str)
        .collect()
}

fn agent_rule(route: &Route) -> &'static str {
    match route.rule.agents {
        Agents::AsOwner => "as_owner",
        Agents::OwnRecords => "own_records",
        Agents::OwnSpace => "own_space",
        Agents::Never => "never",
    }
}

/// The access rule of a route in words.
fn access(route: &Route, scopes: &[&str]) -> String {
    let who = match route.rule.needs {
        Needs::Nothing | Needs::AnySite => "Needs no credential.".to_owned(),
        Needs::Loopback => "Needs a request from the server's own machine.".to_owned(),
        Needs::Caller => "Needs any credential.".to_owned(),
        Needs::Enrolling => {
            "Needs any credential, also a session whose user must set up a second factor first."
                .to_owned()
        }
        Needs::Any(_) => {
            let names = permissions(route.rule.needs).join("` or `");
            format!("Needs the permission `{names}`.")
        }
        Needs::Agent => "Needs an agent token.".to_owned(),
        Needs::LoopbackOrAudit => {
            "Needs the permission `view_audit`, or a request from the server's own machine."
                .to_owned()
        }
    };
    let scopes = match scopes {
        [] => "A token with scopes may not use this route.".to_owned(),
        scopes => format!(
            "Tokens with the scope `{}` may use this route.",
            scopes.join("` or `")
        ),
    };
    let agents = match route.rule.agents {
        Agents::AsOwner => "An agent token acts as the owner of its space.",
        Agents::OwnRecords => {
            "An agent token acts as the owner of its space, except on records that other spaces execute or that act for other users."
        }
        Agents::OwnSpace => "An agent token may use this route for its own space.",
        Agents::Never => "An agent token may not use this route.",
    };
    format!("{who} {scopes} {agents}")
}

/// The tag of a path: its first word below `/api`, unless several words share a tag.
fn tag(path: &str) -> &str {
    let path = path.strip_prefix("/api/").unwrap_or(&path[1..]);
    let word = path.split('/').next().unwrap_or(path);
    match word {
        "healthz" | "readyz" | "metrics" | "openapi.json" | "servers" | "stats" | "diagnostics" => {
            "operations"
        }
        "openrpc.json" => "methods",
        "permissions" => "roles",
        word => word,
    }
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

#[cfg(test)]
mod tests;
