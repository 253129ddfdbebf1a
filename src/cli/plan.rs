//! `serin plan`: what a change of the file would change, for a pull request.
//!
//! Exit code 0 where nothing changes, 2 where something does, 1 where a file cannot be read or has faults.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::config_file::{ConfigFile, declared};
use crate::cli::known_ids::listed;
use crate::config::Loaded;
use crate::config::describe::plan::{Addressees, ChangePlan, Planned, TopicChange, plan};
use crate::config::read::bytes::FILE_BYTES_MAX;
use crate::config::read::source::{self, ConfigSource};
use crate::domain::database_address::DatabaseAddress;
use crate::domain::fleet::Provenance;
use crate::domain::monitor::MonitorId;
use crate::domain::signal::Signal;
use crate::domain::wording::counted;

/// Something would change.
const CHANGES: u8 = 2;

/// Says what would change if NEW took the place of OLD, and who would be told otherwise.
///
/// With one file, OLD is what the last commit holds of it; with none, that file is monitors.yaml.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    /// The file in force, and the one that would come into force; `-` reads standard input, such as
    /// `git show main:monitors.yaml | serin plan - monitors.yaml`.
    #[arg(value_names = ["OLD", "NEW"], num_args = 0..=2)]
    pub files: Vec<PathBuf>,
    /// Print for machines: one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Compares and prints; 0 where nothing changes, 2 where something does.
///
/// # Errors
/// Where a file cannot be read, or has faults.
pub(crate) fn run(args: PlanArgs) -> anyhow::Result<ExitCode> {
    let (old, new) = match &args.files[..] {
        [old, new] => {
            let dash = Path::new("-");
            anyhow::ensure!(old != dash || new != dash, "only one of the two can be standard input");
            (load(old, new)?, load(new, old)?)
        }
        files => {
            let new = ConfigFile { file: files.first().cloned(), config: None }.path()?;
            (committed(&new)?, load(&new, &new)?)
        }
    };
    let plan = plan(&old, &new);
    if args.json {
        anstream::println!("{}", serde_json::to_string_pretty(&as_json(&plan))?);
    } else {
        anstream::print!("{}", text(&plan, &old.fleet.provenance, &new.fleet.provenance));
    }
    Ok(if plan.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHANGES) })
}

/// The file as the last commit holds it.
fn committed(path: &Path) -> anyhow::Result<Loaded> {
    let text = source::committed(path)
        .with_context(|| format!("no commit holds {}; `serin plan OLD NEW` compares any two files", path.display()))?;
    checked(beside(path, "the last commit", text.into_bytes()), path)
}

/// Standard input is taken for a file that lies beside the other one.
fn load(path: &Path, other: &Path) -> anyhow::Result<Loaded> {
    if path != Path::new("-") {
        return checked(source::read(path)?, path);
    }
    let mut bytes = Vec::new();
    std::io::stdin().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    anyhow::ensure!(bytes.len() as u64 <= FILE_BYTES_MAX, "standard input is larger than {FILE_BYTES_MAX} bytes");
    checked(beside(other, "standard input", bytes), other)
}

/// What came from elsewhere, as a file that lies beside this one.
fn beside(path: &Path, whence: &str, bytes: Vec<u8>) -> ConfigSource {
    let source = ConfigSource::new(&path.with_file_name(format!("<{whence}>")), bytes, None);
    if !source.included.is_empty() {
        anstream::eprintln!(
            "warning: what {whence} includes is read from the folder as it is now; \
             `git worktree add ../old main` gives a whole old fleet to compare with\n"
        );
    }
    source
}

fn checked(source: ConfigSource, path: &Path) -> anyhow::Result<Loaded> {
    let mut loaded = declared(&source)?;
    from_folder(&mut loaded, path.parent().unwrap_or(Path::new("")));
    Ok(loaded)
}

/// Names files from the folder that the configuration lies in, so that the same file in two checkouts is the same.
fn from_folder(loaded: &mut Loaded, folder: &Path) {
    let bare = |path: &mut String| {
        let inside = Path::new(&*path).strip_prefix(folder).map(|inside| inside.to_string_lossy().into_owned());
        if let Ok(inside) = inside {
            *path = inside;
        }
    };
    if let Some(DatabaseAddress::File(path)) = &mut loaded.settings.database
        && let Ok(inside) = path.strip_prefix(folder)
    {
        *path = inside.to_owned();
    }
    loaded.fleet.smtp.iter_mut().filter_map(|smtp| smtp.ca.as_mut()).for_each(bare);
    for monitor in &mut loaded.fleet.monitors {
        if monitor.reach.ca.is_some() || monitor.reach.client_certificate.is_some() {
            let reach = &mut Arc::make_mut(monitor).reach;
            reach.ca.iter_mut().for_each(bare);
            if let Some(pair) = &mut reach.client_certificate {
                bare(&mut pair.certificate);
                bare(&mut pair.key);
            }
        }
    }
}

