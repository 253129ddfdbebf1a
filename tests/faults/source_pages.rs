//! Lists of sources on several pages: followed as far as that can prove something, and never judged by a part.

use std::time::Duration;

use serin::domain::answer::Turn;
use serin::domain::classify::classify;
use serin::domain::monitor::{Canary, Monitor};
use serin::domain::observation::Observation;
use serin::domain::reason::Severity;
use serin::domain::rules::{FreshnessRule, ShrinksRule};
use serin::domain::sources::SourcesLeft;
use serin::probe::prober::Prober;

use crate::fault_server::{Act, FaultServer, Script, result, status};
use crate::probing::{assignment, first_fault, monitor, monitor_of, now};
use crate::scripts::{MODERN_TOOLS, legacy, modern, say, with};

/// The list's first page, and every further one.
const FIRST: &str = "tools/call list_sources";
const FURTHER: &str = "tools/call list_sources again";

/// `legacy`, with a source-listing tool that declares these arguments.
fn listing(properties: &str) -> Script {
    let tools = format!(
        r#"{{"tools":[{{"name":"search_documents","inputSchema":{{"properties":{{"query":{{"type":"string"}}}}}}}},
        {{"name":"list_sources","inputSchema":{{"type":"object","properties":{properties}}}}}]}}"#
    );
    with(legacy(), "tools/list", say(result(&tools)))
}

