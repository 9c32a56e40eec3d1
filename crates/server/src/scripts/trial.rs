//! Trials of scripts: runs a script once, with the permissions of the caller.

use std::{collections::BTreeMap, time::Instant};

use serde_json::value::RawValue;
use svc_core::{
    EventId, ScriptId, SpaceId,
    event::{Event, EventSpace, sample},
    json_text::JsonText,
    registration::Annotations,
};
use svc_protocol::api::{
    NewScript, RunNewScript, RunScript, Script, ScriptCheck, ScriptKind, ScriptRunResult,
};
use svc_store::{Tx, events, records, spaces::SpaceRow};

use super::{
    Run, RunInput, Scripts,
    check::{self, SourceRejected},
    event::{event_json, sample_event},
    libraries_of,
    power::withheld_from,
    report::{fault, kind_name},
    service::{check_may_own, check_quota, new_script},
    source_of,
};
use crate::{
    identity::{Actor, Caller},
    records::{RecordError, Result},
};

/// The name of a script without a name, in errors and tracebacks.
const UNNAMED: &str = "draft";
const EVENT_OF_TOOL: &str = "`event_id` is for sink scripts; a tool takes `params`";

impl Scripts {
    /// Runs a tool or sink script as the caller. If the script fails, returns `Ok` with the
    /// script's error in the result.
    pub async fn run(
        &self,
        caller: &Caller,
        id: ScriptId,
        mut request: RunScript,
    ) -> Result<ScriptRunResult> {
        let mut script = self.get(caller, id).await?;
        let draft = request.source.take();
        let input = self.read_input(caller, script.kind, request).await?;
        self.check_runs_for(caller, &script).await?;
        self.count_run(caller)?;
        if let Some(draft) = draft {
            // To run a draft, the caller needs the permission to save the script, and the draft
            // must pass the check of a saved source.
            check_may_own(caller.user.permissions, script.owner)?;
            script.source = draft;
            self.check_source(caller, &script).await?;
        }
        self.run_once(caller, script, input).await
    }

    /// Runs a tool or sink script that is not stored. The caller must be allowed to store it, and
    /// its source must pass the check of a stored source.
    pub async fn run_new(&self, caller: &Caller, new: RunNewScript) -> Result<ScriptRunResult> {
        check_may_own(caller.user.permissions, new.owner)?;
        let (script, request) = unstored(caller, new);
        check::name(script.kind, &script.name)?;
        let input = self.read_input(caller, script.kind, request).await?;
        self.check_may_store(caller, &script).await?;
        self.count_run(caller)?;
        self.check_source(caller, &script).await?;
        self.run_once(caller, script, input).await
    }

    /// Counts a run against the caller's runs per minute.
    fn count_run(&self, caller: &Caller) -> Result<()> {
        let taken = self.trials.scripts.take(caller.user.id, Instant::now());
        taken.map_err(|over| RecordError::over_limit("runs", over))
    }

