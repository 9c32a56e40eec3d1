//! The cache of views. A view holds the MCP tools of one user. Its stamp identifies the data from
//! which the view was built; when the data changes, the stamp differs and the view is rebuilt.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};
use svc_core::UserId;
use svc_pool::{FairPool, PoolError};
use tracing::warn;

use super::{HiddenTool, Stamp, View};
use crate::{
    identity::{Directory, User},
    mcp::tools::{self, ListedTool},
    methods::registry::Registry,
    scripts::StoredTools,
};

/// Maximum number of views in the cache. Above it, the least recently used views are removed.
const VIEWS_MAX: usize = 10_000;
/// Maximum bytes of all views in the cache.
const BYTES_MAX: usize = 256 * 1024 * 1024;
/// A larger view never displaces smaller ones: a user with thousands of tools would otherwise remove
/// the views of all others.
const SHARE_BYTES_MAX: usize = BYTES_MAX / 8;
/// Maximum number of remembered warnings about hidden tools. A remembered warning is not logged
/// again. At the limit, all are forgotten.
const REPORTS_MAX: usize = 10_000;

pub struct Views {
    registry: Arc<Registry>,
    directory: Arc<Directory>,
    scripts: Arc<StoredTools>,
    cache: RwLock<ViewCache>,
    /// Counts uses, to find the least recently used view.
    clock: AtomicU64,
    reported: Mutex<HashSet<(UserId, String)>>,
    /// Builds large views.
    compute: FairPool,
}

/// The parameter is for tests: the cache does not look into views.
struct ViewCache<V = View> {
    views: HashMap<UserId, Entry<V>>,
    bytes: usize,
}

impl<V> Default for ViewCache<V> {
    fn default() -> Self {
        Self {
            views: HashMap::new(),
            bytes: 0,
        }
    }
}

struct Entry<V = View> {
    view: Arc<V>,
    bytes: usize,
    used: AtomicU64,
}

impl Views {
    pub fn new(
        registry: Arc<Registry>,
        directory: Arc<Directory>,
        scripts: Arc<StoredTools>,
        compute: FairPool,
    ) -> Self {
        Self {
            registry,
            directory,
            scripts,
            compute,
            cache: RwLock::default(),
            clock: AtomicU64::new(0),
            reported: Mutex::default(),
        }
    }

    /// The current view of a user.
    pub async fn get(self: &Arc<Self>, user: &Arc<User>) -> Result<Arc<View>, PoolError> {
        // Taken before the view is built. If the data changes while the view is built, the view has
        // an old stamp, and the next request builds it again.
        let stamp = self.stamp(user);
        if let Some(view) = self.find(&stamp) {
            return Ok(view);
        }
        if self.registry.is_small_for(user.viewer()) {
            return Ok(self.build_and_store(stamp));
        }
        let views = Arc::clone(self);
        let build = move |_: &_| match views.find(&stamp) {
            // Another request of the user built the view meanwhile.
            Some(view) => view,
            None => views.build_and_store(stamp),
        };
        Box::pin(self.compute.run(user.id, build)).await
    }

    fn build_and_store(&self, stamp: Stamp) -> Arc<View> {
        let user = stamp.user.id;
        let view = Arc::new(self.build(stamp));
        let entry = Entry {
            view: Arc::clone(&view),
            bytes: view.bytes(),
            used: AtomicU64::new(self.tick()),
        };
        self.cache.write().insert(user, entry);
        view
    }

    fn stamp(&self, user: &Arc<User>) -> Stamp {
        Stamp {
            user: Arc::clone(user),
            tools: self.registry.tools_version(user.viewer()),
            scripts: self.scripts.version(user.id),
        }
    }

