//! Looks up the names of webhooks, on threads of its own.
//!
//! A look-up blocks its thread until the name server answers, and a user may name one that never
//! does. Owners take turns, an owner has few look-ups at once, and no other work waits for these
//! threads. Lanes of one owner that ask for the same name at once share one look-up.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::Arc,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use parking_lot::Mutex;
use svc_core::UserId;

use crate::fair_pool::{FairPool, PoolOptions};

/// Look-ups at once, unless the configuration says otherwise.
pub const LOOKUPS_DEFAULT: usize = 32;
/// An owner has at most this part of them.
const OWNERS_AT_ONCE: usize = 8;
/// Entries of look-ups that are over are removed when there are this many.
const KEPT_MAX: usize = 256;

/// Turns a name into addresses; blocks.
pub type Answers = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

pub struct Lookups {
    threads: FairPool,
    answers: Arc<Answers>,
    under_way: Mutex<HashMap<Question, WeakShared<Lookup>>>,
}

type Question = (UserId, String, u16);
type Lookup = BoxFuture<'static, Result<Arc<[SocketAddr]>, String>>;

impl Lookups {
    /// By the resolver of the system.
    pub fn new(at_once: usize) -> Self {
        let system = |host: &str, port| (host, port).to_socket_addrs().map(Iterator::collect);
        Self::with(at_once, Arc::new(system))
    }

    pub fn with(at_once: usize, answers: Arc<Answers>) -> Self {
        let threads = FairPool::new(PoolOptions {
            name: "look-ups",
            threads: at_once.max(1),
            running_per_user: (at_once / OWNERS_AT_ONCE).max(1),
            // The engine bounds how many attempts of one owner are under way.
            jobs_per_user: usize::MAX,
            waiting_max: usize::MAX,
            setting: "webhooks.lookups",
        });
        Self {
            threads,
            answers,
            under_way: Mutex::default(),
        }
    }

    /// The addresses of a host, on behalf of an owner.
    pub async fn resolve(
        &self,
        owner: UserId,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, String> {
        // An address needs no look-up.
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let found = self.join((owner, host.to_owned(), port)).await?;
        Ok(found.to_vec())
    }

    /// The look-up that is under way for this question, or a new one. It ends when nobody waits for
    /// it any more.
    fn join(&self, question: Question) -> Shared<Lookup> {
        let mut under_way = self.under_way.lock();
        if let Some(lookup) = under_way.get(&question).and_then(WeakShared::upgrade) {
            return lookup;
        }
        if under_way.len() >= KEPT_MAX {
            under_way.retain(|_, lookup| lookup.upgrade().is_some());
        }
        let lookup = self.ask(question.clone()).boxed().shared();
        if let Some(weak) = lookup.downgrade() {
            under_way.insert(question, weak);
        }
        lookup
    }

    fn ask(
        &self,
        (owner, host, port): Question,
    ) -> impl Future<Output = Result<Arc<[SocketAddr]>, String>> + Send + 'static {
        let (threads, answers) = (self.threads.clone(), Arc::clone(&self.answers));
        async move {
            let asking = threads.run_unbounded(owner, move |_| answers(&host, port));
            let answer = asking.await.map_err(|error| error.to_string())?;
            answer.map(Arc::from).map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        time::Duration,
    };

    use tokio::time::timeout;
    use uuid::Uuid;

    use super::*;

    fn owner(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    /// Names that begin with `slow` are answered when the sender is dropped; counts questions.
    fn slow_resolver() -> (mpsc::Sender<()>, Arc<AtomicUsize>, Arc<Answers>) {
        let (release, released) = mpsc::channel::<()>();
        let (released, asked) = (Mutex::new(released), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&asked);
        let answers = move |host: &str, port: u16| {
            count.fetch_add(1, Ordering::SeqCst);
            if host.starts_with("slow") {
                let _ = released.lock().recv();
            }
            Ok(vec![SocketAddr::from(([192, 0, 2, 1], port))])
        };
        (release, asked, Arc::new(answers))
    }

    #[tokio::test]
    async fn names_that_hang_hold_up_only_their_owner() {
        let (release, asked, answers) = slow_resolver();
        let lookups = Arc::new(Lookups::with(8, answers));
        let mut hanging = Vec::new();
        for n in 0..100 {
            let lookups = Arc::clone(&lookups);
            hanging.push(tokio::spawn(async move {
                let host = format!("slow{n}.example.org");
                lookups.resolve(owner(1), &host, 80).await
            }));
        }
        while asked.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let prompt = lookups.resolve(owner(2), "hooks.example.org", 443);
        let prompt = timeout(Duration::from_secs(30), prompt).await;
        assert!(prompt.expect("answered while the others hang").is_ok());
        assert!(hanging.iter().all(|one| !one.is_finished()));
        // One of eight threads, and the answer for the other owner.
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        drop(release);
        for one in hanging {
            assert!(one.await.expect("no panic").is_ok());
        }
    }

    #[tokio::test]
    async fn one_question_is_asked_once_at_a_time_and_an_address_never() {
        let (release, asked, answers) = slow_resolver();
        let lookups = Lookups::with(8, answers);
        let ask = || lookups.resolve(owner(1), "slow.example.org", 80);
        let mut both = std::pin::pin!(async { tokio::join!(ask(), ask()) });
        assert!(futures_util::poll!(both.as_mut()).is_pending());
        drop(release);
        let (one, other) = both.await;
        assert_eq!((one.is_ok(), one), (true, other));
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        let address = lookups.resolve(owner(1), "192.0.2.7", 80).await;
        assert_eq!(address, Ok(vec![SocketAddr::from(([192, 0, 2, 7], 80))]));
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}
