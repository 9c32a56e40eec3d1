//! Every body that the OpenAPI document describes: an array in place of an object is refused, at
//! every level, and so is a field that occurs twice.

use serde_json::{Map, Value, json};
use svc_testkit::{Answer, TestServer, TestUser};

/// Deeper objects of a schema are not tested. Schemas may contain themselves.
const DEPTH_MAX: usize = 6;
/// Bodies that may be arrays: batches of calls.
const BATCHES: [&str; 2] = ["/api/methods/call", "/mcp"];

/// An object in a body, and the schema of that object. The steps are names and, in arrays, indexes.
struct Place<'a> {
    steps: Vec<String>,
    schema: &'a Value,
}

/// A request that the document describes.
struct Operation<'a> {
    method: String,
    path: String,
    example: &'a Value,
    places: Vec<Place<'a>>,
}

fn resolve<'a>(document: &'a Value, mut schema: &'a Value) -> &'a Value {
    while let Some(name) = schema["$ref"].as_str().and_then(|at| at.rsplit('/').next()) {
        schema = &document["components"]["schemas"][name];
    }
    schema
}

fn find_places<'a>(
    document: &'a Value,
    schema: &'a Value,
    steps: &[String],
    found: &mut Vec<Place<'a>>,
) {
    let schema = resolve(document, schema);
    if steps.len() > DEPTH_MAX {
        return;
    }
    let below = |step: &str| [steps, &[step.to_owned()]].concat();
    for choices in ["anyOf", "oneOf", "allOf"] {
        for choice in schema[choices].as_array().into_iter().flatten() {
            find_places(document, choice, steps, found);
        }
    }
    let properties = schema["properties"].as_object();
    if properties.is_some() || schema["additionalProperties"].is_object() {
        found.push(Place {
            steps: steps.to_vec(),
            schema,
        });
    }
    for (name, member) in properties.into_iter().flatten() {
        find_places(document, member, &below(name), found);
    }
    if schema["items"].is_object() {
        find_places(document, &schema["items"], &below("0"), found);
    }
}

fn operations<'a>(document: &'a Value, methods: &[&str]) -> Vec<Operation<'a>> {
    let mut operations = Vec::new();
    for (path, of_path) in document["paths"].as_object().unwrap() {
        for (method, operation) in of_path.as_object().unwrap() {
            let content = &operation["requestBody"]["content"]["application/json"];
            let method = method.to_uppercase();
            if content.is_null() || !methods.contains(&&*method) || BATCHES.contains(&&**path) {
                continue;
            }
            let mut places = Vec::new();
            find_places(document, &content["schema"], &[], &mut places);
            operations.push(Operation {
                method,
                path: path.clone(),
                example: &content["example"],
                places,
            });
        }
    }
    operations
}

/// Puts a value at a place of a body. Creates the objects and arrays above it.
fn put(body: &mut Value, steps: &[String], value: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *body = value;
        return;
    };
    if step == "0" {
        if body.get(0).is_none() {
            *body = json!([null]);
        }
        return put(&mut body[0], rest, value);
    }
    if !body.is_object() {
        *body = json!({});
    }
    put(&mut body[step], rest, value);
}

fn at<'a>(body: &'a Value, steps: &[String]) -> &'a Value {
    steps.iter().fold(body, |value, step| match step.as_str() {
        "0" => &value[0],
        name => &value[name],
    })
}

