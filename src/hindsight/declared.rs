//! By which declaration a beat of the past is weighed: the proposed one, or the one that was in force.
//!
//! A monitor that the proposed file leaves alone is weighed as it was then, through every edit: what comes of it is what
//! happened. One that is changed is weighed by what is proposed, from the first beat on.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::config::check::checker::Unset;
use crate::config::describe::changes;
use crate::config::read::source::ConfigSource;
use crate::config::{self, Loaded};
use crate::domain::answer::{Answer, Variant};
use crate::domain::fleet::{Fleet, Provenance};
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::{Canary, Monitor, MonitorId};
use crate::domain::outcome::AskVerdict;
use crate::domain::pinned::Pinned;
use crate::domain::quality::canary;
use crate::domain::route::Route;
use crate::store::read::files::FileInForce;

/// Keys of a canary whose change can be judged by what is kept of its answers.
const JUDGED_BY_RECORD: [&str; 8] =
    ["kind", "expect", "within", "max_score", "forbid", "contains", "not_contains", "also"];

/// What becomes of a canary's recorded answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskUse {
    /// They count as they were judged.
    AsRecorded,
    /// They are judged anew, by the sources, scores and texts that are kept.
    Rejudged,
    /// They answer another question.
    Left,
}

/// A declaration, and what it makes of the record.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) routes: Arc<[Route]>,
    /// Windows of maintenance that may keep something of it quiet.
    pub(crate) windows: Arc<[MaintenanceWindow]>,
    /// Canaries whose answers do not count as they were judged.
    uses: HashMap<String, AskUse>,
}

impl Declared {
    /// One under which every answer counts as it was judged.
    fn as_recorded(monitor: Arc<Monitor>, file: &FileThen) -> Self {
        let windows = windows_of(&monitor, &file.maintenance);
        Self { monitor, routes: Arc::clone(&file.routes), windows, uses: HashMap::new() }
    }

    /// What is pinned of the monitor, by its hash.
    pub(crate) fn lock(&self) -> Option<&String> {
        self.monitor.pinned.as_ref().map(|pinned| &pinned.hash)
    }

    pub(crate) fn use_of(&self, canary: &str) -> AskUse {
        self.uses.get(canary).copied().unwrap_or(AskUse::AsRecorded)
    }

    /// A canary by its id; none where it is not declared.
    pub(crate) fn canary(&self, id: &str) -> Option<&Canary> {
        self.monitor.canaries.iter().find(|declared| declared.id == id)
    }

    /// Whether some answers are judged anew by their texts.
    fn reads_texts(&self) -> bool {
        let is_judged = |canary: &Canary| self.use_of(&canary.id) == AskUse::Rejudged;
        self.monitor.canaries.iter().any(|canary| canary.text.is_some() && is_judged(canary))
    }

    /// Judges an answer to a question that was asked so by what is declared.
    pub(crate) fn judge(&self, declared: &Canary, variant: Variant, answer: &Answer) -> AskVerdict {
        // The same chunk twice shows by its text, which is not kept; it was told when it was judged, and stays so.
        let mut told_apart = answer.clone();
        for (place, hit) in told_apart.hits.iter_mut().enumerate() {
            hit.excerpt = place.to_string();
        }
        canary::judge_asked(&self.monitor, (declared, variant), &told_apart)
    }
}

/// What the record cannot say of a monitor under the proposed file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NotComparable {
    /// Canaries, and why.
    pub(crate) canaries: Vec<(String, String)>,
    /// Keys by which the server would be asked otherwise.
    pub(crate) keys: Vec<String>,
    /// The monitor that it is a replica of: what that one stood at when a beat was weighed is in no record.
    pub(crate) original: Option<MonitorId>,
}

/// How a monitor is weighed.
#[derive(Debug)]
pub(crate) struct Weighing {
    pub(crate) id: MonitorId,
    proposed: Arc<Declared>,
    /// By the file in force, with the lock that stood beside it, with what is pinned now and without any; none where the
    /// proposed one weighs everything.
    then: Option<HashMap<i64, [Arc<Declared>; 3]>>,
    /// When each of these files last came into force.
    loaded_at: HashMap<i64, DateTime<Utc>>,
}

