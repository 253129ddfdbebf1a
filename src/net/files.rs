//! Open files: whether there is one left to connect with, here or on the whole machine.

use std::io;
use std::os::unix::net::UnixDatagram;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Files this process may have open; none where the system has no limit.
pub(crate) fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Whether a failure means that no file is left.
pub(crate) fn is_out(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

/// Whether so many files could be opened now. It tries: some failures (a resolver's, SQLite's) do not say that they are
/// about files.
pub(crate) fn are_left(files: usize) -> bool {
    let opened: io::Result<Vec<_>> = (0..files).map(|_| UnixDatagram::unbound()).collect();
    !opened.is_err_and(|error| is_out(&error))
}
