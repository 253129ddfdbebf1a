//! Monitors that a list brings in, each over the template of its source.
//!
//! A list is none of ours, and the file that people wrote is not to be refused for what stands in it: what cannot be a monitor
//! is left out, with a warning that says why. For the same reason nothing in the file names a listed monitor by its id.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::depends_on;
use crate::config::check::discover::{DiscoverRead, Single};
use crate::config::check::monitors::{Defaults, FLEET_CANARIES_MAX, MONITORS_MAX, MonitorsRead, identity, monitor};
use crate::config::check::runbooks;
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::{Child, MapEntry, Node, NodeValue};
use crate::domain::discovery::{Discovered, LeftOut, Source};
use crate::domain::monitor::Monitor;
use crate::domain::runbooks::RunbooksByReason;
use crate::net::target::may_be_reached;

/// The label that names the source.
const LABEL: &str = "discovered";
/// What a list says of a server besides what a monitor may say.
const GONE_SINCE: &str = "gone_since";
const HELD_SINCE: &str = "held_since";
/// The id that stands in for a listed server where a template is looked at before any is listed.
const STAND_IN: &str = "listed";
/// The address that does; it never resolves (RFC 2606).
const STAND_IN_URL: &str = "https://listed.invalid/mcp";

/// Reads what the lists bring in, behind what people wrote. Templates are looked at even where no list has come yet.
pub(in crate::config) fn discovered<'n, 'a>(
    checker: &mut Checker<'_>,
    found: &mut MonitorsRead,
    sections: &[(&'n MapEntry<'a>, Option<&Source>)],
    (defaults, discover): (&Defaults<'_, '_>, &DiscoverRead<'n, 'a>),
) -> (Vec<Source>, BTreeMap<String, LeftOut>) {
    // What a template asks is asked of monitors already.
    let asked = checker.asked.take();
    let mut sources = discover.sources.clone();
    for source in &mut sources {
        let template = discover.templates.get(&source.id);
        let what = format!("a monitor of source {}", quoted(&source.id));
        source.template =
            template.and_then(|template| whole(checker, &what, *template, (found, defaults))).unwrap_or_default();
    }
    for (id, Single { fields, source }) in &discover.single {
        let Some(source) = sources.get_mut(*source) else { continue };
        let fields = discover.templates.get(&source.id).map_or(*fields, |template| fields.over(*template));
        let said = whole(checker, &format!("monitor {}", quoted(id)), fields, (found, defaults));
        source.template.push_str(&format!("; {id}: {}", said.unwrap_or_default()));
    }
    let (mut ids, mut all_left_out) = (HashSet::new(), BTreeMap::<String, LeftOut>::new());
    let room = MONITORS_MAX.saturating_sub(found.list.len());
    let counts = sections.iter().map(|(entry, _)| entry.value.items().count());
    let share = fair_share(counts.collect(), room);
    let mut canaries_left =
        FLEET_CANARIES_MAX.saturating_sub(found.list.iter().map(|monitor| monitor.canaries.len()).sum());
    for (entry, source) in sections {
        let Some(source) = source else { continue };
        let Some(items) = checker.list("'monitors' of a list", &entry.value) else { continue };
        let template = discover.templates.get(&source.id);
        let mut left_out = |checker: &mut Checker<'_>, item, why: &str| {
            let of_source = all_left_out.entry(source.id.clone()).or_default();
            left_out(checker, of_source, item, source, why);
        };
        for (nth, item) in items.iter().enumerate() {
            let mark = checker.found.mark();
            let read = listed(checker, (item, source, template), (defaults, discover));
            let why = checker.found.take_back(mark);
            let Some((monitor, own)) = read.filter(|_| why.is_none()) else {
                left_out(checker, item, &why.unwrap_or_else(|| "it cannot be read".to_owned()));
                continue;
            };
            let id = monitor.id.as_str();
            let why = match () {
                () if found.places.contains_key(id) => "the file declares a monitor of this id",
                () if !ids.insert(id.to_owned()) => "another of this id is listed before it",
                () if nth >= share => "one Serin watches no more than 50,000, and this list has its share of them",
                () if monitor.canaries.len() > canaries_left => "the fleet has more canaries than it may",
                () => {
                    canaries_left -= monitor.canaries.len();
                    found.runbooks.extend(own.map(|own| (monitor.id.clone(), own)));
                    found.list.push(Arc::new(monitor));
                    continue;
                }
            };
            left_out(checker, item, why);
        }
    }
    // Where no list was read yet, as in a checkout, nothing is known of what it names.
    let is_read = |single: &Single<'_, '_>| {
        let source = discover.sources.get(single.source);
        sections.iter().any(|(_, read)| read.map(|read| &read.id) == source.map(|source| &source.id))
    };
    for (id, single) in discover.single.iter().filter(|(id, single)| !ids.contains(*id) && is_read(single)) {
        let diagnostic = Diagnostic::warning(single.fields.place, format!("no list names a monitor {}", quoted(id)));
        checker.report(diagnostic.help("`serin discover list` says what is watched; it holds once a list names it"));
    }
    checker.asked = asked;
    (sources, all_left_out)
}

/// How many each list may bring, where all together have more than there is room for: a long one takes nothing from a short one.
fn fair_share(mut counts: Vec<usize>, room: usize) -> usize {
    counts.sort_unstable();
    let mut left = room;
    for (nth, count) in counts.iter().enumerate() {
        let share = left / (counts.len() - nth);
        if *count > share {
            return share;
        }
        left -= count;
    }
    room
}

