//! The table in the header of the module, for calls with and without an answer.

use std::time::Duration;

use serde_json::json;
use svc_core::{UserId, journal::CallVia};
use svc_store::Store;
use uuid::Uuid;

use super::*;
use crate::{
    journal::JournalOptions,
    methods::{
        calls::tests::{METHOD, OWNER, live_space, publication_of, viewer},
        ended_call::Ending,
        registry::{Entry, Registry},
    },
    metrics::{CallOutcome, MetricsOptions},
};

const CALLER: UserId = UserId(Uuid::from_u128(9));

/// A method that records this in the journal.
fn entry(journal: &str) -> Entry {
    let (registry, space) = (Registry::default(), Arc::new(live_space(0)));
    let document = json!({
        "server": {"command": "x"},
        "methods": [{
            "name": METHOD, "local_name": "x", "description": "x", "scope": "private",
            "journal": journal,
        }],
    });
    let publication = publication_of(&space, document, 1);
    let published = registry.publish(&publication, 1_000, |_| {});
    published.expect("nothing conflicts");
    let found = registry.find_visible(viewer(), OWNER, METHOD);
    found.expect("the owner sees the method")
}

fn unavailable(entry: Option<Entry>) -> CallSubject<'static> {
    CallSubject::Unavailable {
        owner: OWNER,
        name: METHOD,
        entry,
    }
}

/// Every subject, with its recorders if the caller gets an answer, and if not.
fn table<'a>(
    entry: &'a Entry,
    silent: &Entry,
) -> Vec<(CallSubject<'a>, &'static str, &'static str)> {
    let provider: &Provider = &entry.providers[0];
    let (answered, unanswered) = (
        "outcomes seconds stats meter journal trace",
        "outcomes meter journal trace",
    );
    let event = "meter journal trace";
    vec![
        (CallSubject::Provider(provider), answered, unanswered),
        (unavailable(Some(entry.clone())), answered, unanswered),
        (unavailable(None), answered, unanswered),
        (
            unavailable(Some(silent.clone())),
            "outcomes seconds stats meter",
            "outcomes meter",
        ),
        (
            CallSubject::Unknown("x"),
            "outcomes seconds stats journal trace",
            "outcomes journal trace",
        ),
        (CallSubject::Discovery, "outcomes seconds stats", "outcomes"),
        (CallSubject::Script("x"), "stats trace", "trace"),
        (CallSubject::Subscription(provider), event, event),
        (CallSubject::Invalid, "outcomes", "outcomes"),
    ]
}

fn names(recorders: [bool; 6]) -> String {
    let columns = ["outcomes", "seconds", "stats", "meter", "journal", "trace"];
    let columns = columns.into_iter().zip(recorders);
    let names: Vec<_> = columns
        .filter_map(|(name, gets)| gets.then_some(name))
        .collect();
    names.join(" ")
}

/// Counted outcomes, measured times, and the calls of the caller and of the method.
fn counts(recorder: &CallRecorder) -> [u64; 4] {
    let text = recorder.metrics.encode(0);
    let sum = |begin: &str| -> u64 {
        let lines = text.lines().filter(|line| line.starts_with(begin));
        let values = lines.map(|line| line.rsplit(' ').next().expect("a value"));
        values
            .map(|value| value.parse::<u64>().expect("a number"))
            .sum()
    };
    [
        sum("svc_calls_total{"),
        sum("svc_call_seconds_count "),
        recorder.stats.find_unwritten(CALLER).calls(),
        sum(&format!("svc_method_calls_total{{method=\"{METHOD}\"")),
    ]
}

fn ended(subject: CallSubject<'_>, outcome: CallOutcome, answered: bool) -> EndedCall<'_> {
    EndedCall {
        subject,
        caller: CALLER,
        credential: None,
        via: CallVia::Api,
        ending: Ending {
            answered,
            ..Ending::unanswered(outcome)
        },
        took: Duration::from_millis(1),
        params: None,
        reply: None,
        trace: None,
    }
}

#[test]
fn each_subject_has_its_recorders() {
    let (entry, silent) = (entry("outcome"), entry("none"));
    for (row, (subject, answered, unanswered)) in table(&entry, &silent).iter().enumerate() {
        assert_eq!(names(recorders_of(subject, true)), *answered, "row {row}");
        assert_eq!(
            names(recorders_of(subject, false)),
            *unanswered,
            "row {row}"
        );
    }
}

#[tokio::test]
async fn only_the_recorders_of_a_subject_count_its_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("the store opens");
    let metrics = Metrics::new(MetricsOptions::default());
    let options = JournalOptions::default();
    let recorder = CallRecorder {
        stats: Arc::default(),
        metrics: metrics.clone(),
        journal: Arc::new(Journal::new(store, metrics, options)),
        traces: Arc::new(Traces::off()),
    };
    let (entry, silent) = (entry("outcome"), entry("none"));
    let outcomes = [
        CallOutcome::Ok,
        CallOutcome::MethodError,
        CallOutcome::Unavailable,
        CallOutcome::Notification,
        CallOutcome::Cancelled,
    ];
    for (outcome, answered) in outcomes
        .iter()
        .flat_map(|one| [(*one, true), (*one, false)])
    {
        for (row, (subject, ..)) in table(&entry, &silent).into_iter().enumerate() {
            let [outcomes, seconds, stats, meter, ..] = recorders_of(&subject, answered);
            let is_metered = meter && metered(&subject).is_some();
            let before = counts(&recorder);
            recorder.ended(&ended(subject, outcome, answered));
            let now = counts(&recorder);
            let grown: [u64; 4] = std::array::from_fn(|column| now[column] - before[column]);
            let expected = [outcomes, seconds, stats, is_metered].map(u64::from);
            assert_eq!(
                grown, expected,
                "row {row}, {outcome:?}, answered: {answered}"
            );
        }
    }
}
