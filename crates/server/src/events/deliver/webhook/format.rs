//! The formats of a webhook's body: the default, and those of CloudEvents 1.0.

use std::{collections::BTreeMap, fmt::Write};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use svc_core::{SpaceId, event::Event};
use svc_protocol::api::WebhookFormat;

/// The body of a request. `rendered` is the JSON output of the sink's template. In a CloudEvents
/// format, it becomes the data.
pub fn body_of(format: WebhookFormat, event: &Event, rendered: Option<String>) -> String {
    match (format, rendered) {
        (WebhookFormat::Default, None) => event.default_body(),
        (WebhookFormat::CloudeventsBinary, None) => event.data.as_str().to_owned(),
        (WebhookFormat::Default | WebhookFormat::CloudeventsBinary, Some(rendered)) => rendered,
        (WebhookFormat::CloudeventsStructured, rendered) => structured(event, rendered.as_deref()),
    }
}

/// Prefix of headers that hold CloudEvents attributes.
pub(super) const ATTRIBUTE_PREFIX: &str = "ce-";
/// Bytes that a structured body needs at most besides its data and the type of the event.
const ATTRIBUTES_BYTES: usize = 320;

fn structured(event: &Event, rendered: Option<&str>) -> String {
    let data = rendered.unwrap_or(event.data.as_str());
    let mut body = String::with_capacity(data.len() + event.r#type.len() + ATTRIBUTES_BYTES);
    body.push('{');
    for (name, value) in attributes(event) {
        let value = serde_json::to_string(&value).expect("text is always JSON");
        write!(body, "\"{name}\":{value},").expect("writing to a string never fails");
    }
    write!(
        body,
        "\"datacontenttype\":\"application/json\",\"data\":{data}}}"
    )
    .expect("writing to a string never fails");
    body
}

fn content_type(format: WebhookFormat) -> &'static str {
    match format {
        WebhookFormat::Default | WebhookFormat::CloudeventsBinary => "application/json",
        WebhookFormat::CloudeventsStructured => "application/cloudevents+json",
    }
}

/// The headers of a request that depend on the format.
pub fn headers_of(format: WebhookFormat, event: &Event) -> BTreeMap<String, String> {
    let mut headers =
        BTreeMap::from([("content-type".to_owned(), content_type(format).to_owned())]);
    if format == WebhookFormat::CloudeventsBinary {
        let encoded = attributes(event)
            .map(|(name, value)| (format!("{ATTRIBUTE_PREFIX}{name}"), encode_header(&value)));
        headers.extend(encoded);
    }
    headers
}

/// The attributes of an event. The source is the space of the event or, for an event without a
/// space, its owner. The source has no host, so it stays the same if the address of the server
/// changes.
fn attributes(event: &Event) -> [(&'static str, String); 5] {
    let source = match event.space_id {
        SpaceId::NIL => format!("/users/{}", event.owner_id),
        space => format!("/spaces/{space}"),
    };
    [
        ("specversion", "1.0".to_owned()),
        ("id", event.id.to_string()),
        ("source", source),
        ("type", event.r#type.clone()),
        ("time", event.ts.to_string()),
    ]
}

/// Encodes the value of an attribute for a header (HTTP binding of CloudEvents, 3.1.3.2): percent
/// encoding of UTF-8 for spaces, quotes, percent signs and all characters that are not printable
/// ASCII.
fn encode_header(value: &str) -> String {
    const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');
    utf8_percent_encode(value, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use svc_core::{EventId, Timestamp, UserId, event::Actor, json_text::JsonText};
    use uuid::Uuid;

    use super::*;

    fn event(space_id: SpaceId) -> Event {
        Event {
            id: EventId::NIL,
            r#type: "custom.x".to_owned(),
            ts: Timestamp(1_794_700_800_123),
            owner_id: UserId(Uuid::from_u128(7)),
            space_id,
            actor: Actor::system(),
            data: JsonText::parse(r#"{"n": 18446744073709551616}"#).expect("JSON"),
            trace: None,
        }
    }

    #[test]
    fn a_structured_body_has_the_attributes_and_the_exact_data() {
        let event = event(SpaceId(Uuid::from_u128(8)));
        let body = body_of(WebhookFormat::CloudeventsStructured, &event, None);
        assert!(
            body.ends_with(r#","data":{"n":18446744073709551616}}"#),
            "{body}"
        );
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let expected = json!({
            "specversion": "1.0",
            "id": EventId::NIL,
            "source": format!("/spaces/{}", event.space_id),
            "type": "custom.x",
            "time": event.ts,
            "datacontenttype": "application/json",
            "data": body["data"],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn a_template_renders_the_data_of_a_cloudevent() {
        let event = event(SpaceId::NIL);
        let rendered = || Some("[1]".to_owned());
        let body = body_of(WebhookFormat::CloudeventsStructured, &event, rendered());
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(body["data"], json!([1]));
        assert_eq!(body["source"], format!("/users/{}", event.owner_id));
        for format in [WebhookFormat::CloudeventsBinary, WebhookFormat::Default] {
            assert_eq!(body_of(format, &event, rendered()), "[1]");
        }
        let data = body_of(WebhookFormat::CloudeventsBinary, &event, None);
        assert_eq!(data, event.data.as_str());
        let default = body_of(WebhookFormat::Default, &event, None);
        assert_eq!(default, event.default_body());
    }

    #[test]
    fn header_values_of_attributes_are_percent_encoded() {
        assert_eq!(encode_header("/a/b?c=d:e"), "/a/b?c=d:e");
        assert_eq!(encode_header("a \"b\" 5%\n"), "a%20%22b%22%205%25%0A");
        assert_eq!(encode_header("Euro \u{20ac}"), "Euro%20%E2%82%AC");
    }
}
