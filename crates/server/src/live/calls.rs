//! The calls in flight on a link, each with its waiting caller.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;
use slab::Slab;
use svc_core::{UserId, journal::CallTimes, number_map::NumberMap};
use svc_link::FrameKind;
use svc_protocol::jsonrpc;
use thiserror::Error;
use tokio::sync::oneshot;

use super::reports::Reports;
use crate::limits::{Account, ByteBudget, charge_reply};

/// Limit of the calls in flight on one link, because an agent that does not answer must not use
/// unlimited memory. A user may add a call only while the user has fewer calls in flight than the
/// number of calls that still fit on the link. So a single user gets at most half of the limit.
const CALLS_MAX: usize = 200_000;
/// An id is `generation << INDEX_BITS | index`, so a reused index gets a different id. Every id is
/// below 2^53, so every JSON parser reads it exactly.
const INDEX_BITS: u32 = 20;

/// The outcome of a call, as the agent reports it.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Result(Bytes),
    Error(Bytes),
    /// Not sent to the method server: another provider may be tried.
    Unavailable,
    /// Sent, but the method server or the link ended before the answer.
    Interrupted,
    /// Cancelled. `sent` is true if the call had been sent to the method server.
    Cancelled {
        sent: bool,
    },
    /// Answered, but the caller has too many unread answers, so the answer was dropped.
    Unread {
        limit_bytes: usize,
    },
}

/// An answer, and how long the call took in the agent.
#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    pub answer: Answer,
    pub times: Option<CallTimes>,
}

/// Why a frame is not a valid answer. Both reasons are violations of the protocol.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum InvalidAnswer {
    #[error("an agent must not send {0:?} frames")]
    Kind(FrameKind),
    #[error("the answer to a call is not valid JSON-RPC")]
    NotJson,
}

impl Answer {
    fn charge(self, caller: UserId, budget: &Arc<ByteBudget>) -> Self {
        let charged = match self {
            Self::Result(bytes) => charge_reply(budget, caller, bytes).map(Self::Result),
            Self::Error(bytes) => charge_reply(budget, caller, bytes).map(Self::Error),
            other => return other,
        };
        charged.unwrap_or_else(|full| Self::Unread {
            limit_bytes: full.limit,
        })
    }

    /// Reads an answer. Its payload is copied into the caller's response unchanged, possibly next
    /// to answers of other users' methods, so it must be exactly one JSON value.
    pub fn from_frame(kind: FrameKind, payload: Bytes) -> Result<Self, InvalidAnswer> {
        Ok(match kind {
            FrameKind::Result => match one_json_value(&payload) {
                Some(_) => Self::Result(payload),
                None => return Err(InvalidAnswer::NotJson),
            },
            FrameKind::Error => match one_json_value(&payload) {
                Some(b'{') => Self::Error(payload),
                _ => return Err(InvalidAnswer::NotJson),
            },
            FrameKind::Unavailable => Self::Unavailable,
            FrameKind::Interrupted => Self::Interrupted,
            FrameKind::CancelledUnsent => Self::Cancelled { sent: false },
            FrameKind::CancelledSent => Self::Cancelled { sent: true },
            kind => return Err(InvalidAnswer::Kind(kind)),
        })
    }
}

/// The first byte of the value, if the bytes are one JSON value and nothing else.
fn one_json_value(bytes: &[u8]) -> Option<u8> {
    jsonrpc::one_value(bytes)?.as_bytes().first().copied()
}

/// Counts a call as in flight for the choice of targets (D2), until this value is dropped.
#[derive(Debug)]
pub struct InFlight(Arc<AtomicU32>);