/// One that takes a cursor, as Python's libraries write it.
fn paged() -> Script {
    listing(r#"{"limit":{"type":"integer"},"cursor":{"anyOf":[{"type":"string"},{"type":"null"}]}}"#)
}

/// A page with one source, indexed on a day of November; `beside` stands beside the list.
fn page(source: &str, day: u32, beside: &str) -> String {
    let listed = format!(r#"[{{"source":"{source}","last_indexed":"2026-11-{day:02}T08:00:00Z"}}]"#);
    result(&format!(r#"{{"structuredContent":{{"sources":{listed}{beside}}}}}"#))
}

/// What a probe saw that may read on, and what the server was asked.
async fn read(script: Script, rule: bool) -> (Observation, Vec<String>, Vec<String>) {
    let server = FaultServer::start(script, None).await;
    let mut monitor = monitor_of(&server, 1);
    if rule {
        monitor = judged(monitor);
    }
    let mut assignment = assignment(monitor);
    assignment.source_pages = 20;
    let (seen, _) = Prober::new(8).run(&assignment).await;
    let arrived = server.seen();
    let is_search = |(asked, _): &(String, String)| asked.starts_with("tools/call");
    let (asked, bodies) = arrived.asked.into_iter().zip(arrived.bodies).filter(is_search).unzip();
    (seen, asked, bodies)
}

/// What the rule makes of the server: pages asked for, sources read, why not more, and whether it is found stale.
async fn check(sentence: &str, script: Script, expected: (usize, u32, Option<SourcesLeft>, bool)) -> Observation {
    let (seen, asked, _) = read(script, true).await;
    let sources = seen.sources.clone().unwrap_or_else(|| panic!("{sentence}: {seen:#?}"));
    let outcome = classify(&judged(monitor("http://h/mcp", 1)), &seen);
    let is_stale = outcome.findings.iter().any(|finding| finding.reason.slug() == "source_stale");
    let pages = asked.iter().filter(|asked| asked.starts_with(FIRST)).count();
    assert_eq!((pages, sources.count, sources.left, is_stale), expected, "{sentence}: {seen:#?}");
    assert_eq!(first_fault(&seen), None, "{sentence}: the list is no fault of the search");
    assert_eq!(seen.asks[0].turn, Turn::Scheduled, "{sentence}: the canary was asked");
    let search = asked.iter().position(|asked| asked == "tools/call search_documents").expect("it was asked");
    let further = asked.iter().position(|asked| asked == FURTHER);
    assert!(further.is_none_or(|further| further > search), "{sentence}: canaries come first: {asked:?}");
    seen
}

/// The monitor, so that it judges how old the newest source is.
fn judged(mut monitor: Monitor) -> Monitor {
    let older_than = Duration::from_secs(72 * 3600);
    monitor.rules.freshness =
        Some(FreshnessRule { older_than, shrinks: ShrinksRule::STANDARD, severity: Severity::Ticket, line: 1 });
    monitor
}

#[tokio::test]
async fn three_pages_are_read_to_the_end_and_judged() {
    let three = |last: u32| {
        let further = Act::Turn(page("b", 2, r#","nextCursor":"three""#), page("c", last, ""));
        with(with(paged(), FIRST, say(page("a", 1, r#","nextCursor":"t\"wo","total":3"#))), FURTHER, further)
    };
    check("the newest is on the last page", three(20), (3, 3, None, false)).await;
    let seen = check("none is young", three(3), (3, 3, None, true)).await;
    let step = seen.steps.iter().find(|step| step.label == "list_sources, further pages").unwrap();
    assert_eq!(step.notes, ["3 sources"]);
    let (_, asked, bodies) = read(three(3), true).await;
    let sent: Vec<serde_json::Value> = bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let cursors: Vec<_> = sent.iter().zip(&asked).filter(|(_, asked)| *asked == FURTHER).collect();
    assert_eq!(cursors[0].0["params"]["arguments"], serde_json::json!({"cursor": "t\"wo"}), "and nothing else");
    assert_eq!(cursors[1].0["params"]["arguments"], serde_json::json!({"cursor": "three"}));
}

#[tokio::test]
async fn the_modern_era_has_its_cursor_in_a_header_where_the_tool_wants_that() {
    let list = r#","tools":[{"name":"list_sources","inputSchema":{"properties":{"cursor":{"type":"string","x-mcp-header":"Page"}}}},"#;
    let tools = MODERN_TOOLS.replace(r#","tools":["#, list);
    let modern_page = |source: &str, day, beside: &str| {
        page(source, day, beside).replace(r#"{"structuredContent""#, r#"{"resultType":"complete","structuredContent""#)
    };
    let script = with(modern(), "tools/list", say(result(&tools)));
    let script = with(script, FIRST, say(modern_page("a", 1, r#","next_cursor":"two""#)));
    let server = FaultServer::start(with(script, FURTHER, say(modern_page("b", 20, ""))), None).await;
    let mut assignment = assignment(judged(monitor_of(&server, 1)));
    assignment.source_pages = 20;
    let (seen, _) = Prober::new(8).run(&assignment).await;
    let sources = seen.sources.as_ref().map(|sources| (sources.count, sources.left));
    assert_eq!(sources, Some((2, None)), "{seen:#?}");
    let arrived = server.seen();
    let further = arrived.asked.iter().position(|asked| asked == FURTHER).unwrap();
    assert!(arrived.heads[further].to_ascii_lowercase().contains("mcp-param-page: two"), "{}", arrived.heads[further]);
}

#[tokio::test]
async fn a_walk_that_does_not_end_proves_nothing() {
    let first = |beside: &str| with(paged(), FIRST, say(page("a", 1, beside)));
    let next = r#","next_cursor":"two""#;
    let again = with(first(next), FURTHER, say(page("b", 2, next)));
    check("its cursor comes again", again, (2, 2, Some(SourcesLeft::Repeated), false)).await;
    let endless = with(first(next), FURTHER, say(page("s{n}", 2, r#","next_cursor":"c{n}""#)));
    check("pages without end", endless, (20, 20, Some(SourcesLeft::TooMany), false)).await;
    let broken = with(first(next), FURTHER, say(status("500 Internal Server Error", "", "no")));
    let seen = check("its second page fails", broken, (2, 1, Some(SourcesLeft::Failed), false)).await;
    let notes: Vec<&String> = seen.steps.iter().flat_map(|step| &step.notes).collect();
    assert!(notes.iter().any(|note| note.starts_with("a further page failed: ")), "{notes:?}");
    let strange = with(first(next), FURTHER, say(result(r#"{"structuredContent":{"message":"no"}}"#)));
    check("its second page is no list", strange, (2, 1, Some(SourcesLeft::Failed), false)).await;
    let refused = result(r#"{"isError":true,"content":[{"type":"text","text":"the cursor is of another index"}]}"#);
    check("it refuses", with(first(next), FURTHER, say(refused)), (2, 1, Some(SourcesLeft::Failed), false)).await;
    let silent = with(first(next), FURTHER, Act::SayAndHold(String::new()));
    check("its second page never comes", silent, (2, 1, Some(SourcesLeft::NoTime), false)).await;
    let short = with(first(r#","next_cursor":"two","total":9"#), FURTHER, say(page("b", 2, r#","total":9"#)));
    check("it lists fewer than it counts", short, (2, 2, Some(SourcesLeft::NotOffered), false)).await;
}

#[tokio::test]
async fn nothing_is_asked_that_cannot_prove_anything() {
    let next = r#","next_cursor":"two""#;
    let first = |day: u32, beside: &str| with(paged(), FIRST, say(page("a", day, beside)));
    check("a young one is on the first page", first(20, next), (1, 1, Some(SourcesLeft::NotNeeded), false)).await;
    let said = r#","next_cursor":"two","total":12000,"last_indexed":"2026-11-02T08:00:00Z""#;
    let seen = check("the server says how old the newest is", first(1, said), (1, 1, Some(SourcesLeft::TooMany), true));
    assert_eq!(seen.await.sources.unwrap().said(), "read 1 of 12,000 sources");
    let many = r#","next_cursor":"two","total":12000"#;
    check("more than a probe reads", first(1, many), (1, 1, Some(SourcesLeft::TooMany), false)).await;
    let takes_none = with(listing(r#"{"limit":{"type":"integer"}}"#), FIRST, say(page("a", 1, next)));
    check("the tool declares no cursor", takes_none, (1, 1, Some(SourcesLeft::NotOffered), false)).await;
    let a_number = with(listing(r#"{"cursor":{"type":"integer"}}"#), FIRST, say(page("a", 1, next)));
    check("its cursor is no text", a_number, (1, 1, Some(SourcesLeft::NotOffered), false)).await;
    check("a list on one page", first(1, ""), (1, 1, None, true)).await;

    let (seen, asked, _) = read(first(1, next), false).await;
    assert_eq!(seen.sources.unwrap().left, Some(SourcesLeft::NotNeeded));
    assert_eq!(asked.iter().filter(|asked| asked.starts_with(FIRST)).count(), 1, "nobody judges its age: {asked:?}");
    assert_eq!(now().to_rfc3339(), "2026-11-21T09:00:00+00:00", "the days above are measured by this");
}

#[tokio::test]
async fn names_are_looked_for_in_the_whole_list() {
    let next = r#","next_cursor":"two""#;
    let two = || with(with(paged(), FIRST, say(page("docs/a.md", 20, next))), FURTHER, say(page("docs/b.md", 2, "")));
    let part =
        || with(with(paged(), FIRST, say(page("docs/a.md", 20, next))), FURTHER, say(status("500 No", "", "no")));
    let strange = || with(paged(), FIRST, say(page("4417", 20, "")));
    let gone = || Some(vec!["gone".to_owned()]);
    let rows = [
        ("two pages, though the first one has a young source", two(), true, gone()),
        ("nobody asked for them", two(), false, None),
        ("a part of the list says nothing of the rest", part(), true, None),
        ("names that are not those of answers say nothing at all", strange(), true, None),
    ];
    for (sentence, script, source_names, expected) in rows {
        let server = FaultServer::start(script, None).await;
        let mut monitor = judged(monitor_of(&server, 1));
        let looks_for = |id: &str, source: &str| {
            let (id, expect) = (id.to_owned(), vec![source.to_owned()]);
            Canary { id, expect, ..monitor.canaries[0].clone() }
        };
        let negative = Canary { expect: Vec::new(), ..looks_for("none", "") };
        let all = [looks_for("first", "a.md"), looks_for("last", "docs/b.md"), looks_for("gone", "c.md"), negative];
        monitor.canaries = all.to_vec();
        let mut assignment = assignment(monitor);
        (assignment.source_pages, assignment.source_names) = (20, source_names);
        let (seen, _) = Prober::new(8).run(&assignment).await;
        assert_eq!(seen.unlisted, expected, "{sentence}: {seen:#?}");
    }
}
