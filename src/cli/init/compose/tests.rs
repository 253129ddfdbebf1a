use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::{Draft, new_file};
use crate::cli::init::append::checked;
use crate::domain::monitor::CanaryKind;
use crate::domain::quality::propose::Proposal;
use crate::domain::search::{Search, SearchFields};

/// References and characters that YAML does not take, at some depth of an argument.
const NESTED: &str = "{\"${key}\":[\"${env:HOME}\",\"\u{7f}\u{85}\u{feff}\",true,\"yes\"]}";

fn draft(measured_ms: &[u64], top_k: &str) -> Draft {
    let canary = |query: &str, kind, source: &str| {
        let source = source.to_owned();
        (Proposal { query: query.to_owned(), kind, source, contains: Vec::new() }, None)
    };
    Draft {
        id: "404".to_owned(),
        url: "http://127.0.0.1:1/mcp".to_owned(),
        search: Some(Search {
            tool: Some("yes".to_owned()),
            query: vec!["/q: #".to_owned()],
            arguments: BTreeMap::from(
                [("top_k", top_k), ("lang", "\"no\""), ("deep", "{\"a\":[1,null]}"), ("${odd}", NESTED)]
                    .map(|(k, v)| (k.to_owned(), v.to_owned())),
            ),
            results: Some("/a b/0".to_owned()),
            fields: SearchFields { source: Some("/x~1y".to_owned()), ..SearchFields::default() },
            per_beat: 2,
            ..Search::default()
        }),
        canaries: vec![
            canary("4417", CanaryKind::Keyword, "- a: [b"),
            canary("null", CanaryKind::Mixed, "${env:HOME}"),
            canary("日本", CanaryKind::Mixed, "x"),
            canary("zorvex", CanaryKind::Negative, ""),
            canary("4417", CanaryKind::Keyword, "twice"),
        ],
        durations: measured_ms.iter().map(|ms| Duration::from_millis(*ms)).collect(),
        ..Draft::default()
    }
}

#[test]
fn what_is_written_is_read_as_it_was_meant() {
    let rows: [(&[u64], &str, u64, u64, &str); 7] = [
        (&[3, 7], "5", 200, 10, "never below 200 ms"),
        (&[90, 137], "5", 700, 10, "five times the longest, rounded up"),
        (&[1_234], "5", 6_200, 10, "to two digits"),
        (&[2_000], "5", 10_000, 30, "a slow server gets more time"),
        (&[9_999], "5", 25_000, 30, "up to a limit that no timeout reaches"),
        (&[], "5", 800, 10, "not measured"),
        (&[1], "2", 200, 10, "few results"),
    ];
    for (measured, top_k, p95_ms, timeout_s, sentence) in rows {
        let text = new_file(&draft(measured, top_k).item(2));
        let fleet = checked(Path::new("m.yaml"), &text, &[]).unwrap_or_else(|why| panic!("{sentence}: {why}")).fleet;
        let monitor = &fleet.monitors[0];
        assert_eq!(monitor.rules.latency.p95, Duration::from_millis(p95_ms), "{sentence}");
        assert_eq!(monitor.timeout, Duration::from_secs(timeout_s), "{sentence}");
        let search = &monitor.search;
        assert_eq!(
            (monitor.id.as_str(), search.tool.as_deref(), &search.query[..]),
            ("404", Some("yes"), &["/q: #".to_owned()][..])
        );
        assert_eq!(search.arguments["lang"], "\"no\"");
        assert_eq!(search.arguments["deep"], "{\"a\":[1,null]}");
        assert_eq!(search.arguments["${odd}"], NESTED);
        let seen: Vec<(&str, &str)> = monitor.canaries.iter().map(|one| (&*one.id, &*one.query)).collect();
        assert_eq!(
            seen,
            [("4417", "4417"), ("null", "null"), ("mixed", "日本"), ("nonsense", "zorvex"), ("4417-2", "4417")]
        );
        let expected: Vec<&str> =
            monitor.canaries.iter().flat_map(|one| one.expect.iter().map(String::as_str)).collect();
        assert_eq!(expected, ["- a: [b", "${env:HOME}", "x", "twice"], "references stay text");
        let within: Vec<u32> =
            monitor.canaries.iter().filter(|one| one.kind != CanaryKind::Negative).map(|one| one.within).collect();
        let expected = if top_k == "2" { [1, 2, 2, 1] } else { [1, 3, 3, 1] };
        assert_eq!(
            within, expected,
            "a keyword comes first, a sentence near the top, no deeper than was asked: {sentence}"
        );
    }
}

#[test]
fn the_place_of_the_question_is_read_as_it_was_meant() {
    for query in ["/query", "/a~1b", "/~1x", "/texts/0"] {
        let mut draft = draft(&[], "5");
        draft.search.as_mut().unwrap().query = vec![query.to_owned()];
        let fleet = checked(Path::new("m.yaml"), &new_file(&draft.item(2)), &[]).unwrap().fleet;
        assert_eq!(fleet.monitors[0].search.query, [query]);
    }
}