/// The ways in which a monitor is weighed, and what of the proposed one the record cannot say.
#[derive(Debug)]
pub(crate) struct Ways {
    /// By what was in force.
    pub(crate) as_it_was: Weighing,
    /// By what is proposed; none where that says the same.
    pub(crate) proposed: Option<Weighing>,
    pub(crate) not_comparable: NotComparable,
    /// Whether a file that was in force declares it and can be read.
    pub(crate) knows_file: bool,
}

impl Weighing {
    /// The declaration for a beat that names this file and was judged by this lock; false where the file is not kept, and
    /// the proposed one stands in. Of an older Serin only the lock of now is known: by another one nothing is judged.
    pub(crate) fn at(&self, file: i64, lock: Option<&String>) -> (&Arc<Declared>, bool) {
        match &self.then {
            None => (&self.proposed, true),
            Some(then) => match then.get(&file) {
                Some(known) => (known.iter().find(|then| then.lock() == lock).unwrap_or(&known[2]), true),
                None => (&self.proposed, false),
            },
        }
    }

    /// How far its beats are apart.
    pub(crate) fn every(&self) -> Duration {
        self.proposed.monitor.every
    }

    /// Whether some answers are judged anew by their texts.
    pub(crate) fn reads_texts(&self) -> bool {
        self.then.is_none() && self.proposed.reads_texts()
    }

    pub(crate) const fn is_as_it_was(&self) -> bool {
        self.then.is_some()
    }

    /// When the file came into force, where that lies between two beats; else the later of them.
    pub(crate) fn edited_at(&self, file: i64, last: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        self.loaded_at.get(&file).copied().filter(|at| *at > last && *at <= now).unwrap_or(now)
    }
}

/// A file of the past, as far as beats are weighed by it.
#[derive(Debug)]
pub(crate) struct FileThen {
    number: i64,
    pub(crate) loaded_at: DateTime<Utc>,
    pub(crate) monitors: HashMap<MonitorId, Arc<Monitor>>,
    pub(crate) routes: Arc<[Route]>,
    /// Windows of maintenance.
    pub(crate) maintenance: Vec<MaintenanceWindow>,
    /// Where all this stands.
    pub(crate) provenance: Provenance,
}

impl FileThen {
    fn of(file: &FileInForce, fleet: &Fleet) -> Self {
        Self {
            number: file.number,
            loaded_at: file.loaded_at,
            monitors: fleet.monitors.iter().map(|monitor| (monitor.id.clone(), Arc::clone(monitor))).collect(),
            routes: fleet.routes.iter().cloned().collect(),
            maintenance: fleet.maintenance.clone(),
            provenance: fleet.provenance.clone(),
        }
    }
}

/// The files of the past that can be read.
#[derive(Debug, Default)]
pub(crate) struct FilesThen {
    /// The latest first.
    files: Vec<FileThen>,
    /// Whether the one in force is among them.
    knows_latest: bool,
}

impl FilesThen {
    /// Reads those that were in force since then, as if each lay in the place of `path`. Of a file that includes others an
    /// older Serin kept one text only: it is known where it is one of `known`. Blocks.
    pub(crate) fn read(all: Vec<FileInForce>, path: &Path, known: &[&Fleet], since: DateTime<Utc>) -> Self {
        // The last one from before is in force when the stretch begins.
        let in_stretch = all.iter().position(|file| file.loaded_at < since).map_or(all.len(), |last| last + 1);
        let fleet = |file: FileInForce| {
            if let Some(fleet) = known.iter().find(|fleet| fleet.provenance.hash == file.hash) {
                return Some(FileThen::of(&file, fleet));
            }
            let folder = path.parent().unwrap_or(Path::new(""));
            let of = (&*file.hash, file.commit.as_deref());
            let source = ConfigSource::of_files(folder, &file.files().ok()?, of)?;
            let loaded = config::load(&source, &|name| std::env::var(name).ok(), Unset::Warn);
            loaded.ok().map(|Loaded { fleet, .. }| FileThen::of(&file, &fleet))
        };
        let latest = all.first().map(|file| file.number);
        let files: Vec<_> = all.into_iter().take(in_stretch).filter(FileInForce::is_kept).collect();
        let files: Vec<_> = files.into_iter().filter_map(fleet).collect();
        let knows_latest = files.first().is_some_and(|file| Some(file.number) == latest);
        Self { files, knows_latest }
    }

