//! What stands for a pin, and for how a canary is asked when it is pinned.

use crate::config::check::definition::{Definition, of_canary};
use crate::domain::monitor::Canary;
use crate::domain::pinned::{Pinned, PinnedCanary};
use crate::domain::search::{Search, SearchFields};

/// Digits that stand for how a canary is asked: a lock is read by people.
const ASKED_DIGITS: usize = 16;

/// Stands in the lock for how a canary is asked and how its answer is read. What decides how often, whether past caches, or
/// in which other words, is none of it.
pub fn asked(search: &Search, canary: &Canary) -> String {
    let Search { tool, query, arguments, results, fields, by_columns, said: _, per_beat: _, fresh: _, harvest: _ } =
        search;
    let mut said = of_canary(&Canary { also: Vec::new(), ..canary.clone() });
    said.optional(tool.as_deref()).texts(query.iter().map(String::as_str)).count(arguments.len());
    for (name, json) in arguments {
        said.text(name).text(json);
    }
    let SearchFields { source, content, score, total } = fields;
    for pointer in [results, source, content, score, total] {
        said.optional(pointer.as_deref());
    }
    let mut hash = said.flag(*by_columns).hash();
    hash.truncate(ASKED_DIGITS);
    hash
}

/// Everything that is pinned of a monitor, wherever it stands.
pub(in crate::config) fn of_pinned(pinned: &Pinned) -> Definition {
    let Pinned { hash: _, place: _, runs, reached_index, server, scale, sources, relations, canaries, tools } = pinned;
    let mut said = Definition::default();
    said.key("").text("pinned").count(*runs as usize).flag(*reached_index);
    let (name, version) = server.as_ref().map(|(name, version)| (&**name, &**version)).unzip();
    said.optional(name).optional(version);
    let numbers = |said: &mut Definition, pair: Option<(f64, f64)>| {
        let (low, high) = pair.unzip();
        said.optional(low.map(|low| low.to_string()).as_deref()).optional(high.map(|high| high.to_string()).as_deref());
    };
    numbers(&mut said, *scale);
    said.texts(relations.iter().map(|relation| relation.slug())).count(canaries.len());
    for (id, pin) in canaries {
        let PinnedCanary {
            definition_hash,
            lists,
            top_score,
            results,
            chars,
            first_chars,
            text_chars,
            repeats,
            sorted,
        } = pin;
        said.text(id).text(definition_hash).count(lists.len());
        for list in lists {
            said.texts(list.iter().map(String::as_str));
        }
        numbers(&mut said, top_score.map(|score| (score.median, score.mad)));
        said.count(results.0 as usize).count(results.1 as usize);
        said.optional_count(chars.map(u64::from))
            .optional_count(first_chars.map(u64::from))
            .flag(*repeats)
            .flag(*sorted);
        // Where there is none it says nothing, so that what was pinned before this was known stays what it was.
        if let Some((shortest, longest)) = text_chars {
            said.text("text").count(*shortest as usize).count(*longest as usize);
        }
    }
    said.optional(tools.as_ref().map(|listing| &*listing.hash));
    if let Some(sources) = sources {
        said.text("sources").count(*sources as usize);
    }
    said
}
