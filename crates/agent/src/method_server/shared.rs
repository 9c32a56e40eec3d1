//! State shared by a method server's handle, its supervisor and the tasks of its process.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_link::{Control, FrameKind, PROGRESS_BYTES_MAX};
use svc_protocol::{
    agent_api::MethodServerState,
    jsonrpc::{
        ChildMessage, ResponseFault, RpcError, is_ready_line, parse_child_line, parse_progress_line,
    },
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    Services, Setup,
    calls::{CallTable, Effects, Line, Pipe, ReportOutcome, Take},
};
pub struct Shared {
    pub setup: Setup,
    pub services: Services,
    /// Cancelled when the method server reports that it is ready.
    pub ready: CancellationToken,
    pub inner: Mutex<Inner>,
}

pub struct Inner {
    pub table: CallTable,
    pub effects: Effects,
    pub stdin: Option<Stdin>,
    pub state: MethodServerState,
    pub pid: Option<u32>,
    pub restarts: u64,
    /// Whether this is the current method server of the space. Only the current method server
    /// reports its state to the server.
    pub current: bool,
    /// Whether the method server was replaced or closed. It is then not restarted.
    pub retired: bool,
}

/// The writer of a running process's stdin.
pub struct Stdin {
    /// Wakes the writer.
    pub work: Arc<Notify>,
    /// Whether the writer waits for `work`, because no line may be written now.
    pub is_parked: bool,
    /// Whether the writer has taken lines that are not all in the pipe yet.
    pub is_writing: bool,
}

/// The result of [`Shared::take_lines`].
pub enum TakeLines {
    Open(Take),
    /// The process accepts no more lines.
    Closed,
}

impl Shared {
    /// Moves the next lines to `lines`, for the writer that `work` wakes. If no line may be written
    /// now, `work` is notified as soon as a line may be written.
    pub fn take_lines(&self, work: &Arc<Notify>, pipe: Pipe, lines: &mut Vec<Line>) -> TakeLines {
        let now = Instant::now();
        let inner = &mut *self.inner.lock();
        let stdin = inner.stdin.as_mut();
        let Some(stdin) = stdin.filter(|stdin| Arc::ptr_eq(&stdin.work, work)) else {
            return TakeLines::Closed;
        };
        let take = inner.table.take(pipe, now, lines);
        stdin.is_parked = take == Take::Nothing;
        stdin.is_writing = matches!(take, Take::Lines { .. });
        TakeLines::Open(take)
    }

    /// Handles a line of the process's stdout. If the line is a progress report that comes too
    /// early, returns the time until which the report is held.
    pub fn handle_line(&self, line: &Bytes) -> Option<Instant> {
        let (id, kind, payload) = match parse_child_line(line) {
            Some(ChildMessage::Result { id, result }) => (id, FrameKind::Result, result),
            Some(ChildMessage::Error { id, error }) => (id, FrameKind::Error, error),
            Some(ChildMessage::Invalid { id, fault }) => {
                self.invalid_response(id, fault, line);
                return None;
            }
            None => return self.handle_other_line(line),
        };
        let known = self.answer(id, kind, line.slice_ref(payload.as_bytes()));
        if !known && id < self.services.ids.load(Ordering::Relaxed) {
            tracing::debug!(
                id,
                "dropped an answer to a call that was cancelled or interrupted"
            );
        } else if !known {
            self.services.log.agent(&format!(
                "the method server answered id {id}, but no call has this id; the answer is dropped"
            ));
        }
        None
    }

    /// Answers a call. Returns `false` if no sent call has this id.
    fn answer(&self, id: u64, kind: FrameKind, payload: Bytes) -> bool {
        let now = Instant::now();
        self.with(|inner| {
            let effects = &mut inner.effects;
            inner.table.answer(id, kind, payload, now, effects)
        })
    }

    /// Handles a response that violates JSON-RPC: answers the call with an error.
    fn invalid_response(&self, id: u64, fault: ResponseFault, line: &Bytes) {
        let error = RpcError::InvalidResponse(fault).to_object().to_bytes();
        if self.answer(id, FrameKind::Error, error.into()) {
            let why = fault.message();
            self.services.log.agent(&format!("call {id} failed: {why}"));
        } else {
            self.services.log.stdout(line);
        }
    }

    /// Handles a line that is not a response: `$/ready`, a progress report on a call in flight, or
    /// text for the log.
    fn handle_other_line(&self, line: &Bytes) -> Option<Instant> {
        if is_ready_line(line) {
            self.ready.cancel();
            return None;
        }
        match self.take_report(line) {
            ReportOutcome::Done => None,
            ReportOutcome::Held { until } => Some(until),
            ReportOutcome::Unknown => {
                if !line.is_empty() {
                    self.services.log.stdout(line);
                }
                None
            }
        }
    }

    fn take_report(&self, line: &Bytes) -> ReportOutcome {
        let Some((id, progress)) = parse_progress_line(line) else {
            return ReportOutcome::Unknown;
        };
        let report = progress.to_bytes();
        if report.len() > PROGRESS_BYTES_MAX {
            return ReportOutcome::Unknown;
        }
        let now = Instant::now();
        self.with(|inner| {
            let effects = &mut inner.effects;
            inner.table.report(id, report.into(), now, effects)
        })
    }

    /// Sends the held reports that are due. Returns when the next held report is due.
    pub fn send_held_reports(&self, now: Instant) -> Option<Instant> {
        self.with(|inner| inner.table.send_held_reports(now, &mut inner.effects))
    }

    pub fn process_up(&self, pid: u32, stdin: Stdin) {
        self.with(|inner| {
            inner.pid = Some(pid);
            inner.stdin = Some(stdin);
            inner.state = MethodServerState::Running;
            inner.table.process_up();
        });
    }

    /// From now on, calls wait in the table. The writer writes the lines that it has already taken,
    /// then closes stdin.
    pub fn process_down(&self) {
        let now = Instant::now();
        self.with(|inner| {
            inner.table.process_down(now);
            if let Some(stdin) = inner.stdin.take() {
                stdin.work.notify_one();
            }
        });
    }

    pub fn process_ended(&self) {
        self.with(|inner| {
            inner.pid = None;
            inner.state = MethodServerState::Restarting;
            inner.table.interrupt_sent(&mut inner.effects);
        });
    }

    pub fn report(&self) {
        let inner = self.inner.lock();
        if inner.current {
            self.services.outbox.control_all(&Control::MethodServer {
                state: inner.state,
                restarts: inner.restarts,
            });
        }
    }

    /// Changes the state and sends the resulting answers in order, under one lock.
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
            let outbox = &self.services.outbox;
            outbox.answer(answer.caller, answer.kind, answer.payload, answer.times);
        }
        let dropped = std::mem::take(&mut inner.effects.dropped_notifications);
        drop(guard);
        if dropped > 0 {
            self.services.log.agent(&format!(
                "{dropped} notification(s) dropped: the method server is down or does not read its stdin"
            ));
        }
        result
    }
}

impl Inner {
    /// Whether no call waits or is in flight, and no line is being written.
    pub fn is_idle(&self) -> bool {
        self.table.is_idle() && !self.stdin.as_ref().is_some_and(|stdin| stdin.is_writing)
    }
}