    /// How a monitor is weighed as it was, through every edit; none where no file that can be read declares it. `now`: as it
    /// is declared now, with the lock that stands in where an older Serin kept none.
    pub(crate) fn as_it_was(&self, id: &MonitorId, now: Option<&Monitor>) -> Option<Weighing> {
        let (file, monitor) = self.files.iter().find_map(|file| Some((file, file.monitors.get(id)?)))?;
        Some(Weighing {
            id: id.clone(),
            proposed: Arc::new(Declared::as_recorded(Arc::clone(monitor), file)),
            then: Some(self.then(now.unwrap_or(monitor))),
            loaded_at: self.files.iter().map(|file| (file.number, file.loaded_at)).collect(),
        })
    }

    /// A file by the number that beats name it by.
    pub(crate) fn file(&self, number: i64) -> Option<&FileThen> {
        self.files.iter().find(|file| file.number == number)
    }

    /// How a monitor of the proposed fleet is weighed.
    ///
    /// `lock`: what was pinned of it when it was last looked at, by its hash; none where nobody looked yet.
    pub(crate) fn ways(&self, monitor: &Arc<Monitor>, fleet: &Fleet, lock: Option<Option<&String>>) -> Ways {
        let routes = bare(&fleet.routes);
        let latest = self.files.first().filter(|_| self.knows_latest);
        let latest = latest.and_then(|then| Some((then.monitors.get(&monitor.id)?, then)));
        let keys = latest.map(|(was, _)| changed_keys(was, monitor)).unwrap_or_default();
        let is_rerouted = latest.is_some_and(|(_, then)| bare(&then.routes) != routes);
        let windows = windows_of(monitor, &fleet.maintenance);
        let is_timed_anew = latest.is_some_and(|(was, then)| windows_of(was, &then.maintenance) != windows);
        let is_pinned_anew = lock.is_some_and(|then| then != monitor.pinned.as_ref().map(|pinned| &pinned.hash));
        let (uses, mut not_comparable) = latest.map(|(was, _)| compared(was, monitor, &keys)).unwrap_or_default();
        let of = monitor.original().or_else(|| latest.and_then(|(was, _)| was.original()));
        not_comparable.original = of.map(|original| original.id.clone());
        let is_changed = is_rerouted || is_timed_anew || is_pinned_anew || !keys.is_empty() || latest.is_none();
        let weighing = |uses: HashMap<String, AskUse>, then: Option<HashMap<i64, [Arc<Declared>; 3]>>| Weighing {
            id: monitor.id.clone(),
            proposed: Arc::new(Declared {
                monitor: Arc::clone(monitor),
                routes: Arc::clone(&routes),
                windows: Arc::clone(&windows),
                uses,
            }),
            then,
            loaded_at: self.files.iter().map(|file| (file.number, file.loaded_at)).collect(),
        };
        Ways {
            as_it_was: weighing(HashMap::new(), Some(self.then(monitor))),
            proposed: is_changed.then(|| weighing(uses, None)),
            not_comparable,
            knows_file: latest.is_some(),
        }
    }

    /// The monitor as each file had it.
    fn then(&self, monitor: &Monitor) -> HashMap<i64, [Arc<Declared>; 3]> {
        let of = |file: &FileThen| {
            let then = file.monitors.get(&monitor.id)?;
            let with = |pinned: Option<Arc<Pinned>>| {
                let then = Arc::new(Monitor { pinned, ..Monitor::clone(then) });
                Arc::new(Declared::as_recorded(then, file))
            };
            Some((file.number, [then.pinned.clone(), monitor.pinned.clone(), None].map(with)))
        };
        self.files.iter().filter_map(of).collect()
    }
}

