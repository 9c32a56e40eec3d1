//! Requests about scripts, methods, events and sinks.

use serde_json::{Value, json};

use super::{Act, Draft, Plan, bare, plan};

pub fn new_script(draft: &mut Draft<'_>) -> Option<Plan> {
    let kind = draft.rng.pick(&["startup", "library", "sink", "tool"])?;
    let global = draft.rng.percent(60);
    let name = draft.name(if global { 't' } else { 's' });
    let (source, imports) = draft.source(kind, global);
    let owner = if global { "global" } else { "user" };
    let body = json!({"name": name, "kind": kind, "owner": owner, "source": source});
    plan(
        "/api/scripts",
        body,
        Act::NewScript {
            name,
            kind,
            global,
            imports,
        },
    )
}

pub fn patch_script(draft: &mut Draft<'_>) -> Option<Plan> {
    let script = draft.rng.pick(&draft.model.live_scripts(|_| true))?;
    let record = &draft.model.scripts[script];
    let path = format!("/api/scripts/{}", record.id);
    let (source, imports) = draft.source(record.kind, record.global);
    plan(
        path,
        json!({"source": source}),
        Act::PatchScript { script, imports },
    )
}

pub fn delete_script(draft: &mut Draft<'_>) -> Option<Plan> {
    let script = draft.rng.pick(&draft.model.live_scripts(|_| true))?;
    let path = format!("/api/scripts/{}", draft.model.scripts[script].id);
    bare(path, Act::DeleteScript { script })
}

/// Runs a tool that is not stored.
pub fn run_draft(draft: &mut Draft<'_>) -> Option<Plan> {
    let global = draft.rng.percent(50);
    let (source, imports) = draft.source("tool", global);
    let owner = if global { "global" } else { "user" };
    let body = json!({"kind": "tool", "owner": owner, "source": source});
    plan("/api/scripts/run", body, Act::RunDraft { global, imports })
}

pub fn run_script(draft: &mut Draft<'_>) -> Option<Plan> {
    let tools = draft.model.live_scripts(|script| script.kind == "tool");
    let script = draft.rng.pick(&tools)?;
    let path = format!("/api/scripts/{}/run", draft.model.scripts[script].id);
    plan(path, json!({}), Act::RunScript { script })
}

