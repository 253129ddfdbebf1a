//! `replicas_of`: what can be held side by side, and what is wrong where two monitors cannot, with both places.

use serin::domain::monitor::{Likeness, Monitor};

use crate::{faults, lines, loaded};

/// Monitors `a`, `b` and `c` with a canary each, and what a row adds to each of them.
fn file(more: [&str; 3]) -> String {
    let monitor = |(id, more): (&str, &str)| {
        let canaries = "canaries: [{ id: one, query: copper, expect: [a.md] }]";
        let own = if more.contains("canaries:") { "" } else { canaries };
        let comma = if more.is_empty() || own.is_empty() { "" } else { ", " };
        format!("  - {{ id: {id}, url: \"http://{id}/\", {own}{comma}{more} }}\n")
    };
    let monitors: String = ["a", "b", "c"].into_iter().zip(more).map(monitor).collect();
    format!("version: 1\nmonitors:\n{monitors}")
}

#[test]
fn what_cannot_be_compared_is_said_with_both_places() {
    // The fault, and where the other place is.
    let rows: [(&str, [&str; 3], &[&str], &str); 10] = [
        (
            "a monitor that nobody declares",
            ["", "replicas_of: docs", ""],
            &["4:101 monitor 'b' is a replica of 'docs', which no file declares => name another monitor by its id"],
            "monitors.yaml:4",
        ),
        (
            "itself",
            ["", "replicas_of: b", ""],
            &["4:101 monitor 'b' is a replica of itself => name the monitor that it has to answer like"],
            "its own id",
        ),
        (
            "a replica of a replica",
            ["", "replicas_of: a", "replicas_of: b"],
            &["5:101 monitor 'c' is a replica of a replica, 'b' => name the one that is none: `replicas_of: a`"],
            "'b' is a replica itself",
        ),
        (
            "two of each other",
            ["replicas_of: b", "replicas_of: a", ""],
            &[
                "3:101 monitor 'a' is a replica of a replica, 'b' => one of them has to be the original: leave its 'replicas_of' out",
                "4:101 monitor 'b' is a replica of a replica, 'a' => one of them has to be the original: leave its 'replicas_of' out",
            ],
            "'a' is a replica itself",
        ),
        (
            "another tool",
            ["", "search: { tool: ask }, replicas_of: a", ""],
            &[
                "4:124 'b' and 'a' search in different ways (search.tool), so that their lists cannot be compared => give both the same, or leave 'replicas_of' out",
            ],
            "'a' is declared here",
        ),
        (
            "other arguments, and another place for the sources",
            ["search: { arguments: { top_k: 9 }, fields: { source: /s } }", "replicas_of: a", ""],
            &[
                "4:101 'b' and 'a' search in different ways (search.arguments, search.fields.source), so that their lists cannot be compared => give both the same, or leave 'replicas_of' out",
            ],
            "'a' is declared here",
        ),
        (
            "one id and two questions",
            ["", "canaries: [{ id: one, query: tin, expect: [a.md] }], replicas_of: a", ""],
            &[
                "4:98 'b' and 'a' ask no canary alike, so that nothing can be compared => give both canaries of the same id and query that bring lists: an anchor, or a golden set by its file",
            ],
            "'a' is declared here",
        ),
        (
            "a text, which is one source",
            ["", "canaries: [{ id: one, query: copper, contains: [boiler] }], replicas_of: a", ""],
            &["4:105 'b' and 'a' ask no canary alike, so that nothing can be compared => "],
            "'a' is declared here",
        ),
        (
            "no id",
            ["", "replicas_of: [a]", ""],
            &["4:101 'replicas_of' of monitor 'b' takes a single value, and this is a list => "],
            "monitors.yaml:4",
        ),
        ("one that is faulty is told of once", ["every: 1", "replicas_of: a", ""], &["3:95 "], "monitors.yaml:3"),
    ];
    for (sentence, more, expected, other) in rows {
        let text = file(more);
        let found = faults(&text);
        let seen = lines(&found);
        let fits = seen.len() == expected.len() && seen.iter().zip(expected).all(|(seen, part)| seen.starts_with(part));
        assert!(fits, "{sentence}: {seen:#?}\n{text}");
        assert!(found.to_string().contains(other), "{sentence}: {found}");
    }
    let defaults = file(["", "", ""]).replace("monitors:", "defaults: { replicas_of: a }\nmonitors:");
    assert!(lines(&faults(&defaults))[0].contains("'defaults' has no key 'replicas_of'"), "it is one monitor's");
}

#[test]
fn what_both_ask_is_known() {
    let canaries = |more: &str| {
        format!(
            "canaries: [{{ id: one, query: copper, expect: [b.md] }}, {{ id: two, query: tin, expect: [c.md] }}{more}]"
        )
    };
    let text = file([
        &canaries(", { id: three, query: zinc, expect: [a.md] }"),
        &format!("{}, every: 2m, search: {{ per_beat: 1, fresh: \"off\" }}, replicas_of: a", canaries("")),
        "replicas_of: a",
    ]);
    let fleet = loaded(&text).fleet;
    let of =
        |id: &str| -> Monitor { fleet.monitors.iter().find(|one| one.id.as_str() == id).unwrap().as_ref().clone() };
    assert_eq!(of("a").likeness, Likeness::Original);
    let (b, c) = (of("b"), of("c"));
    let (b, c) = (b.original().unwrap(), c.original().unwrap());
    assert_eq!((b.id.as_str(), b.shared.keys().map(String::as_str).collect::<Vec<_>>()), ("a", vec!["one", "two"]));
    assert_eq!(b.shared["two"], of("a").canaries[1].definition_hash, "as it is declared there");
    assert_eq!((b.round.as_secs(), c.round.as_secs()), (240, 120), "the longer of both");
    assert_eq!(c.shared.len(), 1, "'expect' may be another");
    let alone = loaded(&text.replace(", replicas_of: a", "")).fleet;
    let hash = |fleet: &serin::domain::fleet::Fleet, nth: usize| fleet.monitors[nth].definition_hash.clone();
    assert_eq!(hash(&alone, 0), hash(&fleet, 0), "that others are held against it changes nothing of it");
    assert_ne!(hash(&alone, 1), hash(&fleet, 1));
    assert_eq!(alone.monitors[0].likeness, Likeness::Alone);
}
