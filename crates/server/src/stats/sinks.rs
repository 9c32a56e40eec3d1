//! Statistics of one sink (`GET /api/event-sinks/{id}/stats`), for the users who manage the sink.
//!
//! Attempts are stored with the calls of methods: see `svc_core::activity_stats`.

use svc_core::{
    SinkId, Timestamp,
    activity_stats::{MethodCount, StatsRange, Subject},
};
use svc_protocol::api::{SinkStats, SinkStatsPoint};
use svc_store::{
    Tx,
    method_stats::{self, StatsTable},
    records,
    sinks::SinkRow,
};

use super::methods::{MethodStatistics, show_points};
use crate::{events::sinks::owner_keys, identity::Caller, records::RecordError};

impl MethodStatistics {
    pub async fn get_sink(
        &self,
        caller: &Caller,
        id: SinkId,
        range: StatsRange,
    ) -> Result<SinkStats, RecordError> {
        let now = svc_clock::now();
        let first = range.first(now);
        let keys = owner_keys(caller);
        let subject = Subject::Sink(id);
        let wanted = subject.clone();
        let read = move |tx: &mut Tx<'_>| {
            let sink =
                records::find::<SinkRow>(tx, id)?.filter(|sink| keys.contains(&sink.owner_key));
            let Some(sink) = sink else { return Ok(None) };
            let table = StatsTable::Methods;
            let counts = method_stats::list(tx, table, sink.owner_id, &wanted, first)?;
            Ok(Some((sink.owner_id, counts)))
        };
        let found = self.store.read_list(caller.user.id, read).await?;
        let (owner, mut counts) = found.ok_or_else(|| {
            RecordError::NotFound(format!(
                "event sink `{id}` does not exist or is not yours; `svc sink list` lists your sinks"
            ))
        })?;
        let unwritten = self.metrics.methods.find_unwritten(owner, &subject);
        if unwritten.calls() > 0 {
            counts.push((now, unwritten));
        }
        let (total, points) = show_points(range, first, &counts, point);
        Ok(SinkStats {
            sink_id: id,
            range,
            step_seconds: range.step().as_secs(),
            total,
            points,
        })
    }
}

fn point(at: Timestamp, count: &MethodCount) -> SinkStatsPoint {
    SinkStatsPoint {
        at,
        attempts: count.calls(),
        failed: count.errors,
        p50_ms: count.percentile_ms(0.5),
        p95_ms: count.percentile_ms(0.95),
        p99_ms: count.percentile_ms(0.99),
    }
}