impl InFlight {
    pub fn new(count: &Arc<AtomicU32>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
pub struct CallTable {
    entries: Slab<Entry>,
    /// Number of calls per user; only users with calls.
    by_user: NumberMap<u32, usize>,
    generation: u32,
}

struct Entry {
    user: u32,
    /// The user for whom the memory of the answer counts. `None` for the delivery of an event: its
    /// answer is cut at once, and no client can leave it unread.
    payer: Option<UserId>,
    generation: u32,
    /// `None` after the caller stopped waiting.
    waiter: Option<oneshot::Sender<Answered>>,
    /// Whether the method server takes one call at a time. Then a sent call counts as in flight
    /// until its answer, even if it was cancelled (spec 4.1).
    serial: bool,
    /// `None` unless the caller asked for reports on progress.
    reports: Option<Reports>,
    times: Option<CallTimes>,
    _in_flight: InFlight,
}

impl CallTable {
    /// Adds a call of a user. Returns `None` if the user has too many calls in flight on this link.
    pub fn insert(
        &mut self,
        (payer, user): (Option<UserId>, u32),
        in_flight: InFlight,
        serial: bool,
        reports: Option<Reports>,
    ) -> Option<(u64, oneshot::Receiver<Answered>)> {
        let left = CALLS_MAX.saturating_sub(self.entries.len());
        let of_user = self.by_user.entry(user).or_default();
        if *of_user >= left {
            // Users without calls are not stored.
            if *of_user == 0 {
                self.by_user.remove(&user);
            }
            return None;
        }
        *of_user += 1;
        let (waiter, answer) = oneshot::channel();
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let entry = Entry {
            user,
            payer,
            generation,
            waiter: Some(waiter),
            serial,
            reports,
            times: None,
            _in_flight: in_flight,
        };
        let index = self.entries.insert(entry);
        Some((u64::from(generation) << INDEX_BITS | index as u64, answer))
    }

    /// [`complete`](Self::complete) for an answer of the agent, whose memory is counted for the
    /// caller. An answer without a waiting caller is dropped.
    pub fn receive(&mut self, id: u64, answer: Answer, budget: &Arc<ByteBudget>) {
        let Some(index) = self.index(id) else { return };
        let entry = &self.entries[index];
        let answer = match (&entry.waiter, entry.payer) {
            (Some(_), Some(payer)) => answer.charge(payer, budget),
            _ => answer,
        };
        self.complete(id, answer);
    }

    /// Passes an answer to the waiting caller. Ignores unknown ids: the answer is late or hostile.
    pub fn complete(&mut self, id: u64, answer: Answer) {
        let Some(index) = self.index(id) else { return };
        let entry = &mut self.entries[index];
        let (waiter, times) = (entry.waiter.take(), entry.times);
        let stays_in_flight = entry.serial && answer == (Answer::Cancelled { sent: true });
        if !stays_in_flight {
            self.remove(index);
        }
        if let Some(waiter) = waiter {
            // The caller may have been dropped in the meantime.
            let _ = waiter.send(Answered { answer, times });
        }
    }

    /// Notes the times of a call, whose answer follows. Ignores unknown ids.
    pub fn set_times(&mut self, id: u64, times: CallTimes) {
        if let Some(index) = self.index(id) {
            self.entries[index].times = Some(times);
        }
    }

    /// Passes on a progress report, if the caller requested reports. The memory of the report is
    /// counted for the caller; without memory for it, the report is dropped.
    pub fn report(&self, id: u64, report: Bytes, budget: &Arc<ByteBudget>) {
        let Some(index) = self.index(id) else { return };
        let entry = &self.entries[index];
        if let (Some(reports), Some(payer)) = (&entry.reports, entry.payer)
            && let Ok(report) = budget.charge(Account::User(payer), report)
        {
            reports.put(report);
        }
    }

    /// Records that the caller stopped waiting. In concurrent mode the call ends at once. In serial
    /// mode the call may have been sent, so it stays in flight until the agent reports that it was
    /// not sent or that it ended. Returns whether the call was in flight.
    pub fn abandon(&mut self, id: u64) -> bool {
        let Some(index) = self.index(id) else {
            return false;
        };
        if self.entries[index].serial {
            self.entries[index].waiter = None;
            self.entries[index].reports = None;
        } else {
            self.remove(index);
        }
        true
    }

    /// Ends every call. The waiters see a closed channel.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.by_user.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn remove(&mut self, index: usize) {
        let user = self.entries.remove(index).user;
        if let Some(of_user) = self.by_user.get_mut(&user) {
            *of_user -= 1;
            if *of_user == 0 {
                self.by_user.remove(&user);
            }
        }
    }

    fn index(&self, id: u64) -> Option<usize> {
        let index = usize::try_from(id & ((1 << INDEX_BITS) - 1)).ok()?;
        let entry = self.entries.get(index)?;
        (u64::from(entry.generation) == id >> INDEX_BITS).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(
        table: &mut CallTable,
        counter: &Arc<AtomicU32>,
        serial: bool,
    ) -> Option<(u64, oneshot::Receiver<Answered>)> {
        table.insert((Some(UserId::NIL), 7), InFlight::new(counter), serial, None)
    }

    fn count(counter: &Arc<AtomicU32>) -> u32 {
        counter.load(Ordering::Relaxed)
    }

    #[test]
    fn an_answer_ends_the_call_and_reaches_its_caller_once() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        let (id, mut answer) = enter(&mut table, &counter, false).expect("room");
        assert_eq!(count(&counter), 1);
        table.complete(id, Answer::Unavailable);
        table.complete(id, Answer::Interrupted);
        let answered = answer.try_recv().expect("answered");
        assert_eq!(answered.answer, Answer::Unavailable);
        assert_eq!(count(&counter), 0);
    }

    #[test]
    fn an_answer_is_counted_from_its_arrival_and_dropped_if_the_share_is_used_up() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        let budget = Arc::new(ByteBudget::of_answers(400_000));
        let large = || Answer::Result(vec![b'1'; 60_000].into());
        let (first, mut first_answer) = enter(&mut table, &counter, false).expect("room");
        let (second, mut second_answer) = enter(&mut table, &counter, false).expect("room");
        let (third, third_answer) = enter(&mut table, &counter, true).expect("room");
        let (small, mut small_answer) = enter(&mut table, &counter, false).expect("room");
        table.receive(first, large(), &budget);
        assert_eq!(budget.total(), 60_000);
        table.receive(second, large(), &budget);
        let limit_bytes = 100_000;
        let refused = second_answer.try_recv().expect("answered").answer;
        assert_eq!(refused, Answer::Unread { limit_bytes });
        // A caller that stopped waiting pays nothing, and small answers are not counted.
        drop(first_answer.try_recv());
        assert_eq!(budget.total(), 0);
        table.abandon(third);
        table.receive(third, large(), &budget);
        drop(third_answer);
        table.receive(small, Answer::Result(vec![b'1'; 16_384].into()), &budget);
        assert_eq!(budget.total(), 0);
        small_answer.try_recv().expect("answered");
    }

