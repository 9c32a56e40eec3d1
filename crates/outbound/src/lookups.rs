//! Looks up host names, on separate threads.
//!
//! A look-up blocks its thread until the name server answers, and a user may choose a name whose
//! server never answers. So owners take turns, each owner has few look-ups at a time, and no other
//! work uses these threads. Concurrent look-ups of one owner for the same name and port are shared.

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
use svc_pool::{FairPool, PoolOptions};

/// The number of concurrent look-ups, each on its own thread.
const LOOKUPS: usize = 32;
/// One owner may use one eighth of the threads, but at least one thread.
const OWNER_SHARE: usize = 8;
/// Number of entries at which the entries of finished look-ups are removed.
const KEPT_MAX: usize = 256;

/// Resolves a host name to addresses; blocks.
pub type ResolveFn = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

pub struct Lookups {
    threads: FairPool,
    resolve_fn: Arc<ResolveFn>,
    in_progress: Mutex<HashMap<LookupKey, WeakShared<Lookup>>>,
}

type LookupKey = (UserId, String, u16);
type Lookup = BoxFuture<'static, Result<Arc<[SocketAddr]>, String>>;

impl Lookups {
    /// Uses the resolver of the system.
    pub fn of_system() -> Self {
        let system = |host: &str, port| (host, port).to_socket_addrs().map(Iterator::collect);
        Self::with(LOOKUPS, Arc::new(system))
    }

    pub fn with(at_once: usize, resolve_fn: Arc<ResolveFn>) -> Self {
        let threads = FairPool::new(PoolOptions {
            name: "look-ups",
            threads: at_once.max(1),
            running_per_user: (at_once / OWNER_SHARE).max(1),
            // No limit here: the delivery engine limits the attempts of one owner.
            jobs_per_user: usize::MAX,
            waiting_max: usize::MAX,
            evicts: false,
        });
        Self {
            threads,
            resolve_fn,
            in_progress: Mutex::default(),
        }
    }

    /// The addresses of a host, looked up for an owner.
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
        let found = self.find_or_start((owner, host.to_owned(), port)).await?;
        Ok(found.to_vec())
    }

    /// The look-up in progress for this key, or a new one. A look-up that has not begun is
    /// cancelled when no caller waits for it.
    fn find_or_start(&self, key: LookupKey) -> Shared<Lookup> {
        let mut in_progress = self.in_progress.lock();
        if let Some(lookup) = in_progress.get(&key).and_then(WeakShared::upgrade) {
            return lookup;
        }
        if in_progress.len() >= KEPT_MAX {
            in_progress.retain(|_, lookup| lookup.upgrade().is_some());
        }
        let lookup = self.look_up(key.clone()).boxed().shared();
        if let Some(weak) = lookup.downgrade() {
            in_progress.insert(key, weak);
        }
        lookup
    }

    fn look_up(
        &self,
        (owner, host, port): LookupKey,
    ) -> impl Future<Output = Result<Arc<[SocketAddr]>, String>> + Send + 'static {
        let (threads, resolve_fn) = (self.threads.clone(), Arc::clone(&self.resolve_fn));
        async move {
            let running = threads.run_unbounded(owner, move |_| resolve_fn(&host, port));
            let answer = running.await.map_err(|error| error.to_string())?;
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

    /// A resolver that answers names with the prefix `slow` only after the sender is dropped, and
    /// counts look-ups.
    fn slow_resolver() -> (mpsc::Sender<()>, Arc<AtomicUsize>, Arc<ResolveFn>) {
        let (release, released) = mpsc::channel::<()>();
        let (released, lookup_count) = (Mutex::new(released), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&lookup_count);
        let resolve_fn = move |host: &str, port: u16| {
            count.fetch_add(1, Ordering::SeqCst);
            if host.starts_with("slow") {
                let _ = released.lock().recv();
            }
            Ok(vec![SocketAddr::from(([192, 0, 2, 1], port))])
        };
        (release, lookup_count, Arc::new(resolve_fn))
    }

    #[tokio::test]
    async fn look_ups_that_hang_delay_only_their_owner() {
        let (release, lookup_count, resolve_fn) = slow_resolver();
        let lookups = Arc::new(Lookups::with(8, resolve_fn));
        let mut hanging = Vec::new();
        for n in 0..100 {
            let lookups = Arc::clone(&lookups);
            hanging.push(tokio::spawn(async move {
                let host = format!("slow{n}.example.org");
                lookups.resolve(owner(1), &host, 80).await
            }));
        }
        while lookup_count.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let prompt = lookups.resolve(owner(2), "hooks.example.org", 443);
        let prompt = timeout(Duration::from_secs(30), prompt).await;
        assert!(prompt.expect("answered while the others hang").is_ok());
        assert!(hanging.iter().all(|one| !one.is_finished()));
        // One look-up of the first owner, who may use only one of the eight threads, and one
        // look-up of the second owner.
        assert_eq!(lookup_count.load(Ordering::SeqCst), 2);
        drop(release);
        for one in hanging {
            assert!(one.await.expect("no panic").is_ok());
        }
    }

    #[tokio::test]
    async fn concurrent_look_ups_are_shared_and_addresses_need_no_look_up() {
        let (release, lookup_count, resolve_fn) = slow_resolver();
        let lookups = Lookups::with(8, resolve_fn);
        let look_up = || lookups.resolve(owner(1), "slow.example.org", 80);
        let mut both = std::pin::pin!(async { tokio::join!(look_up(), look_up()) });
        assert!(futures_util::poll!(both.as_mut()).is_pending());
        drop(release);
        let (one, other) = both.await;
        assert_eq!((one.is_ok(), one), (true, other));
        assert_eq!(lookup_count.load(Ordering::SeqCst), 1);
        let address = lookups.resolve(owner(1), "192.0.2.7", 80).await;
        assert_eq!(address, Ok(vec![SocketAddr::from(([192, 0, 2, 7], 80))]));
        assert_eq!(lookup_count.load(Ordering::SeqCst), 1);
    }
}
