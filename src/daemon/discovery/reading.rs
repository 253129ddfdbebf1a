//! Reading one list, wherever it is, as far as the monitors it comes to. Each reading is a task of its own: a list that takes
//! its time keeps no other waiting.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::Utc;
use ipnet::IpNet;
use url::Url;

use crate::config::read::bytes::read_bytes;
use crate::config::read::glob;
use crate::daemon::discovery::registry::{self, Servers};
use crate::daemon::discovery::sd_list;
use crate::deliver::plain;
use crate::domain::discovery::listing::Named;
use crate::domain::discovery::relabel::Labels;
use crate::domain::discovery::target::{Refused, Target, target};
use crate::domain::discovery::{From, Source};
use crate::net::document::Documents;
use crate::net::target::may_be_reached;

/// One reading, all in all: a registry's is the longest, and a file on a machine that is away would be read for ever.
const WITHIN: Duration = Duration::from_secs(11 * 60);
/// Files of one source.
const FILES_MAX: usize = 1_000;
/// Characters of why a list cannot be read.
const WHY_CHARS_MAX: usize = 400;

/// What reads lists.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub documents: Documents,
    /// The folder of monitors.yaml, where globs start.
    pub folder: PathBuf,
}

/// One list, read.
#[derive(Debug)]
pub(super) struct Reading {
    /// The monitors it comes to, and a line for each server that cannot be one; or why it cannot be read, in one line.
    pub listed: Result<(Named, Vec<Refused>), String>,
    /// What is known of a registry now.
    pub servers: Servers,
}

impl Reader {
    /// Reads one. `servers` is what is known of it where it is a registry.
    pub(super) async fn read(self, source: Source, servers: Servers) -> Reading {
        let read = tokio::time::timeout(WITHIN, self.read_through(source, servers)).await.unwrap_or_else(|_| {
            let why = format!("it takes longer than {} minutes", WITHIN.as_secs() / 60);
            Reading { listed: Err(why), servers: Servers::default() }
        });
        // Whoever says what is wrong with a list may quote it.
        let listed = read.listed.map_err(|why| plain::line(&why, WHY_CHARS_MAX));
        Reading { listed, ..read }
    }

    async fn read_through(self, source: Source, mut servers: Servers) -> Reading {
        let labels = match &source.from {
            From::HttpSd { url, bearer } => {
                let bearer = bearer.as_ref().map(|bearer| bearer.expose());
                match self.documents.fetch(url.resolved.expose(), bearer, sd_list::LIST_BYTES_MAX).await {
                    Ok(bytes) => blocking(move || sd_list::parsed(&bytes)).await,
                    Err(why) => Err(why),
                }
            }
            From::FileSd(globs) => {
                let (folder, globs) = (self.folder, globs.clone());
                blocking(move || of_files(&folder, &globs)).await
            }
            From::Registry { url, bearer, search } => {
                let bearer = bearer.as_ref().map(|bearer| bearer.expose());
                let asked = (url.resolved.expose(), bearer, search.as_deref());
                registry::read(&self.documents, asked, &mut servers, Utc::now()).await
            }
        };
        let listed = match labels {
            Ok(labels) => blocking(move || Ok(targets(&source, labels))).await,
            Err(why) => Err(why),
        };
        Reading { listed, servers }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(format!("reading it broke down: {error}")))
}

/// A server that may be connected to as far as its address is written out.
fn reachable(target: Target, allow: &[IpNet]) -> Result<Target, Refused> {
    let refused = |why: String| Refused { id: Some(target.id.clone()), why };
    let url = Url::parse(&target.url).map_err(|error| refused(error.to_string()))?;
    may_be_reached(&url, allow).map_err(refused)?;
    Ok(target)
}

/// The monitors that a list comes to, each id once, and what of it cannot be one.
fn targets(source: &Source, listed: Vec<Labels>) -> (Named, Vec<Refused>) {
    let (mut found, mut unclear, mut refused) = (Vec::<Target>::new(), BTreeSet::new(), Vec::new());
    let mut places: HashMap<String, usize> = HashMap::new();
    let allow: Vec<IpNet> = source.allow_private.iter().filter_map(|network| network.0.parse().ok()).collect();
    for (nth, labels) in listed.into_iter().enumerate() {
        let read = target(source, labels);
        match read.and_then(|target| target.map(|target| reachable(target, &allow)).transpose()) {
            Ok(None) => {}
            Ok(Some(target)) => match places.get(&target.id).map(|place| &found[*place]) {
                None => {
                    places.insert(target.id.clone(), found.len());
                    found.push(target);
                }
                // Lists name one server in several groups: it is one.
                Some(first) if first.url == target.url => {}
                Some(first) => {
                    let (number, url, first) = (nth + 1, &target.url, &first.url);
                    let why = format!(
                        "target {number}: {url} has the id of {first} before it; `relabel` gives it an `__id__` of its own"
                    );
                    refused.push(Refused { id: None, why });
                }
            },
            Err(Refused { id, why }) => {
                unclear.extend(id.clone());
                refused.push(Refused { id, why: format!("target {}: {why}", nth + 1) });
            }
        }
    }
    unclear.retain(|id| !places.contains_key(id));
    (Named { targets: found, unclear }, refused)
}

/// What all files of a source list together. One that cannot be read makes the whole list unread: its servers are not gone.
fn of_files(folder: &Path, globs: &[String]) -> Result<Vec<Labels>, String> {
    let mut all = Vec::new();
    let mut paths = BTreeSet::new();
    for pattern in globs {
        paths.extend(glob::files(folder, pattern)?);
    }
    if paths.is_empty() {
        return Err(format!("no file is there that {} stands for", globs.join(" or ")));
    }
    if paths.len() > FILES_MAX {
        return Err(format!("its globs stand for more than {FILES_MAX} files"));
    }
    let mut left = sd_list::LIST_BYTES_MAX as u64;
    for path in paths {
        let bytes = read_bytes(&path, left).map_err(|error| error.to_string())?;
        left -= bytes.len() as u64;
        let is_yaml = path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml");
        let mend = if is_yaml { "; it has to be JSON, which Prometheus reads as well" } else { "" };
        let listed = sd_list::parsed(&bytes).map_err(|why| format!("{}: {why}{mend}", path.display()))?;
        all.extend(listed);
    }
    Ok(all)
}
