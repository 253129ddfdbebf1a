//! The Atom feed: when something began to be wrong with a component, and when it was over.
//!
//! Ids are made by `public_marks`, so that a reader knows an entry again and learns nothing from it. Titles and contents are
//! plain text; the writer escapes them.

use atom_syndication::{Content, Entry, Feed, Generator, Link, Person, Text};
use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};

use crate::web::format;
use crate::web::public::episode::Episode;
use crate::web::public::snapshot::Snapshot;
use crate::web::public::words::PublicState;

/// Entries of one feed, the newest: readers come more often than that many are made.
const ENTRIES_MAX: usize = 200;

/// The feed as text.
pub(crate) fn feed(snapshot: &Snapshot) -> String {
    let page = format!("{}/status", snapshot.public_url);
    let mut entries: Vec<Entry> =
        snapshot.episodes.iter().flatten().flat_map(|episode| of(snapshot, episode, &page)).collect();
    entries.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
    entries.truncate(ENTRIES_MAX);
    // A feed without entries changes with no visit.
    let quiet_since = snapshot.at.duration_trunc(TimeDelta::days(1)).unwrap_or(snapshot.at).fixed_offset();
    let updated = entries.first().map_or(quiet_since, |entry| entry.updated);
    let feed = Feed {
        title: Text::plain(snapshot.page.title.clone()),
        id: snapshot.marks.id(&["feed"]).urn().to_string(),
        updated,
        authors: vec![Person { name: snapshot.page.title.clone(), ..Person::default() }],
        generator: Some(Generator { value: "Serin".to_owned(), ..Generator::default() }),
        links: vec![link("self", format!("{page}/feed.atom")), link("alternate", page)],
        entries,
        ..Feed::default()
    };
    feed.to_string()
}

/// The beginning, and the end where there is one.
fn of(snapshot: &Snapshot, episode: &Episode, page: &str) -> Vec<Entry> {
    let (name, id) = (snapshot.name(episode.component), snapshot.episode_id(episode));
    let word = if episode.state == PublicState::Unknown { "checks fail" } else { episode.state.word() };
    let entry = |what: &str, at: DateTime<Utc>, title: String, said: String| Entry {
        id: snapshot.marks.id(&["entry", what, &id.to_string()]).urn().to_string(),
        title: Text::plain(title),
        published: Some(at.fixed_offset()),
        updated: at.fixed_offset(),
        links: vec![link("alternate", page.to_owned())],
        content: Some(Content { content_type: Some("text".to_owned()), value: Some(said), ..Content::default() }),
        ..Entry::default()
    };
    let began = entry(
        "began",
        episode.from,
        format!("{name}: {word}"),
        format!("{} Since {}.", episode.said, format::absolute(episode.from)),
    );
    let over = episode.until.map(|until| {
        let lasted = format::span((until - episode.from).to_std().unwrap_or_default());
        entry("over", until, format!("{name}: over ({word})"), format!("{} It lasted {lasted}.", episode.said))
    });
    std::iter::once(began).chain(over).collect()
}

fn link(rel: &str, href: String) -> Link {
    Link { rel: rel.to_owned(), href, ..Link::default() }
}