    fn find(&self, stamp: &Stamp) -> Option<Arc<View>> {
        let cache = self.cache.read();
        let entry = cache.views.get(&stamp.user.id)?;
        if entry.view.stamp != *stamp {
            return None;
        }
        entry.used.store(self.tick(), Ordering::Relaxed);
        Some(Arc::clone(&entry.view))
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn build(&self, stamp: Stamp) -> View {
        let user = Arc::clone(&stamp.user);
        let visible = self.registry.list_visible(user.viewer());
        let mut owners: HashMap<UserId, Option<Arc<User>>> = HashMap::new();
        let mut listed: Vec<ListedTool> = Vec::with_capacity(visible.len());
        for (owner, entry) in &visible {
            let owner = owners
                .entry(*owner)
                .or_insert_with(|| self.directory.find_user(*owner));
            let place = entry.providers.first().map_or(u64::MAX, |p| p.place);
            listed.extend(
                owner
                    .as_ref()
                    .and_then(|owner| tools::of_method(user.id, owner, &entry.definition, place)),
            );
        }
        let scripts = self.scripts.list(user.id);
        listed.extend(scripts.iter().map(tools::of_script));
        let (view, hidden) = View::new(stamp, listed);
        self.report(&user, &hidden);
        view
    }

    fn report(&self, user: &User, hidden: &[HiddenTool]) {
        let mut reported = self.reported.lock();
        for HiddenTool {
            tool,
            hidden,
            listed,
        } in hidden
        {
            if reported.len() >= REPORTS_MAX {
                reported.clear();
            }
            if reported.insert((user.id, hidden.name.clone())) {
                warn!(
                    owner.id = %user.id,
                    user.name = %user.name,
                    method.name = hidden.name,
                    "the {} `{}` is not listed as an MCP tool of the user: the tool name `{tool}` is used by the {} `{}`",
                    hidden.kind,
                    hidden.name,
                    listed.kind,
                    listed.name
                );
            }
        }
    }
}

impl<V> ViewCache<V> {
    fn insert(&mut self, user: UserId, entry: Entry<V>) {
        self.bytes += entry.bytes;
        if let Some(before) = self.views.insert(user, entry) {
            self.bytes -= before.bytes;
        }
        if self.views.len() > VIEWS_MAX || self.bytes > BYTES_MAX {
            self.shrink(user);
        }
    }

    /// Removes views until the cache is at most seven eighths full, so that the next new views need
    /// no removal: first those that are larger than a share, then the least recently used. Of both
    /// kinds, the newest view is the last.
    fn shrink(&mut self, newest: UserId) {
        let order = |(user, entry): (&UserId, &Entry<V>)| {
            let is_small = entry.bytes <= SHARE_BYTES_MAX;
            let used = entry.used.load(Ordering::Relaxed);
            (is_small, *user == newest, used, *user)
        };
        let mut by_use: Vec<_> = self.views.iter().map(order).collect();
        by_use.sort_unstable();
        for (_, _, _, user) in by_use {
            if self.views.len() <= VIEWS_MAX / 8 * 7 && self.bytes <= BYTES_MAX / 8 * 7 {
                return;
            }
            if let Some(removed) = self.views.remove(&user) {
                self.bytes -= removed.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn user(number: usize) -> UserId {
        UserId(Uuid::from_u128(number as u128))
    }

    /// A cache into which users put views of these sizes, one after the other.
    fn cache(sizes: impl IntoIterator<Item = usize>) -> ViewCache<()> {
        let mut cache = ViewCache::default();
        for (number, bytes) in sizes.into_iter().enumerate() {
            let entry = Entry {
                view: Arc::new(()),
                bytes,
                used: AtomicU64::new(number as u64),
            };
            cache.insert(user(number), entry);
            assert!(cache.bytes <= BYTES_MAX && cache.views.len() <= VIEWS_MAX);
        }
        let bytes: usize = cache.views.values().map(|entry| entry.bytes).sum();
        assert_eq!(cache.bytes, bytes);
        cache
    }

    #[test]
    fn the_least_recently_used_views_are_removed_first() {
        let cache = cache([SHARE_BYTES_MAX; 9]);
        let removed = |number| !cache.views.contains_key(&user(number));
        assert!(removed(0) && removed(1) && !removed(2) && !removed(8));
    }

    #[test]
    fn the_number_of_views_is_limited() {
        let cache = cache(vec![1; VIEWS_MAX + 1]);
        assert_eq!(cache.views.len(), VIEWS_MAX / 8 * 7);
        assert!(cache.views.contains_key(&user(VIEWS_MAX)));
    }

    #[test]
    fn a_large_view_displaces_large_views_only() {
        let (small, large) = (SHARE_BYTES_MAX / 4, BYTES_MAX / 2);
        let others = vec![small; 20];
        let cache = cache([others, vec![large, large, BYTES_MAX]].concat());
        for number in 0..20 {
            assert!(cache.views.contains_key(&user(number)), "{number}");
        }
        // Neither large view fits beside the small ones.
        assert_eq!(cache.views.len(), 20);
    }

    #[test]
    fn a_large_view_is_kept_while_there_is_room() {
        let cache = cache([SHARE_BYTES_MAX / 4, BYTES_MAX / 2]);
        assert_eq!(cache.views.len(), 2);
    }
}