fn text(plan: &ChangePlan, old: &Provenance, new: &Provenance) -> String {
    let mut text = String::new();
    let version = |from: &Provenance| {
        let commit = from.commit.as_deref().map(|commit| format!(" at {commit}")).unwrap_or_default();
        format!("{}{commit}", from.file)
    };
    line(&mut text, &format!("{} → {}", version(old), version(new)));
    let unknown = (!plan.lists_unknown.is_empty()).then(|| {
        format!(
            "what {} names is not known here, and may be told of to others or watched otherwise: the running Serin keeps it \
             beside its database",
            listed(plan.lists_unknown.iter().map(|id| &**id), plan.lists_unknown.len())
        )
    });
    if plan.is_empty() {
        line(&mut text, "nothing changes");
        unknown.iter().for_each(|unknown| line(&mut text, unknown));
        return text;
    }
    section(&mut text, "Monitors", &monitors(plan));
    let mut rest: Vec<String> = Vec::new();
    let removed = |id| format!("- list {id}: what it names is watched no longer, and its open incidents end");
    rest.extend(plan.lists_removed.iter().map(removed));
    rest.extend(plan.lists_added.iter().map(|id| format!("+ list {id}: what it names is watched once it is read")));
    rest.extend(plan.receivers_added.iter().map(|name| format!("+ receiver {name}")));
    rest.extend(plan.receivers_removed.iter().map(|name| format!("- receiver {name}")));
    rest.extend(plan.receivers_changed.iter().map(|(name, keys)| format!("~ receiver {name}: {}", keys.join(", "))));
    if plan.routes_changed {
        let effect = if plan.told.is_empty() { ", and everybody is notified as before" } else { "" };
        rest.push(format!("~ routes{effect}"));
    }
    rest.extend(plan.rest.iter().map(|key| format!("~ {key}")));
    section(&mut text, "Everything else", &rest);
    let mut told = Vec::new();
    for group in &plan.told {
        told.push(ids(&group.monitors));
        told.extend(group.changes.iter().map(|change| format!("    {}", change_line(change))));
    }
    section(&mut text, "Who is notified", &told);
    unknown.iter().for_each(|unknown| line(&mut text, &format!("\n{unknown}")));
    let count = [
        (plan.added.len(), "added"),
        (plan.removed.len(), "removed"),
        (plan.changed.len(), "changed"),
        (plan.renamed.len(), "renamed"),
        (plan.told.iter().map(|group| group.monitors.len()).sum(), "paging otherwise"),
    ];
    let counts: Vec<String> =
        count.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !counts.is_empty() {
        line(&mut text, &format!("\nmonitors: {}", counts.join(", ")));
    }
    text
}

fn monitors(plan: &ChangePlan) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(come_or_go("+", &plan.added));
    lines.extend(come_or_go("-", &plan.removed));
    lines.extend(plan.renamed.iter().map(|one| format!("~ {}  renamed: \"{}\" → \"{}\"", one.id, one.from, one.to)));
    // A change of `defaults` is the same few keys on every monitor.
    let mut alike: Vec<(&Vec<String>, Vec<MonitorId>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (id, keys) in &plan.changed {
        let at = *places.entry(keys).or_insert_with(|| {
            alike.push((keys, Vec::new()));
            alike.len() - 1
        });
        alike[at].1.push(id.clone());
    }
    lines.extend(alike.iter().map(|(keys, monitors)| format!("~ {}  {}", ids(monitors), keys.join(", "))));
    lines.extend(plan.moved.iter().map(|one| {
        format!(
            "? {} has the address of {}, which goes: its history ends, for history follows the id",
            one.to, one.from
        )
    }));
    lines
}