/// Looks at a template as a whole, at its own place; a text that changes with what it says.
fn whole(
    checker: &mut Checker<'_>,
    what: &str,
    template: Fields<'_, '_>,
    (found, defaults): (&MonitorsRead, &Defaults<'_, '_>),
) -> Option<String> {
    let entries = [("id", STAND_IN), ("url", STAND_IN_URL)].map(|(key, text)| MapEntry {
        key: key.into(),
        place: template.place,
        value: Child::Own(Node::stand_in(text, template.place)),
    });
    let fields = Fields::stand_in(&entries, template.place).over(template);
    let parents = fields.get("depends_on").map(|entry| depends_on::parents(checker, what, entry)).unwrap_or_default();
    let runbooks = fields.get("runbooks").map(|entry| runbooks::of_monitor(checker, what, entry));
    let monitor = monitor(checker, what, Some(STAND_IN.to_owned()), (fields, &parents), defaults)?;
    let template = format!("{} {runbooks:?}", monitor.definition_hash);
    let depends = HashMap::from([(monitor.id.clone(), parents)]);
    depends_on::depends_on(checker, &[Arc::new(monitor)], &found.places, &depends);
    Some(template)
}

/// One listed server, with its own runbooks; a fault is reported as those of a written one are.
fn listed<'n, 'a>(
    checker: &mut Checker<'_>,
    (item, source, template): (&'n Node<'a>, &Source, Option<&Fields<'n, 'a>>),
    (defaults, discover): (&Defaults<'_, '_>, &DiscoverRead<'n, 'a>),
) -> Option<(Monitor, Option<RunbooksByReason>)> {
    let what = Checker::named("monitor", item);
    let own = checker.fields_and(&what, item, "monitors", &[GONE_SINCE, HELD_SINCE])?;
    refuse_references(checker, item);
    let fields = template.map_or(own, |template| own.over(*template));
    let id = identity(checker, own, &mut HashMap::new())?;
    let single = discover
        .single
        .get(&id)
        .filter(|single| discover.sources.get(single.source).is_some_and(|of| of.id == source.id));
    let fields = single.map_or(fields, |single| single.fields.over(fields));
    let parents = fields.get("depends_on").map(|entry| depends_on::parents(checker, &what, entry)).unwrap_or_default();
    let mut read = monitor(checker, &what, Some(id), (fields, &parents), defaults)?;
    let url = url::Url::parse(read.url.resolved.expose()).ok()?;
    let allow: Vec<_> = source.allow_private.iter().filter_map(|network| network.0.parse().ok()).collect();
    let why = source.refusal(&url).map(str::to_owned).or_else(|| may_be_reached(&url, &allow).err());
    if let Some(why) = why {
        checker.report(Diagnostic::new(item.place, why));
    }
    let gone_since = own.get(GONE_SINCE).and_then(|entry| match &entry.value.value {
        NodeValue::Scalar { text, .. } => text.parse().ok(),
        _ => None,
    });
    // By which it is found, grouped and routed, whatever a list says of itself.
    read.labels.insert(LABEL.to_owned(), source.id.clone());
    let allow_private = source.allow_private.clone();
    read.discovered = Some(Box::new(Discovered { source: source.id.clone(), gone_since, allow_private }));
    let runbooks = fields.get("runbooks").map(|entry| runbooks::of_monitor(checker, &what, entry));
    Some((read, runbooks))
}

fn left_out(checker: &mut Checker<'_>, of_source: &mut LeftOut, item: &Node<'_>, source: &Source, why: &str) {
    let what = Checker::named("monitor", item);
    let message = format!("{what}, which {} lists, is left out: {why}", quoted(&source.id));
    checker.report(Diagnostic::warning(item.place, message).help("mend the list, or alter it by `relabel`"));
    let id = item.get("id").and_then(|id| match &id.value {
        NodeValue::Scalar { text, .. } => Some(&**text),
        _ => None,
    });
    of_source.add(id, format!("{what}: {why}"));
}

/// What a list says is text: nothing of ours is put into it.
fn refuse_references(checker: &mut Checker<'_>, node: &Node<'_>) {
    match &node.value {
        NodeValue::Scalar { text, .. } if text.contains("${") => {
            let diagnostic = Diagnostic::new(node.place, "it refers to something with `${`");
            checker.report(diagnostic.help("write it out"));
        }
        NodeValue::Scalar { .. } => {}
        NodeValue::List(items) => items.iter().for_each(|item| refuse_references(checker, item)),
        NodeValue::Map(entries) => entries.iter().for_each(|entry| refuse_references(checker, &entry.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_takes_nothing_from_a_short_one() {
        let rows = [
            (vec![], 10, 10, "no list"),
            (vec![3, 4], 10, 10, "there is room for all"),
            (vec![3, 20], 10, 7, "the short one is whole"),
            (vec![20, 3], 10, 7, "in whatever order"),
            (vec![9, 9, 1], 10, 4, "two long ones share"),
            (vec![9], 0, 0, "no room at all"),
        ];
        for (counts, room, expected, sentence) in rows {
            assert_eq!(fair_share(counts, room), expected, "{sentence}");
        }
    }
}
