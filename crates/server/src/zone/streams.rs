//! Sends the events of the whole zone to the event streams that are open on this server: while a
//! stream is open, reads the events that other servers committed and passes them to the hub.

use std::time::Duration;

use svc_core::EventId;
use svc_store::{StoreError, Tx, events};

use super::ZoneHandles;

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How far back each look reads. An event may become visible late: its id contains the time of its
/// server, whose clock may differ, and a transaction takes a moment to commit.
const LOOK_BACK: Duration = Duration::from_secs(10);
/// Events per page, and pages per look: one look reads at most 20,000 events, the oldest first. If
/// a zone has more than 2,000 events a second, a stream gets the events of other servers late, and
/// at much higher rates it misses some. Receivers that need all events use a sink.
const EVENTS_MAX: u32 = 1_000;
const PAGES_MAX: u32 = 20;
/// Pages of the first look. The first look must find every event of the last 10 s that is older
/// than the open streams, so that no such event is streamed later. These pages are enough for
/// 20,000 events a second.
const FIRST_PAGES_MAX: u32 = 200;

/// Reads events of other servers until the server stops.
pub(super) async fn run(handles: &ZoneHandles) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = handles.stream_catch_up.requested() => {}
            () = handles.shutdown.cancelled() => return,
        }
        let number = handles.stream_catch_up.begin();
        let looked = look(handles).await;
        handles.stream_catch_up.done(number, looked.is_ok());
        match looked {
            Ok(()) => {}
            Err(StoreError::Closed) => return,
            Err(error) => super::log_failure("cannot read the events of other servers", &error),
        }
    }
}

async fn look(handles: &ZoneHandles) -> Result<(), StoreError> {
    if !handles.hub.has_streams() {
        handles.hub.forget_shown();
        return Ok(());
    }
    let now = svc_clock::now();
    let filter = events::Filter {
        since: Some(now.minus(LOOK_BACK)),
        ..events::Filter::default()
    };
    let pages_max = match handles.hub.has_shown() {
        true => PAGES_MAX,
        false => FIRST_PAGES_MAX,
    };
    let read = move |tx: &mut Tx<'_>| {
        let (mut listed, mut after) = (Vec::new(), EventId::NIL);
        for _ in 0..pages_max {
            let page = events::list_after(tx, &filter, after, EVENTS_MAX)?;
            listed.extend(page.events);
            let Some(next) = page.next else { break };
            after = next;
        }
        Ok(listed)
    };
    let listed = handles.store.read_table(read).await?;
    let newest = listed.into_iter().map(|(id, _)| id).collect();
    let fresh = handles.hub.list_unshown(newest, now.minus(LOOK_BACK * 3));
    if fresh.is_empty() {
        return Ok(());
    }
    let find = move |tx: &mut Tx<'_>| {
        let found = fresh.iter().map(|id| events::find(tx, *id));
        found.collect::<Result<Vec<_>, _>>()
    };
    let found = handles.store.read(find).await?;
    found
        .iter()
        .flatten()
        .for_each(|event| handles.hub.show(event));
    Ok(())
}
