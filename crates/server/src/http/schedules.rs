//! `/api/schedules`

use svc_core::ScheduleId;
use svc_protocol::api::{
    EmittedEvent, NewSchedule, NextRuns, NextRunsQuery, PreviewQuery, Schedule, SchedulePatch,
    Schedules,
};

use super::handlers::handlers;

handlers! {
    list(app, caller, page) -> Json<Schedules> = app.schedules.list(&caller, page).await?.into_list();
    create(app, caller, body: NewSchedule) -> Created<Schedule> = app.schedules.create(&caller, body).await?;
    get(app, caller, id: ScheduleId) -> Json<Schedule> = app.schedules.get(&caller, id).await?;
    patch(app, caller, id: ScheduleId, body: SchedulePatch) -> Json<Schedule> =
        app.schedules.patch(&caller, id, body).await?;
    delete(app, caller, id: ScheduleId) -> NoContent = app.schedules.delete(&caller, id).await?;
    next(app, caller, id: ScheduleId, query: NextRunsQuery) -> Json<NextRuns> =
        app.schedules.next_runs(&caller, id, query.count).await?;
    preview(app, caller, query: PreviewQuery) -> Json<NextRuns> = {
        let timezone = query.timezone.unwrap_or_else(|| "UTC".to_owned());
        app.schedules.preview(&caller, (query.cron, timezone), query.count).await?
    };
    run(app, caller, id: ScheduleId) -> Accepted<EmittedEvent> = app.schedules.run_now(&caller, id).await?;
}
