//! What a method server's handle, its supervisor and its process's tasks have in common.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_link::{Control, FrameKind, PROGRESS_BYTES_MAX};
use svc_protocol::{
    agent_api::MethodServerState,
    jsonrpc::{ChildMessage, ResponseFault, RpcError, parse_child_line, parse_progress_line},
};
use tokio::sync::Notify;

use super::{
    Setup, Surroundings,
    calls::{CallTable, Effects, Line, Pipe, Reported, Take},
};
use crate::outbox::Caller;

pub struct Shared {
    pub setup: Setup,
    pub around: Surroundings,
    pub inner: Mutex<Inner>,
}

pub struct Inner {
    pub table: CallTable,
    pub effects: Effects,
    pub stdin: Option<Stdin>,
    pub state: MethodServerState,
    pub pid: Option<u32>,
    pub restarts: u64,
    /// Its state is the space's: it is neither on trial nor on its way out.
    pub current: bool,
    /// Replaced: it finishes its calls and is not restarted.
    pub retired: bool,
}

/// The writer of a running process's stdin.
pub struct Stdin {
    /// Wakes the writer.
    pub work: Arc<Notify>,
    /// The writer waits for work.
    pub is_parked: bool,
    /// The writer has taken lines that are not all in the pipe yet.
    pub is_writing: bool,
}

/// What a writer gets when it asks for lines.
pub enum TakeLines {
    Open(Take),
    /// The process takes no more lines.
    Closed,
}

impl Shared {
    pub fn arrive(&self, user: u32, caller: Option<Caller>, json: Bytes) {
        let now = Instant::now();
        self.with(|inner| {
            let effects = &mut inner.effects;
            inner.table.arrive(user, caller, json, now, effects);
        });
    }

    /// Gives the writer that `work` wakes the next lines. Without any, it is woken when there are.
    pub fn take_lines(&self, work: &Arc<Notify>, pipe: Pipe, lines: &mut Vec<Line>) -> TakeLines {
        let inner = &mut *self.inner.lock();
        let stdin = inner.stdin.as_mut();
        let Some(stdin) = stdin.filter(|stdin| Arc::ptr_eq(&stdin.work, work)) else {
            return TakeLines::Closed;
        };
        let take = inner.table.take(pipe, lines);
        stdin.is_parked = take == Take::Nothing;
        stdin.is_writing = matches!(take, Take::Lines { .. });
        TakeLines::Open(take)
    }

    /// A line came from the process's stdout. If it is a report on a call that comes too early: until
    /// when it is held.
    pub fn line(&self, line: &Bytes) -> Option<Instant> {
        let (id, kind, payload) = match parse_child_line(line) {
            Some(ChildMessage::Result { id, result }) => (id, FrameKind::Result, result),
            Some(ChildMessage::Error { id, error }) => (id, FrameKind::Error, error),
            Some(ChildMessage::Invalid { id, fault }) => {
                self.invalid_response(id, fault, line);
                return None;
            }
            None => return self.no_answer(line),
        };
        let payload = line.slice_ref(payload.as_bytes());
        let known = self.with(|inner| {
            let effects = &mut inner.effects;
            inner.table.answer(id, kind, payload, effects)
        });
        if !known && id < self.around.ids.load(Ordering::Relaxed) {
            tracing::debug!(
                id,
                "an answer came after its caller had gone; it is dropped"
            );
        } else if !known {
            self.around.log.agent(&format!(
                "the method server answered id {id}, which nobody asked; the answer is dropped"
            ));
        }
        None
    }

    /// A response that JSON-RPC does not allow: its caller gets an error at once.
    fn invalid_response(&self, id: u64, fault: ResponseFault, line: &Bytes) {
        let error = RpcError::InvalidResponse(fault).to_object().to_bytes();
        let known = self.with(|inner| {
            let effects = &mut inner.effects;
            inner
                .table
                .answer(id, FrameKind::Error, error.into(), effects)
        });
        if known {
            let why = fault.message();
            self.around.log.agent(&format!("call {id} failed: {why}"));
        } else {
            self.around.log.stdout(line);
        }
    }

    /// A line that is no answer: a report on a call in flight, or something for the log.
    fn no_answer(&self, line: &Bytes) -> Option<Instant> {
        match self.take_report(line) {
            Reported::Done => None,
            Reported::Held { until } => Some(until),
            Reported::Unknown => {
                if !line.is_empty() {
                    self.around.log.stdout(line);
                }
                None
            }
        }
    }

    fn take_report(&self, line: &Bytes) -> Reported {
        let Some((id, progress)) = parse_progress_line(line) else {
            return Reported::Unknown;
        };
        let report = progress.to_bytes();
        if report.len() > PROGRESS_BYTES_MAX {
            return Reported::Unknown;
        }
        let now = Instant::now();
        self.with(|inner| {
            let effects = &mut inner.effects;
            inner.table.report(id, report.into(), now, effects)
        })
    }

    /// Sends the reports whose time has come; when the next one's does.
    pub fn send_held_reports(&self, now: Instant) -> Option<Instant> {
        self.with(|inner| inner.table.send_held_reports(now, &mut inner.effects))
    }

    pub fn up(&self, pid: u32, stdin: Stdin) {
        self.with(|inner| {
            inner.pid = Some(pid);
            inner.stdin = Some(stdin);
            inner.state = MethodServerState::Running;
            inner.table.process_up();
        });
    }

    /// Closes the process's stdin once what the writer has taken is written. Calls wait from here on.
    pub fn down(&self) {
        let now = Instant::now();
        self.with(|inner| {
            inner.table.process_down(now);
            if let Some(stdin) = inner.stdin.take() {
                stdin.work.notify_one();
            }
        });
    }

    pub fn gone(&self) {
        self.with(|inner| {
            inner.pid = None;
            inner.state = MethodServerState::Restarting;
            inner.table.interrupt_sent(&mut inner.effects);
        });
    }

    pub fn report(&self) {
        let inner = self.inner.lock();
        if inner.current {
            self.around.outbox.control(&Control::MethodServer {
                state: inner.state,
                restarts: inner.restarts,
            });
        }
    }

    /// Changes the state and carries out what follows from it, in order, under one lock.
    pub fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        let result = change(inner);
        if let Some(stdin) = inner.stdin.as_mut()
            && stdin.is_parked
            && inner.table.has_next()
        {
            stdin.is_parked = false;
            stdin.work.notify_one();
        }
        for answer in inner.effects.answers.drain(..) {
            let outbox = &self.around.outbox;
            outbox.answer(answer.caller, answer.kind, answer.payload);
        }
        let dropped = std::mem::take(&mut inner.effects.dropped_notifications);
        drop(guard);
        if dropped > 0 {
            self.around.log.agent(&format!(
                "{dropped} notification(s) dropped: the method server is down or does not read its stdin"
            ));
        }
        result
    }
}

impl Inner {
    /// Nothing waits, runs or is yet to be written.
    pub fn is_idle(&self) -> bool {
        self.table.is_idle() && !self.stdin.as_ref().is_some_and(|stdin| stdin.is_writing)
    }
}
