//! How many files may be open, which bounds how many probes and pages there are at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::daemon::permits::{self, Shares};
use crate::live::state::LiveState;

/// Open files where the system tells no limit.
const FILES_ASSUMED: u64 = 1024;
/// Open files beyond which more are of no use to us, so that a hard limit of a billion is not asked for.
const FILES_WANTED: u64 = 65_536;

/// What the limit on open files leaves room for; said in the log and on the pages.
pub(super) fn shares(live: &LiveState) -> Shares {
    let files = raised_file_limit().unwrap_or(FILES_ASSUMED);
    let shares = permits::sized(files);
    let Shares { probes, pages, streams } = shares;
    live.metrics().set_limits(files, probes as u64);
    tracing::info!(
        permits = probes,
        pages,
        streams,
        files,
        "probes and connections to the pages that there may be at once, by the limit on open files"
    );
    shares
}

/// Raises the soft limit on open files to the hard one; the limit then in force, none where the system has none.
pub fn raised_file_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let (soft, hard) = (limit.current?, limit.maximum.unwrap_or(FILES_WANTED).min(FILES_WANTED));
    if soft >= hard {
        return Some(soft);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(hard), maximum: limit.maximum }) {
        Ok(()) => Some(hard),
        Err(error) => {
            tracing::warn!(%error, files = soft, "the limit on open files stays as it is");
            Some(soft)
        }
    }
}
