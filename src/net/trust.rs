//! TLS configurations of their own: a private CA, a client certificate, or both. One a pair of files, read again when
//! a file changes, so that a renewed certificate needs no restart.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use serin_outbound::tls::{Identity, Tls, valid_until};

/// Pairs of files that are kept; a fleet has a handful of authorities, and a certificate a team.
const PAIRS_MAX: usize = 1_024;

/// The files that a connection is made with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Files {
    /// PEM certificates trusted besides the machine's own.
    pub ca: Option<PathBuf>,
    /// Our own certificate chain and its key, both PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug, Default)]
pub(crate) struct Trusts {
    known: Mutex<HashMap<Files, ReadFiles>>,
}

/// When each file had last changed, and what was made of them.
type ReadFiles = (Vec<Option<SystemTime>>, Arc<Tls>);

impl Trusts {
    /// The configuration of these files, over these roots; read anew where a file has changed.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub(crate) fn get(&self, files: &Files, roots: &RootCertStore, names: usize) -> Result<Arc<Tls>, TrustError> {
        let times: Vec<Option<SystemTime>> = files.paths().map(changed_at).collect();
        let mut known = self.known.lock();
        if let Some((_, tls)) = known.get(files).filter(|(read, _)| *read == times) {
            return Ok(Arc::clone(tls));
        }
        let tls = Arc::new(files.read(roots.clone(), names)?);
        if known.len() >= PAIRS_MAX {
            known.clear();
        }
        known.insert(files.clone(), (times, Arc::clone(&tls)));
        Ok(tls)
    }
}

impl Files {
    /// Reads and checks the files.
    ///
    /// # Errors
    /// Which one cannot be used, and why.
    pub(crate) fn read(&self, mut roots: RootCertStore, names: usize) -> Result<Tls, TrustError> {
        if let Some(path) = &self.ca {
            let refused = |why: String| TrustError { path: path.clone(), why };
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| refused(error.to_string()))?;
            }
        }
        let identity = self.identity.as_ref().map(|(chain, key)| {
            let private = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| TrustError { path: key.clone(), why: error.to_string() })?;
            Ok((Identity { chain: certificates(chain)?, key: private }, chain))
        });
        let identity = identity.transpose()?;
        let until = identity.as_ref().and_then(|(identity, _)| valid_until(identity.chain.first()?));
        let (identity, place) = identity.unzip();
        let path = place.cloned().unwrap_or_default();
        Tls::new(roots, names, identity, until).map_err(|error| TrustError { path, why: error.to_string() })
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let identity = self.identity.iter().flat_map(|(chain, key)| [chain, key]);
        self.ca.iter().chain(identity).map(PathBuf::as_path)
    }
}

/// A file that no connection can be made with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be used: {why}", .path.display())]
pub(crate) struct TrustError {
    pub path: PathBuf,
    pub why: String,
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let refused = |why: String| TrustError { path: path.to_owned(), why };
    let read = CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))?;
    let all: Result<Vec<_>, _> = read.collect();
    let all = all.map_err(|error| refused(error.to_string()))?;
    if all.is_empty() { Err(refused("it holds no certificate".to_owned())) } else { Ok(all) }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}