/// A value of a schema.
fn sample(document: &Value, schema: &Value, depth: usize) -> Value {
    let schema = resolve(document, schema);
    for given in [&schema["examples"][0], &schema["const"], &schema["enum"][0]] {
        if !given.is_null() {
            return given.clone();
        }
    }
    for choices in ["anyOf", "oneOf", "allOf"] {
        let mut choices = schema[choices].as_array().into_iter().flatten();
        if let Some(choice) = choices.find(|choice| choice["type"] != "null") {
            return sample(document, choice, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
        kind => Some(kind),
    };
    match kind.and_then(Value::as_str) {
        Some("string") if schema["format"] == "uuid" => {
            json!("019a8a2c-6f00-7000-8000-000000000001")
        }
        Some("string") => json!("a"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") if depth < DEPTH_MAX => {
            let names = schema["required"].as_array().into_iter().flatten();
            let members = names.filter_map(Value::as_str).map(|name| {
                let member = sample(document, &schema["properties"][name], depth + 1);
                (name.to_owned(), member)
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        _ => json!({}),
    }
}

/// The records that requests about `{id}` change.
struct Records {
    admin: TestUser,
    cookie: String,
    ids: Vec<(&'static str, String)>,
}

impl Records {
    async fn new(server: &TestServer) -> Self {
        let admin = server.admin().await;
        let webhook = json!({"url": "https://example.com/"});
        let new = [
            (
                "/api/users",
                json!({"username": "ann", "password": "a long password"}),
            ),
            ("/api/groups", json!({"name": "ops"})),
            ("/api/roles", json!({"name": "guest", "permissions": []})),
            ("/api/spaces", json!({"name": "lab"})),
            ("/api/templates", json!({"name": "web"})),
            (
                "/api/scripts",
                json!({"name": "a", "kind": "tool", "source": "def run(p):\n    pass\n"}),
            ),
            (
                "/api/event-sinks",
                json!({"name": "a", "patterns": "*", "type": "webhook", "webhook": webhook}),
            ),
            (
                "/api/sources",
                json!({"name": "a", "verify": {"type": "none"}}),
            ),
            ("/api/schedules", json!({"name": "a", "cron": "@daily"})),
            (
                "/api/oauth/clients",
                json!({"name": "a", "redirect_uris": ["https://example.com/"]}),
            ),
        ];
        let mut ids = Vec::new();
        for (path, body) in new {
            let record = admin.post(path, body).await.expect(201).json();
            ids.push((path, record["id"].as_str().unwrap().to_owned()));
        }
        Self {
            cookie: admin.login().await,
            admin,
            ids,
        }
    }

    async fn send(&self, operation: &Operation<'_>, body: &str) -> Answer {
        let unknown = "019a8a2c-6f00-7000-8000-000000000001";
        let of = |(path, _): &&(&str, String)| operation.path.starts_with(&format!("{path}/{{"));
        let id = self
            .ids
            .iter()
            .find(of)
            .map_or(unknown, |(_, id)| id.as_str());
        let mut path = operation.path.clone();
        while let (Some(start), Some(end)) = (path.find('{'), path.find('}')) {
            path.replace_range(
                start..=end,
                if path[..start].ends_with("deliveries/") {
                    "1"
                } else {
                    id
                },
            );
        }
        let headers = [
            ("cookie", self.cookie.as_str()),
            ("content-type", "application/json"),
        ];
        let http = self.admin.http();
        http.request(&operation.method, &path, &headers, body.to_owned())
            .await
    }
}

async fn document(server: &TestServer) -> Value {
    let http = server.http();
    let document = http.request("GET", "/api/openapi.json", &[], "").await;
    document.expect(200).json()
}

#[tokio::test]
async fn an_array_in_place_of_any_object_is_refused() {
    let server = TestServer::start().await;
    let document = document(&server).await;
    let records = Records::new(&server).await;
    let (mut tested, mut accepted) = (0, Vec::new());
    for operation in operations(&document, &["POST", "PATCH", "PUT"]) {
        for place in &operation.places {
            for array in [json!([]), json!(["a"])] {
                let mut body = operation.example.clone();
                put(&mut body, &place.steps, array);
                let answer = records.send(&operation, &body.to_string()).await;
                tested += 1;
                if answer.status != 400 {
                    let (method, path) = (&operation.method, &operation.path);
                    accepted.push(format!("{} {method} {path} {body}", answer.status));
                }
            }
        }
    }
    assert_eq!(accepted, [] as [String; 0]);
    assert!(tested > 150, "{tested}");
}

#[tokio::test]
async fn a_field_of_a_patch_that_occurs_twice_is_refused() {
    let server = TestServer::start().await;
    let document = document(&server).await;
    let records = Records::new(&server).await;
    let (mut tested, mut accepted) = (0, Vec::new());
    for operation in operations(&document, &["PATCH"]) {
        for place in &operation.places {
            // The names of some maps, such as quotas, are limited.
            let names = resolve(&document, &place.schema["propertyNames"]);
            let names = [&names["enum"][0], &names["oneOf"][0]["const"]];
            let name = names
                .into_iter()
                .find_map(Value::as_str)
                .unwrap_or("spaces");
            let any = json!({name: place.schema["additionalProperties"]});
            let any = any.as_object().unwrap();
            let members = place.schema["properties"].as_object().unwrap_or(any);
            for (name, schema) in members {
                let value = match at(operation.example, &place.steps).get(name) {
                    Some(given) => given.clone(),
                    None => sample(&document, schema, 0),
                };
                let twice = format!("{{\"{name}\":{value},\"{name}\":{value}}}");
                let mut body = json!({});
                put(&mut body, &place.steps, json!("HERE"));
                let body = body.to_string().replace("\"HERE\"", &twice);
                let answer = records.send(&operation, &body).await;
                tested += 1;
                if answer.status != 400 || !answer.text().contains("occurs twice") {
                    let path = &operation.path;
                    accepted.push(format!(
                        "{} {path} {body}: {}",
                        answer.status,
                        answer.text()
                    ));
                }
            }
        }
    }
    assert_eq!(accepted, [] as [String; 0]);
    assert!(tested > 60, "{tested}");
}

#[tokio::test]
async fn a_zero_character_is_refused_in_texts_and_kept_in_custom_fields() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let zero = "a\u{0}b";
    let sink = json!({"name": "a", "patterns": "*", "type": "json-rpc"});
    let resources = [
        (
            "/api/scripts",
            json!({"name": "a", "kind": "library", "source": "x = 1\n"}),
        ),
        ("/api/event-sinks", sink),
        (
            "/api/sources",
            json!({"name": "a", "verify": {"type": "none"}}),
        ),
        ("/api/schedules", json!({"name": "a", "cron": "@daily"})),
    ];
    for (path, body) in resources {
        let refuse = |answer: Answer| {
            let answer = answer.expect(400);
            assert_eq!(answer.code(), "invalid", "{path}");
            assert!(answer.text().contains("U+0000"), "{}", answer.text());
        };
        let mut bad = body.clone();
        bad["description"] = json!(zero);
        refuse(admin.post(path, &bad).await);
        let created = admin.post(path, &body).await.expect(201).json();
        let one = format!("{path}/{}", created["id"].as_str().unwrap());
        refuse(admin.patch(&one, json!({"description": zero})).await);
        if path == "/api/scripts" {
            refuse(
                admin
                    .patch(&one, json!({"source": "x = 'a\u{0}b'\n"}))
                    .await,
            );
        }
        let read = admin.get(&one).await.expect(200).json();
        assert_eq!(read["description"], created["description"]);
        assert_eq!(read["source"], created["source"]);
    }
    let template = json!({"name": "web", "custom_fields": {"a": zero}});
    let created = admin
        .post("/api/templates", template)
        .await
        .expect(201)
        .json();
    let path = format!("/api/templates/{}", created["id"].as_str().unwrap());
    let read = admin.get(&path).await.expect(200).json();
    assert_eq!(read["custom_fields"], json!({"a": zero}));
}
