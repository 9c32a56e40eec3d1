//! Records what happens to calls and to the programs of method servers, and checks the promises
//! about them.

mod restarts;

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitStatus,
    sync::Arc,
};

use parking_lot::Mutex;
use svc_link::FrameKind;
use svc_simulation::Trace;
use tokio::sync::oneshot;

use self::restarts::Restarts;
use crate::backoff::Backoff;

pub struct Ledger {
    pub trace: Arc<Trace>,
    restart: Backoff,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: BTreeMap<u64, CallRecord>,
    /// The programs that run, by id.
    programs: BTreeMap<u32, ProgramRecord>,
    last_program: u32,
    /// By registration.
    restarts: BTreeMap<u64, Restarts>,
    /// Registrations whose calls in flight are limited.
    limited: BTreeSet<u64>,
}

/// How a call ended, as its caller sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnd {
    Answered(FrameKind),
    LinkLost,
}

struct CallRecord {
    registration: u64,
    executions: u32,
    is_cancelled: bool,
    /// Whether the agent knows that no caller waits.
    is_abandoned: bool,
    link_lost: bool,
    answers: Vec<FrameKind>,
    caller: Option<oneshot::Sender<CallEnd>>,
}

struct ProgramRecord {
    registration: u64,
    in_flight_max: Option<usize>,
    executing: BTreeSet<u64>,
}

impl ProgramRecord {
    fn is_serial(&self) -> bool {
        self.in_flight_max == Some(1)
    }
}

impl Ledger {
    /// `restart`: the delays that restarts must keep.
    pub fn new(trace: Arc<Trace>, restart: Backoff) -> Self {
        Self {
            trace,
            restart,
            state: Mutex::default(),
        }
    }

    fn break_promise(&self, text: String) {
        self.trace.break_promise(text);
    }

    /// A program of a registration starts. Returns its id.
    pub fn starts(&self, registration: u64, in_flight_max: Option<usize>) -> u32 {
        let mut state = self.state.lock();
        state.last_program += 1;
        let id = state.last_program;
        self.trace.note(&format!(
            "program {id} of registration {registration} starts"
        ));
        let mut running = state.programs.iter();
        if let Some((other, _)) = running.find(|(_, other)| other.registration == registration) {
            self.break_promise(format!(
                "one method server: programs {other} and {id} of registration {registration} run"
            ));
        }
        self.check_restart(&mut state, registration);
        if in_flight_max.is_some() {
            state.limited.insert(registration);
        }
        let record = ProgramRecord {
            registration,
            in_flight_max,
            executing: BTreeSet::new(),
        };
        state.programs.insert(id, record);
        id
    }

    pub fn fails_to_start(&self, registration: u64) {
        let mut state = self.state.lock();
        self.trace.note(&format!(
            "a program of registration {registration} fails to start"
        ));
        self.check_restart(&mut state, registration);
        let restarts = state.restarts.entry(registration).or_default();
        restarts.end();
    }

    fn check_restart(&self, state: &mut State, registration: u64) {
        let restarts = state.restarts.entry(registration).or_default();
        if let Err(found) = restarts.start(self.restart) {
            self.break_promise(format!("restarts: registration {registration} {found}"));
        }
    }

    pub fn ends(&self, program: u32, status: ExitStatus) {
        self.trace
            .note(&format!("program {program} ends: {status}"));
        let mut state = self.state.lock();
        if let Some(record) = state.programs.remove(&program) {
            let restarts = state.restarts.entry(record.registration).or_default();
            restarts.end();
        }
    }

    /// A program begins to execute a call.
    pub fn executes(&self, program: u32, call: u64) {
        self.trace
            .note(&format!("program {program} executes call {call}"));
        let state = &mut *self.state.lock();
        let Some(this) = state.programs.get(&program) else {
            return self.break_promise(format!("program {program} executes after its end"));
        };
        let record = state.calls.get_mut(&call).expect("the call was sent");
        record.executions += 1;
        if record.executions > 1 {
            self.break_promise(format!("at most once: call {call} is executed again"));
        }
        if record.registration != this.registration {
            self.break_promise(format!(
                "right program: call {call} of registration {} reached registration {}",
                record.registration, this.registration
            ));
        }
        // The agent counts an abandoned call as done, unless calls in flight are limited.
        if record.is_abandoned && this.in_flight_max.is_none() {
            return;
        }
        let others = state.programs.iter().filter(|(id, _)| **id != program);
        for (id, other) in others {
            let is_alone = this.is_serial() || other.is_serial();
            if let (true, Some(busy)) = (is_alone, other.executing.first()) {
                self.break_promise(format!(
                    "one at a time: program {program} executes {call} while program {id} executes {busy}"
                ));
            }
        }
        if let Some(this) = state.programs.get_mut(&program) {
            this.executing.insert(call);
            let busy = this.executing.len();
            if this.in_flight_max.is_some_and(|most| busy > most) {
                self.break_promise(format!(
                    "one at a time: program {program} executes {busy} calls"
                ));
            }
        }
    }

