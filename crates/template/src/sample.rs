//! Sample events that a new template must render: one with all fields, one with almost none.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use svc_core::{
    EventId, SpaceId, Timestamp, UserId,
    event::{Event, EventSpace, sample},
    json_text::JsonText,
};

use super::{Scope, Template, TemplateError};

pub(crate) fn render_samples(template: &Template) -> Result<(), TemplateError> {
    let rich = event(
        "space.created",
        json!({
            "space_name": "lab",
            "space_id": SpaceId::NIL,
            "space_urls": {"web": "https://ann--lab--8080.example.org"},
            "template_id": null,
            "startup_script_id": null,
        }),
    );
    template.render(&Scope {
        event: &rich,
        space: EventSpace {
            id: SpaceId::NIL,
            name: "lab".to_owned(),
            urls: BTreeMap::from([(
                "web".to_owned(),
                "https://ann--lab--8080.example.org".to_owned(),
            )]),
        },
        custom: &BTreeMap::from([("team".to_owned(), "blue".to_owned())]),
    })?;
    template
        .render(&Scope {
            event: &event("custom.sample", json!({})),
            space: EventSpace::without_record(SpaceId::NIL),
            custom: &BTreeMap::new(),
        })
        .map(drop)
}

fn event(event_type: &str, data: Value) -> Event {
    let event_type = Some(event_type.to_owned());
    let data = JsonText::from(&data).into_raw();
    sample::event_by(
        UserId::NIL,
        "ann",
        event_type,
        Some(&data),
        EventId::NIL,
        Timestamp(0),
    )
    .expect("the samples are valid events")
}
