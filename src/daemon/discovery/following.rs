//! Whose it is to read lists, where several machines share the fleet, and how the others have them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::read::bytes::read_bytes;
use crate::config::read::discovered::LISTS_BYTES_MAX;
use crate::daemon::discovery::{Discovery, NAME};
use crate::daemon::kept_lists::put;
use crate::domain::lease::{Job, Lease, Leases};

/// Lists that another machine reads are looked for this often.
const FOLLOWED_EVERY: Duration = Duration::from_secs(2);

/// Waits until reading lists is another machine's to do, or under another lease.
async fn until_lost(leases: &mut watch::Receiver<Arc<Leases>>, lease: Option<Lease>) {
    let is_lost = |held: &Arc<Leases>| held.of(Job::Discovery.shard()) != lease;
    if leases.wait_for(is_lost).await.is_err() {
        std::future::pending().await
    }
}

impl Discovery {
    /// Reads lists while that is this machine's to do, and has them on disk as another one read them while it is not.
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        let mut leases = self.context.leases.clone();
        let mut followed = BTreeMap::new();
        while !shutdown.is_cancelled() {
            let held = leases.borrow_and_update().clone();
            self.context.live.metrics().turn(NAME, Utc::now());
            // Whoever begins to read them begins with what the one before kept.
            let is_followed = *held == Leases::whole() || self.follow(&mut followed).await;
            if held.have_job(Job::Discovery) && is_followed {
                let reads = Self { context: self.context.under(&held), ..self.clone() };
                tokio::select! {
                    () = reads.read_on(&shutdown) => {}
                    () = until_lost(&mut leases, held.of(Job::Discovery.shard())) => self.hand_over(),
                }
                followed.clear();
                continue;
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                Ok(()) = leases.changed() => {}
                () = tokio::time::sleep(FOLLOWED_EVERY) => {}
            }
        }
    }

    /// Has the lists of declared sources on disk as another machine kept them last; false where that could not be done. What
    /// was done is remembered by where it stands: another file may name other sources, or another folder.
    async fn follow(&self, followed: &mut BTreeMap<PathBuf, i64>) -> bool {
        let Ok(kept_at) = self.context.store.lists_kept_at().await else { return false };
        let fleet = self.context.fleet.borrow().clone();
        let sources = fleet.discovery.sources.iter();
        let wanted = sources.filter_map(|source| Some((self.path(&fleet, source), *kept_at.get(&source.id)?)));
        let wanted: BTreeMap<PathBuf, i64> = wanted.collect();
        if wanted == *followed {
            return true;
        }
        let Ok(lists) = self.context.store.kept_lists().await else { return false };
        let mut is_any_new = false;
        for (source, text) in lists {
            let Some(declared) = fleet.discovery.sources.iter().find(|one| one.id == source) else { continue };
            let (path, text) = (self.path(&fleet, declared), Arc::<str>::from(text));
            let copy = Arc::clone(&text);
            self.listings.keeps(&source, &text);
            let put = tokio::task::spawn_blocking(move || {
                let is_there = read_bytes(&path, LISTS_BYTES_MAX).is_ok_and(|bytes| bytes == copy.as_bytes());
                if is_there { Ok(false) } else { put(&path, &copy).map(|()| true) }
            });
            match put.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
                Ok(is_new) => is_any_new |= is_new,
                Err(error) => {
                    tracing::warn!(source, %error, "the list that another machine read cannot be kept here");
                    return false;
                }
            }
        }
        if is_any_new {
            self.look.notify_one();
        }
        *followed = wanted;
        true
    }
}