    async fn run_once(
        &self,
        caller: &Caller,
        script: Script,
        what: RunInput,
    ) -> Result<ScriptRunResult> {
        let run = Run {
            what,
            user: caller.user.id,
            libraries: libraries_of(&script),
            script: source_of(script),
            trace: caller.trace.clone(),
        };
        let outcome = self.runner.run(run).await?;
        let (result, error) = match outcome.result {
            Ok(result) => (result, None),
            Err(error) => (None, Some(fault(&error))),
        };
        let result = result.and_then(|text| RawValue::from_string(text).ok());
        Ok(ScriptRunResult {
            result: result.unwrap_or_else(|| RawValue::NULL.to_owned()),
            error,
            output: outcome.output,
            ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Compiles a source without storing it. If a script with this source would be rejected, the
    /// result contains the reason.
    pub async fn check(&self, caller: &Caller, source: String) -> Result<ScriptCheck> {
        let checked = self
            .runner
            .check_source(caller, format!("{UNNAMED}.py"), source);
        let problem = match checked.await {
            Ok(()) => None,
            Err(SourceRejected::Source(problem)) => Some(problem),
            Err(other) => return Err(other.into()),
        };
        Ok(ScriptCheck { problem })
    }

    async fn read_input(
        &self,
        caller: &Caller,
        kind: ScriptKind,
        mut request: RunScript,
    ) -> Result<RunInput> {
        match request.event_id.take() {
            Some(id) if kind == ScriptKind::Sink => Ok(RunInput::Sink {
                event: self.past_event(caller, id).await?,
            }),
            Some(_) => Err(RecordError::new("invalid", EVENT_OF_TOOL)),
            None => run_input(caller, kind, request),
        }
    }

    /// A stored event that the caller sees, as a sink script gets it.
    async fn past_event(&self, caller: &Caller, id: EventId) -> Result<String> {
        let read = move |tx: &mut Tx<'_>| {
            let event = events::find(tx, id)?;
            let space = event.as_ref().map_or(SpaceId::NIL, |event| event.space_id);
            Ok((event, records::find::<SpaceRow>(tx, space)?))
        };
        let (event, space) = self.store.read(read).await?;
        let Some(event) = event.filter(|event: &Event| caller.sees_events_of(event.owner_id))
        else {
            let message = format!("event `{id}` does not exist, or is not yours");
            return Err(RecordError::new("invalid", message));
        };
        let space = match space {
            Some(row) => EventSpace {
                id: row.id,
                name: row.name.to_string(),
                urls: row.space_urls,
            },
            None => sample::space_of(&event),
        };
        Ok(event_json(&event, &space, &BTreeMap::new()))
    }

    async fn check_runs_for(&self, caller: &Caller, script: &Script) -> Result<()> {
        let (user, script) = (caller.user.id, script.clone());
        let withheld = self
            .store
            .read(move |tx| withheld_from(tx, &script, user))
            .await?;
        withheld.map_or(Ok(()), Err)
    }

    /// Checks the permission and the quota as for a script that is stored. A script that the caller
    /// stored would run for the caller, so this check replaces [`Self::check_runs_for`].
    async fn check_may_store(&self, caller: &Caller, script: &Script) -> Result<()> {
        let (who, script, quotas) = (caller.clone(), script.clone(), self.quotas);
        let check = move |tx: &mut Tx<'_>| {
            let actor = Actor::read(tx, &who)?;
            check_may_own(actor.permissions, script.owner)?;
            check_quota(tx, &quotas, &script)
        };
        self.store.read(move |tx| Ok(check(tx))).await?
    }
}

/// The script and the run that a request describes.
fn unstored(caller: &Caller, new: RunNewScript) -> (Script, RunScript) {
    let script = NewScript {
        name: new.name.unwrap_or_else(|| UNNAMED.to_owned()),
        kind: new.kind,
        owner: new.owner,
        source: new.source,
        title: None,
        description: String::new(),
        annotations: Annotations::default(),
        params_schema: None,
    };
    let run = RunScript {
        params: new.params,
        event_type: new.event_type,
        event_id: new.event_id,
        source: None,
    };
    (new_script(caller, script), run)
}

fn run_input(caller: &Caller, kind: ScriptKind, request: RunScript) -> Result<RunInput> {
    let misplaced = |message| Err(RecordError::new("invalid", message));
    match kind {
        ScriptKind::Tool => {
            let params = request.params.as_deref().map_or("{}", RawValue::get);
            let params = JsonText::parse(params)
                .map_err(|error| RecordError::new("invalid", format!("`params`: {error}")))?;
            if request.event_type.is_some() {
                return misplaced("`event_type` is for sink scripts; a tool takes `params`");
            }
            if !params.is_object() {
                return misplaced("`params` must be an object: a tool takes named arguments");
            }
            Ok(RunInput::Tool {
                params: params.to_string(),
            })
        }
        ScriptKind::Sink => {
            if request.params.is_some() {
                return misplaced(
                    "`params` is for tools; a sink script gets an event (`event_type`)",
                );
            }
            let event = sample_event(caller, request.event_type, None)?;
            let space = sample::space_of(&event);
            let event = event_json(&event, &space, &BTreeMap::new());
            Ok(RunInput::Sink { event })
        }
        ScriptKind::Startup | ScriptKind::Library => {
            let message = format!(
                "a {} script does not run on the server; only sink and tool scripts do",
                kind_name(kind)
            );
            Err(RecordError::new("not_runnable", message))
        }
    }
}