    #[test]
    fn one_user_cannot_use_all_calls_of_a_link() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        let mut fill = |user| {
            let mut ids = Vec::new();
            let user = (Some(UserId::NIL), user);
            while let Some((id, _)) = table.insert(user, InFlight::new(&counter), false, None) {
                ids.push(id);
            }
            ids
        };
        let (first, second) = (fill(1), fill(2));
        assert_eq!((first.len(), second.len()), (100_000, 50_000));
        for id in first.into_iter().chain(second) {
            table.complete(id, Answer::Unavailable);
        }
        assert!(table.is_empty());
        assert!(table.by_user.is_empty());
    }

    #[test]
    fn an_answer_is_exactly_one_json_value() {
        let read = |kind, text: &'static str| Answer::from_frame(kind, Bytes::from(text));
        for good in ["null", "1", " {\"a\":1} ", "[]"] {
            assert!(read(FrameKind::Result, good).is_ok(), "{good}");
        }
        for bad in [
            "",
            " ",
            "1,2",
            "1,\"id\":1},{\"result\":2",
            "{",
            "\"\u{1}\"",
        ] {
            assert_eq!(
                read(FrameKind::Result, bad),
                Err(InvalidAnswer::NotJson),
                "{bad}"
            );
        }
        assert!(read(FrameKind::Error, "{\"code\":1}").is_ok());
        assert_eq!(
            read(FrameKind::Error, "\"text\""),
            Err(InvalidAnswer::NotJson)
        );
        assert_eq!(
            read(FrameKind::Call, ""),
            Err(InvalidAnswer::Kind(FrameKind::Call))
        );
    }

    #[test]
    fn a_reused_index_never_receives_an_old_answer() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        let (first, _) = enter(&mut table, &counter, false).expect("room");
        table.complete(first, Answer::Unavailable);
        let (second, mut answer) = enter(&mut table, &counter, false).expect("room");
        assert_ne!(first, second);
        table.complete(first, Answer::Interrupted);
        assert!(answer.try_recv().is_err());
        assert!(second < 1 << 53);
    }

    #[test]
    fn a_sent_serial_call_stays_in_flight_after_its_caller_stopped_waiting() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        let (id, _answer) = enter(&mut table, &counter, true).expect("room");
        assert!(table.abandon(id));
        assert_eq!(count(&counter), 1);
        table.complete(id, Answer::Cancelled { sent: true });
        assert_eq!(count(&counter), 1);
        table.complete(id, Answer::Result(Bytes::new()));
        assert_eq!(count(&counter), 0);
    }

    #[test]
    fn a_concurrent_or_unsent_call_ends_at_once() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        let (concurrent, _answer) = enter(&mut table, &counter, false).expect("room");
        assert!(table.abandon(concurrent));
        assert_eq!(count(&counter), 0);
        let (serial, _answer) = enter(&mut table, &counter, true).expect("room");
        table.complete(serial, Answer::Cancelled { sent: false });
        assert_eq!(count(&counter), 0);
        assert!(table.is_empty());
    }

    #[test]
    fn reports_reach_only_callers_that_asked_and_the_newest_are_kept() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        let budget = Arc::new(ByteBudget::of_answers(1_000_000));
        let (reports, mut listener) = Reports::new();
        let in_flight = InFlight::new(&counter);
        let (asked, _answer) = table
            .insert((Some(UserId::NIL), 7), in_flight, true, Some(reports))
            .expect("room");
        let (other, _answer) = enter(&mut table, &counter, false).expect("room");
        for number in 0..100 {
            table.report(asked, Bytes::from(number.to_string()), &budget);
            table.report(other, Bytes::from_static(b"no listener"), &budget);
            table.report(7, Bytes::from_static(b"no such call"), &budget);
        }
        let heard: Vec<_> = std::iter::from_fn(|| listener.find_next()).collect();
        assert_eq!(heard.len(), 16);
        assert_eq!(heard.last().map(Bytes::as_ref), Some(&b"99"[..]));
        table.abandon(asked);
        table.report(asked, Bytes::from_static(b"late"), &budget);
        assert_eq!(listener.find_next(), None);
        drop(heard);
        assert_eq!(budget.total(), 0, "reports are counted while they wait");
    }

    #[test]
    fn a_full_table_refuses_new_calls() {
        let (mut table, counter) = (CallTable::default(), Arc::default());
        // Each user takes half of the free calls, until none is left.
        let mut of_users = Vec::new();
        while of_users.iter().sum::<usize>() < CALLS_MAX {
            let user = u32::try_from(of_users.len()).expect("few users");
            let insert = |_: &usize| {
                table
                    .insert(
                        (Some(UserId::NIL), user),
                        InFlight::new(&counter),
                        false,
                        None,
                    )
                    .is_some()
            };
            of_users.push((0..CALLS_MAX).take_while(insert).count());
        }
        assert_eq!(of_users[0], CALLS_MAX / 2);
        assert!(enter(&mut table, &counter, false).is_none());
        table.clear();
        assert_eq!(count(&counter), 0);
    }
}