pub fn call(draft: &mut Draft<'_>) -> Option<Plan> {
    let methods: Vec<_> = (0..draft.model.methods.len()).collect();
    let index = draft.rng.pick(&methods)?;
    let method = &draft.model.methods[index];
    let name = if method.owner == draft.subject {
        method.name.clone()
    } else {
        format!(
            "user.{}.{}",
            draft.model.users[method.owner].name, method.name
        )
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": {}});
    plan("/api/methods/call", body, Act::Call { method: index })
}

/// Lists the tools, or runs a script as a tool.
pub fn mcp(draft: &mut Draft<'_>) -> Option<Plan> {
    let tools = draft.model.live_scripts(|script| script.kind == "tool");
    match draft.rng.pick(&tools).filter(|_| draft.rng.percent(30)) {
        Some(script) => {
            let params = json!({"name": draft.model.scripts[script].name, "arguments": {}});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            plan("/mcp", body, Act::RunScript { script })
        }
        None => {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
            plan("/mcp", body, Act::Other)
        }
    }
}

pub fn emit(draft: &mut Draft<'_>) -> Option<Plan> {
    let body = json!({"type": "x.y", "payload": {"note": draft.name('e')}});
    plan("/api/events/emit", body, Act::Emit)
}

/// The patterns of a sink match no event, because deliveries are not tested here.
pub fn new_sink(draft: &mut Draft<'_>) -> Option<Plan> {
    let kind = draft
        .rng
        .pick(&["webhook", "webhook", "script", "json-rpc"])?;
    let global = draft.rng.percent(50);
    let owner = if global { "global" } else { "user" };
    let name = draft.name(if global { 'l' } else { 'k' });
    let mut body =
        json!({"name": name, "type": kind, "owner": owner, "patterns": ["custom.never"]});
    let mut script = None;
    match kind {
        "webhook" => body["webhook"] = json!({"url": "https://example.com/hook"}),
        "script" => {
            let scripts = draft.model.live_scripts(|script| script.kind == "sink");
            script = draft.rng.pick(&scripts);
            body["script"] = json!({"script_id": draft.script_id(Some(script?))});
        }
        _ => {}
    }
    plan(
        "/api/event-sinks",
        body,
        Act::NewSink {
            kind,
            global,
            script,
        },
    )
}

pub fn preview(draft: &mut Draft<'_>) -> Option<Plan> {
    let events: Vec<_> = (0..draft.model.events.len()).collect();
    let mut body = json!({});
    if let Some(event) = draft.rng.pick(&events) {
        body["event_id"] = json!(draft.model.events[event].id);
    }
    plan("/api/event-sinks/preview", body, Act::Other)
}

pub fn patch_sink(draft: &mut Draft<'_>) -> Option<Plan> {
    let sink = draft.sink()?;
    let record = &draft.model.sinks[sink];
    let path = format!("/api/event-sinks/{}", record.id);
    let mut script = record.script;
    let body = match record.kind {
        "webhook" => json!({"webhook": {"url": "https://example.com/other"}}),
        "script" if draft.rng.percent(60) => {
            let scripts = draft.model.live_scripts(|script| script.kind == "sink");
            script = draft.rng.pick(&scripts);
            json!({"script": {"script_id": draft.script_id(Some(script?))}})
        }
        _ => json!({"patterns": ["custom.never.more"]}),
    };
    plan(path, body, Act::ManageSink { sink, script })
}

pub fn delete_sink(draft: &mut Draft<'_>) -> Option<Plan> {
    let sink = draft.sink()?;
    let path = format!("/api/event-sinks/{}", draft.model.sinks[sink].id);
    bare(path, Act::DeleteSink { sink })
}

/// Usually a dry run. Only a sink with a script is sometimes tested without `dry_run`.
pub fn test_sink(draft: &mut Draft<'_>) -> Option<Plan> {
    let sink = draft.sink()?;
    let record = &draft.model.sinks[sink];
    let runs = record.kind == "script" && draft.rng.percent(30);
    let mut body = json!({"dry_run": !runs});
    let events: Vec<_> = (0..draft.model.events.len()).collect();
    if let Some(event) = draft.rng.pick(&events) {
        body["event_id"] = json!(draft.model.events[event].id);
    }
    let path = format!("/api/event-sinks/{}/test", record.id);
    plan(
        path,
        body,
        Act::ManageSink {
            sink,
            script: record.script,
        },
    )
}

pub fn rotate_secret(draft: &mut Draft<'_>) -> Option<Plan> {
    manage_sink(draft, "rotate-secret", Some(json!({})))
}

pub fn replay(draft: &mut Draft<'_>) -> Option<Plan> {
    manage_sink(draft, "replay", Some(json!({})))
}

pub fn backtest(draft: &mut Draft<'_>) -> Option<Plan> {
    manage_sink(draft, "backtest", Some(json!({})))
}

pub fn resend_many(draft: &mut Draft<'_>) -> Option<Plan> {
    manage_sink(draft, "resend", Some(json!({"deliveries": [1, 2]})))
}

pub fn resend(draft: &mut Draft<'_>) -> Option<Plan> {
    manage_sink(draft, "deliveries/1/resend", None)
}

fn manage_sink(draft: &mut Draft<'_>, action: &str, body: Option<Value>) -> Option<Plan> {
    let sink = draft.sink()?;
    let record = &draft.model.sinks[sink];
    let script = record.script;
    Some(Plan {
        path: format!("/api/event-sinks/{}/{action}", record.id),
        body,
        act: Act::ManageSink { sink, script },
    })
}