/// Routes but for their lines.
fn bare(routes: &[Route]) -> Arc<[Route]> {
    routes.iter().map(|route| Route { line: 0, ..route.clone() }).collect()
}

/// Windows that may keep something of a monitor quiet, but for their names and lines.
fn windows_of(monitor: &Monitor, all: &[MaintenanceWindow]) -> Arc<[MaintenanceWindow]> {
    let may_fit = |window: &&MaintenanceWindow| window.matches.may_fit(monitor.id.as_str(), &monitor.labels);
    let bare = |(at, window): (usize, &MaintenanceWindow)| MaintenanceWindow {
        name: String::new(),
        line: at as u32,
        ..window.clone()
    };
    all.iter().filter(may_fit).enumerate().map(bare).collect()
}

/// The keys that say something else now, and that anything is judged or asked by.
fn changed_keys(was: &Monitor, is: &Monitor) -> Vec<String> {
    if was.definition_hash == is.definition_hash {
        return Vec::new();
    }
    changes::monitor(was, is).into_iter().filter(|key| key != "name").collect()
}

/// What becomes of each canary's answers, and what cannot be said at all.
fn compared(was: &Monitor, is: &Monitor, keys: &[String]) -> (HashMap<String, AskUse>, NotComparable) {
    let (mut uses, mut left) = (HashMap::new(), NotComparable::default());
    // Whom a canary is paired with says when both are asked.
    let of_canary = |key: &str| key.starts_with("canaries") && !key.ends_with(".pair");
    left.keys = keys.iter().filter(|key| !of_canary(key) && !is_judged(key)).cloned().collect();
    let find = |monitor: &Monitor, id: &str| monitor.canaries.iter().position(|canary| canary.id == id);
    for canary in &is.canaries {
        let Some(place) = find(was, &canary.id) else {
            left.canaries.push((canary.id.clone(), "it is new, and was never asked".to_owned()));
            continue;
        };
        if was.canaries[place].definition_hash == canary.definition_hash {
            continue;
        }
        match not_by_record((was, &was.canaries[place]), (is, canary), keys) {
            None => uses.insert(canary.id.clone(), AskUse::Rejudged),
            Some(why) => {
                left.canaries.push((canary.id.clone(), why));
                uses.insert(canary.id.clone(), AskUse::Left)
            }
        };
    }
    (uses, left)
}

/// Whether a key decides what is made of what was seen; the others decide what is asked, and how.
fn is_judged(key: &str) -> bool {
    key.starts_with("rules.") || key.starts_with("labels.")
}

/// Why the record says nothing of a changed canary; none where sources, scores and kept texts are enough.
fn not_by_record(was: (&Monitor, &Canary), is: (&Monitor, &Canary), keys: &[String]) -> Option<String> {
    let needs_no_list = |(monitor, canary): (&Monitor, &Canary)| canary.needs_no_list(&monitor.search);
    let by_text = [was, is].map(needs_no_list);
    let (was, is) = (was.1, is.1);
    let prefix = format!("canaries.{}.", is.id);
    let own = keys.iter().filter_map(|key| key.strip_prefix(&prefix));
    let others: Vec<&str> = own.filter(|key| !JUDGED_BY_RECORD.contains(key)).collect();
    if was.query != is.query {
        return Some("its query changed, and what was answered answers the old one".to_owned());
    }
    if by_text[0] != by_text[1] {
        let (then, now) = if by_text[0] { ("texts", "lists") } else { ("lists", "texts") };
        return Some(format!("its answers were read as {then}, and are read as {now} now"));
    }
    if is.text.is_some() && !by_text[1] {
        return Some("it reads the text of an answer beside its list, which is not kept".to_owned());
    }
    (!others.is_empty()).then(|| format!("its {} changed", others.join(" and ")))
}
