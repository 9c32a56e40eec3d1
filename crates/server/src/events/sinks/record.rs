//! Representations of a sink: for the API and for the audit log. Neither contains a signing secret,
//! the value of a header or a client key. The audit log also does not contain the path of the URL.

use serde_json::{Value, json};
use svc_protocol::api::{JsonRpcConfig, ScriptConfig, Sink, SinkOwner, WebhookConfig};
use svc_store::{
    StoreError, Tx,
    sinks::{self, SinkConfig, SinkRow, WebhookOptions},
};

use crate::events::sealed_headers::{self, MASK};

/// A sink with the status of its lane.
pub fn record(tx: &mut Tx<'_>, row: SinkRow) -> Result<Sink, StoreError> {
    let status = sinks::status(tx, row.id)?;
    let (owner, attention) = (owner_of(&row), status.needs_attention(&row));
    let (mut webhook, mut script, mut json_rpc) = (None, None, None);
    match row.config {
        SinkConfig::Webhook {
            url,
            mut headers,
            body_template,
            options,
        } => {
            // The values may be credentials.
            sealed_headers::mask(&mut headers);
            webhook = Some(WebhookConfig {
                url,
                headers,
                body_template,
                format: options.format,
                ca: options.ca,
                client_certificate: options.client_certificate,
                client_key: options.client_key.map(|_| MASK.to_owned()),
                http2: options.http2,
                secret: None,
            });
        }
        SinkConfig::Script { script_id, source } => {
            script = Some(ScriptConfig { script_id, source });
        }
        SinkConfig::JsonRpc { body_template } => json_rpc = Some(JsonRpcConfig { body_template }),
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
        SinkConfig::Webhook {
            url,
            headers,
            body_template: _,
            options:
                WebhookOptions {
                    format,
                    ca,
                    client_certificate,
                    client_key: _,
                    http2,
                },
        } => {
            if !format.is_default() {
                detail["format"] = json!(format);
            }
            // Only whether certificates are set, because they are long. The key is left out.
            for (name, is_set) in [
                ("ca", ca.is_some()),
                ("client_certificate", client_certificate.is_some()),
                ("http2", *http2),
            ] {
                if is_set {
                    detail[name] = json!(true);
                }
            }
            detail["host"] = json!(host_of(url));
            detail["headers"] = json!(headers.keys().collect::<Vec<_>>());
        }
        SinkConfig::Script { script_id, .. } => detail["script_id"] = json!(script_id),
        SinkConfig::JsonRpc { .. } => {}
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