    pub fn finishes(&self, program: u32, call: u64) {
        let mut state = self.state.lock();
        if let Some(program) = state.programs.get_mut(&program) {
            program.executing.remove(&call);
        }
    }

    /// A server sends a call. The receiver gets the first end of the call.
    pub fn sends(&self, call: u64, registration: u64) -> oneshot::Receiver<CallEnd> {
        self.trace.note(&format!(
            "call {call} of registration {registration} is sent"
        ));
        let (caller, end) = oneshot::channel();
        let record = CallRecord {
            registration,
            executions: 0,
            is_cancelled: false,
            is_abandoned: false,
            link_lost: false,
            answers: Vec::new(),
            caller: Some(caller),
        };
        self.state.lock().calls.insert(call, record);
        end
    }

    pub fn cancels(&self, call: u64) {
        self.trace.note(&format!("call {call} is cancelled"));
        let state = &mut *self.state.lock();
        state.abandon(call);
        let record = state.calls.get_mut(&call).expect("the call was sent");
        record.is_cancelled = true;
    }

    /// The agent drops a call, because it has lost the link of the call.
    pub fn abandons(&self, call: u64) {
        self.state.lock().abandon(call);
    }

    /// The server has lost the link of a call.
    pub fn loses_link(&self, call: u64) {
        self.trace.note(&format!("call {call} has lost its link"));
        let state = &mut *self.state.lock();
        let record = state.calls.get_mut(&call).expect("the call was sent");
        record.link_lost = true;
        record.end(CallEnd::LinkLost);
    }

    /// The server receives an answer.
    pub fn answers(&self, call: u64, kind: FrameKind, payload: &[u8]) {
        self.trace
            .note(&format!("call {call} is answered: {kind:?}"));
        let state = &mut *self.state.lock();
        let Some(record) = state.calls.get_mut(&call) else {
            return self.break_promise(format!("one answer: call {call} was never sent"));
        };
        record.answers.push(kind);
        record.end(CallEnd::Answered(kind));
        if record.link_lost {
            self.break_promise(format!("one answer: call {call} after its link was lost"));
        }
        let keeps_slot = state.limited.contains(&record.registration);
        if !record.has_valid_answers(keeps_slot) {
            let answers = &record.answers;
            self.break_promise(format!("one answer: call {call} got {answers:?}"));
        }
        let executions = record.executions;
        let is_true = match kind {
            FrameKind::Result => executions == 1 && payload == call.to_string().as_bytes(),
            FrameKind::Error => executions == 1,
            FrameKind::Unavailable | FrameKind::CancelledUnsent => executions == 0,
            FrameKind::Interrupted | FrameKind::CancelledSent => true,
            _ => false,
        };
        if !is_true {
            self.break_promise(format!(
                "true answers: call {call} was executed {executions} times and got {kind:?}"
            ));
        }
    }

    /// Checks every call after the agent has stopped.
    pub fn check_end(&self) {
        let state = self.state.lock();
        for (call, record) in &state.calls {
            let executions = record.executions;
            let was_sent = !record.answers.iter().any(|answer| {
                matches!(answer, FrameKind::Unavailable | FrameKind::CancelledUnsent)
            });
            if record.answers.is_empty() && !record.link_lost {
                self.break_promise(format!("one answer: call {call} got none"));
            }
            if executions > 0 && !was_sent {
                self.break_promise(format!("true answers: call {call} was executed later"));
            }
        }
        for program in state.programs.keys() {
            self.break_promise(format!("no orphans: program {program} still runs"));
        }
    }
}

impl State {
    /// The caller of a call no longer waits. Without a limit of calls in flight, the agent counts
    /// the call as done.
    fn abandon(&mut self, call: u64) {
        if let Some(record) = self.calls.get_mut(&call) {
            record.is_abandoned = true;
        }
        let unlimited = self.programs.values_mut();
        for program in unlimited.filter(|program| program.in_flight_max.is_none()) {
            program.executing.remove(&call);
        }
    }
}

impl CallRecord {
    fn end(&mut self, end: CallEnd) {
        if let Some(caller) = self.caller.take() {
            // The caller may have ended already.
            let _ = caller.send(end);
        }
    }

    /// A call gets one answer. If it was cancelled after it was sent, and it keeps its slot, its
    /// real answer follows.
    fn has_valid_answers(&self, keeps_slot: bool) -> bool {
        use FrameKind::{CancelledSent, CancelledUnsent, Error, Interrupted, Result, Unavailable};
        match self.answers[..] {
            [Result | Error | Unavailable | Interrupted] => true,
            [CancelledUnsent | CancelledSent] => self.is_cancelled,
            [CancelledSent, Result | Error | Interrupted] => self.is_cancelled && keeps_slot,
            _ => false,
        }
    }
}
