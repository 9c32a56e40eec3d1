//! Open streams see the events of the whole zone: while one is open here, what other servers
//! committed is looked for and told to the hub.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use svc_core::{EventId, Timestamp};

use crate::{
    app::App,
    clock,
    store::{StoreError, events},
};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How far back to look: the ids of events tell the time of the server that made them, whose clock
/// may differ, and a transaction may take a moment.
const LOOK_BACK: Duration = Duration::from_secs(10);
/// Events looked at in one go, and how often: at 2,000 events a second some are missed. Whoever needs
/// them all uses a sink.
const EVENTS_MAX: u32 = 1_000;
const PAGES_MAX: u32 = 20;

/// Until the server stops.
pub(super) async fn run(app: &App) {
    let mut seen = Seen::default();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = app.shutdown.cancelled() => return,
        }
        if !app.hub.has_streams() {
            seen = Seen::default();
            continue;
        }
        match look(app, &mut seen).await {
            Ok(()) => {}
            Err(StoreError::Closed) => return,
            Err(error) => super::tell("events of other servers could not be read", &error),
        }
    }
}

/// What streams have been told of, or are too late for.
#[derive(Default)]
struct Seen {
    ids: HashMap<EventId, Timestamp>,
    /// Whether the first look has been taken: what is older than a stream is not for it.
    has_looked: bool,
}

async fn look(app: &App, seen: &mut Seen) -> Result<(), StoreError> {
    let now = clock::now();
    let since = now.minus(LOOK_BACK);
    let filter = events::Filter {
        since: Some(since),
        ..events::Filter::default()
    };
    let listed = app
        .store
        .read(move |tx| {
            let (mut listed, mut after) = (Vec::new(), EventId::NIL);
            for _ in 0..PAGES_MAX {
                let page = events::list_after(tx, &filter, after, EVENTS_MAX)?;
                let Some((last, _)) = page.last() else { break };
                after = *last;
                listed.extend(page);
            }
            Ok(listed)
        })
        .await?;
    let told: HashSet<EventId> = app.hub.take_told();
    seen.ids.extend(told.into_iter().map(|id| (id, now)));
    let fresh: Vec<_> = listed
        .into_iter()
        .map(|(id, _)| id)
        .filter(|id| seen.ids.insert(*id, now).is_none())
        .collect();
    if std::mem::replace(&mut seen.has_looked, true) && !fresh.is_empty() {
        let found = app.store.read(move |tx| {
            fresh
                .iter()
                .map(|id| events::find(tx, *id))
                .collect::<Result<Vec<_>, _>>()
        });
        found
            .await?
            .iter()
            .flatten()
            .for_each(|event| app.hub.stream(event));
    }
    let forget = now.minus(LOOK_BACK * 3);
    seen.ids.retain(|_, at| *at >= forget);
    Ok(())
}
