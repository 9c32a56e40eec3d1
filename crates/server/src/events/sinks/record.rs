//! Representations of a sink: for the API and for the audit log. Neither contains a signing secret,
//! the value of a header or a client key. The audit log also does not contain the path of the URL.

use serde_json::{Value, json};
use svc_protocol::api::{Sink, SinkOwner, WebhookConfig};
use svc_store::{
    StoreError, Tx,
    sinks::{self, SinkConfig, SinkRow},
};

use crate::{
    events::sealed_headers::{self, MASK},
    records::settings_of,
};

/// A sink with the status of its lane.
pub fn record(tx: &mut Tx<'_>, row: SinkRow) -> Result<Sink, StoreError> {
    let status = sinks::status(tx, row.id)?;
    let (owner, attention) = (owner_of(&row), status.needs_attention(&row));
    let (mut webhook, mut script, mut json_rpc) = (None, None, None);
    match row.config {
        SinkConfig::Webhook(mut config) => {
            // The values may be credentials.
            sealed_headers::mask(&mut config.headers);
            config.client_key = config.client_key.map(|_| MASK.to_owned());
            webhook = Some(config);
        }
        SinkConfig::Script(config) => script = Some(config),
        SinkConfig::JsonRpc(config) => json_rpc = Some(config),
    }
    Ok(Sink {
        id: row.id,
        name: row.name,
        description: row.description,
        patterns: row.patterns.iter().map(ToString::to_string).collect(),
        r#type: row.kind,
        owner,
        owner_id: row.owner_id,
        active: row.active,
        webhook,
        script,
        json_rpc,
        delivery: row.policy,
        paused: row.paused,
        attention,
        queue_depth: status.queue_depth,
        dropped: status.dropped,
        lost: status.lost,
        dead: status.dead.into(),
        failures: status.failures,
        held: status.held,
        feeds: status.feeds,
        feed_progress: status.feed_progress,
        filter_errors: status.filter_errors,
        filter_error: status.filter_error,
        last_delivery: status.last_delivery,
        created_at: row.created_at,
    })
}

/// The detail of an audit entry. Contains only the names of headers: their values may be
/// credentials.
pub fn describe(row: &SinkRow) -> Value {
    let mut detail = json!({
        "name": row.name,
        "description": row.description,
        "patterns": row.patterns,
        "type": row.kind,
        "owner": owner_of(row),
        "delivery": row.policy,
    });
    match &row.config {
        SinkConfig::Webhook(webhook) => {
            let hidden = ["url", "headers", "body_template", "client_key", "secret"];
            let options = settings_of(webhook, WebhookConfig::MEMBERS, &hidden);
            for (name, value) in options.as_object().into_iter().flatten() {
                detail[name] = match name.as_str() {
                    // Only whether they are set, because they are long.
                    "ca" | "client_certificate" => json!(true),
                    _ => value.clone(),
                };
            }
            detail["host"] = json!(host_of(&webhook.url));
            detail["headers"] = json!(webhook.headers.keys().collect::<Vec<_>>());
        }
        SinkConfig::Script(script) => detail["script_id"] = json!(script.script_id),
        SinkConfig::JsonRpc(_) => {}
    }
    detail
}

/// Only the host: paths and queries of webhook URLs often contain secrets.
fn host_of(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    uri.host().map(str::to_owned)
}

fn owner_of(row: &SinkRow) -> SinkOwner {
    if row.is_global() {
        SinkOwner::Global
    } else {
        SinkOwner::User
    }
}
