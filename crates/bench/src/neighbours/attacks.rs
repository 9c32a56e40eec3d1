//! The attacks: what an ordinary user, or a client without a credential, can do to a server.
//!
//! Each attack runs at a fixed rate until its process ends. Only attacks with registrations wait for
//! the answer to one request before they send the next request. So a slow server gets as many requests
//! of the other attacks as a fast server, up to a limit of requests in flight.

mod connections;
mod links;
mod requests;
mod storage;

use std::time::Duration;

use tokio::sync::oneshot;

use super::attacker::Brief;

/// An attack that is not stopped ends after this time.
const TIME_MAX: Duration = Duration::from_secs(300);

macro_rules! attacks {
    ($($variant:ident $name:literal $description:literal),* $(,)?) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Attack { $($variant),* }

        impl Attack {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description),* }
            }
        }
    };
}

attacks! {
    StuckMethods "stuck-methods" "300 subscribed methods that never answer, an event each second",
    StuckWebhooks "stuck-webhooks" "90 webhooks to a receiver that never answers, 5 events/s that each go to all 90",
    Batches "batches" "2 batches/s of 1,000 calls to the victim's shared method",
    DeepParams "deep-params" "100 calls/s of the victim's shared method with 1,000 levels of params",
    LargeBodies "large-bodies" "4 calls/s with 4 MiB of params to a method of the attacker's own",
    SilentConnections "silent-connections" "1,000 connections that send nothing, 200 new ones/s",
    HalfRequests "half-requests" "500 connections with an unfinished head or HTTP/2 preface, 100 new ones/s",
    UnfinishedLogins "unfinished-logins" "HTTP/2 connections with 400 unfinished logins each, 2 new ones/s",
    Search "search" "10 searches/s with 12,000 words",
    Templates "templates" "20 previews and checks/s of a heavy body template",
    History "history" "20 reads/s of the largest page of the event history",
    Streams "streams" "20 new event streams/s with 100 patterns each",
    WrongPasswords "wrong-passwords" "20 logins/s from another address with a wrong password for the victim's name",
    MadeUpTokens "made-up-tokens" "500 requests/s with a made-up token",
    Registrations "registrations" "2 registrations/s of 1,000 methods with schemas",
    HealthFlaps "health-flaps" "500 reports/s of a changed health",
    Emits "emits" "200 events/s of 64 KiB",
    BadSignatures "bad-signatures" "500 requests/s of 64 KiB with a bad signature to a source of the attacker's own",
    DeepExpressions "deep-expressions" "5 previews/s of expressions with up to 16,000 nested operators, which must be refused",
    UndeliveredReplays "undelivered-replays" "20 replays/s of undelivered events in a history of 50,000 events",
    Comparisons "comparisons" "4 previews/s by two users that compare objects of 9,000 members 3,000 times",
    JournalFlood "journal-flood" "5 batches/s of 1,000 calls without params to the victim's shared method",
    UnreadAnswers "unread-answers" "10 connections/s that call a method with a result of 8 MiB and read nothing",
    AuditFill "audit-fill" "200 changes/s of the 100 patterns of a sink",
    ReceiverAnswers "receiver-answers" "4 events/s to 50 webhooks whose receiver answers with 16 KiB",
    SharedRegistrations "shared-registrations" "registrations of 100 changed shared methods, each one after the answer to the one before",
}

impl Attack {
    /// The number of spaces that the attack needs.
    pub fn spaces(self) -> usize {
        match self {
            Self::StuckMethods
            | Self::LargeBodies
            | Self::Registrations
            | Self::HealthFlaps
            | Self::UnreadAnswers
            | Self::SharedRegistrations => 1,
            _ => 0,
        }
    }
}

/// Creates the records that the attack needs. Returns the path that the attack uses, if it depends
/// on them.
pub async fn prepare(attack: Attack, brief: &Brief) -> anyhow::Result<Option<String>> {
    match attack {
        Attack::StuckWebhooks => requests::make_stuck_webhooks(brief).await?,
        Attack::History => requests::fill_history(brief).await?,
        Attack::BadSignatures => return requests::make_source(brief).await.map(Some),
        Attack::UndeliveredReplays => return storage::fill_undelivered(brief).await.map(Some),
        Attack::AuditFill => return storage::make_changing_sink(brief).await.map(Some),
        _ => {}
    }
    Ok(None)
}

/// Runs the attack. Sends on `ready` when the attack has begun.
pub async fn run(attack: Attack, brief: Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let attacking = async {
        match attack {
            Attack::StuckMethods => links::stuck_methods(&brief, ready).await,
            Attack::LargeBodies => links::large_bodies(&brief, ready).await,
            Attack::Registrations => links::registrations(&brief, ready).await,
            Attack::HealthFlaps => links::health_flaps(&brief, ready).await,
            Attack::UnreadAnswers => links::unread_answers(&brief, ready).await,
            Attack::SharedRegistrations => links::shared_registrations(&brief, ready).await,
            Attack::ReceiverAnswers => storage::receiver_answers(&brief, ready).await,
            Attack::SilentConnections => connections::silent(&brief, ready).await,
            Attack::HalfRequests => connections::half_requests(&brief, ready).await,
            Attack::UnfinishedLogins => connections::unfinished_logins(&brief, ready).await,
            Attack::Streams => connections::streams(&brief, ready).await,
            _ => requests::run(attack, &brief, ready).await,
        }
    };
    tokio::time::timeout(TIME_MAX, attacking)
        .await
        .unwrap_or(Ok(()))
}