/// A line for each monitor that is written down, and one for each list: it may be of thousands.
fn come_or_go(sign: &str, all: &[Planned]) -> Vec<String> {
    let (mut lines, mut of_lists) = (Vec::new(), BTreeMap::<&str, Vec<MonitorId>>::new());
    for Planned { id, url, list } in all {
        match list {
            None => lines.push(format!("{sign} {id}  {url}")),
            Some(list) => of_lists.entry(list).or_default().push(id.clone()),
        }
    }
    let of_list = |(list, all): (&str, Vec<MonitorId>)| {
        format!("{sign} {} that the list '{list}' names: {}", counted(all.len(), "monitor", "monitors"), ids(&all))
    };
    lines.extend(of_lists.into_iter().map(of_list));
    lines
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        line(text, &format!("\n{title}"));
        lines.iter().for_each(|one| line(text, &format!("  {one}")));
    }
}

fn line(text: &mut String, line: &str) {
    let _infallible = writeln!(text, "{line}");
}

fn ids(all: &[MonitorId]) -> String {
    listed(all.iter().map(MonitorId::as_str), all.len())
}

fn change_line(change: &TopicChange) -> String {
    let reach = |reach: &Option<Addressees>| {
        let Some(reach) = reach else { return "not judged".to_owned() };
        let one = |(name, fallback): &(String, Option<String>)| {
            format!("{name}{}", fallback.as_ref().map(|name| format!(" (else {name})")).unwrap_or_default())
        };
        let to = reach.to.iter().map(one).collect::<Vec<_>>().join(", ");
        format!("{} to {}", reach.severity.slug(), if to.is_empty() { "nobody" } else { &to })
    };
    format!("{}: {} → {}", topic(change), reach(&change.before), reach(&change.after))
}

/// The finding in words, such as `contract (wording)` or `availability, timeout`.
fn topic(change: &TopicChange) -> String {
    let signal = change.topic.signal.map_or("a restart", Signal::slug);
    let class = if change.topic.class.is_empty() { String::new() } else { format!(" ({})", change.topic.class) };
    let reason = change.topic.reason.map(|reason| format!(", {reason}")).unwrap_or_default();
    format!("{signal}{class}{reason}")
}

fn as_json(plan: &ChangePlan) -> Value {
    let reach = |reach: &Option<Addressees>| {
        reach.as_ref().map(|reach| {
            let to: Vec<&String> = reach.to.iter().map(|(name, _)| name).collect();
            let with = reach.to.iter().filter_map(|(name, fallback)| Some((name.clone(), fallback.clone()?.into())));
            json!({ "severity": reach.severity.slug(), "to": to, "fallbacks": with.collect::<Map<_, _>>() })
        })
    };
    let address = |all: &[Planned]| {
        all.iter()
            .map(|Planned { id, url, list }| json!({ "id": id.as_str(), "url": url, "list": list }))
            .collect::<Vec<_>>()
    };
    let told = plan.told.iter().map(|group| {
        let changes = group.changes.iter().map(|change| {
            json!({
                "signal": change.topic.signal.map(Signal::slug),
                "reason": change.topic.reason.map(|reason| reason.slug()),
                "class": (!change.topic.class.is_empty()).then_some(change.topic.class),
                "before": reach(&change.before),
                "after": reach(&change.after),
            })
        });
        json!({
            "monitors": group.monitors.iter().map(MonitorId::as_str).collect::<Vec<_>>(),
            "changes": changes.collect::<Vec<_>>(),
        })
    });
    json!({
        "changes": !plan.is_empty(),
        "added": address(&plan.added),
        "removed": address(&plan.removed),
        "changed": plan.changed.iter().map(|(id, keys)| json!({ "id": id.as_str(), "keys": keys })).collect::<Vec<_>>(),
        "renamed": plan.renamed.iter()
            .map(|one| json!({ "id": one.id.as_str(), "from": one.from, "to": one.to })).collect::<Vec<_>>(),
        "moved": plan.moved.iter()
            .map(|one| json!({ "from": one.from.as_str(), "to": one.to.as_str() })).collect::<Vec<_>>(),
        "lists": {
            "added": plan.lists_added,
            "removed": plan.lists_removed,
            "unknown": plan.lists_unknown,
        },
        "receivers": {
            "added": plan.receivers_added,
            "removed": plan.receivers_removed,
            "changed": plan.receivers_changed.iter()
                .map(|(name, keys)| json!({ "name": name, "keys": keys })).collect::<Vec<_>>(),
        },
        "routes_changed": plan.routes_changed,
        "other_keys": plan.rest,
        "told": told.collect::<Vec<_>>(),
    })
}
