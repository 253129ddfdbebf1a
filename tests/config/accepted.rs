//! What a file that is right becomes, where it was read and what its exit code says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use serin::cli::check::{CheckArgs, run};
use serin::cli::config_file::ConfigFile;
use serin::config::Loaded;
use serin::config::check::checker::Unset;
use serin::config::check::logging::{Format, Log};
use serin::config::load;
use serin::config::read::bytes::ReadError;
use serin::config::read::source::read;
use serin::domain::database_address::DatabaseAddress;
use serin::domain::latency::window::LatencyWindow;
use serin::domain::monitor::{CanaryKind, Caps, Monitor, MonitorId};
use serin::domain::network::Network;
use serin::domain::protocol::{Era, Transport};
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::receiver::{Channel, SmtpTls};
use serin::domain::rules::ContextRule;
use serin::domain::runbooks::RunbookWanted;
use serin::domain::signal::{Level, Signal};

use crate::{FULL, check, loaded, secrets, source, with_monitor, with_sections};

#[test]
fn bad_beats_are_counted_as_is_written_nearest() {
    let rows = [
        ("", "", (3, None), "three in a row, where nothing is written"),
        ("", "m_of_n: [3, 5]", (3, Some(5)), "three of five"),
        ("after: 4", "m_of_n: [2, 6]", (2, Some(6)), "a monitor's own goes before what all have"),
        ("m_of_n: [2, 6]", "after: 4", (4, None), "also where it is the row"),
        ("m_of_n: [2, 6]", "recover_after: 1", (2, Some(6)), "what all have holds where it says nothing of it"),
        ("", "m_of_n: [60, 60]", (60, Some(60)), "an hour at most"),
    ];
    for (shared, own, expected, sentence) in rows {
        let of = |rule: &str| format!("{{ rules: {{ availability: {{ {rule} }} }} }}");
        let text = format!(
            "version: 1\ndefaults: {}\nmonitors:\n- {{ id: a, url: \"http://a/\", rules: {{ availability: {{ {own} }} }} }}\n",
            of(shared)
        );
        let loaded =
            load(&source(text.into_bytes()), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
        let rule = &loaded.fleet.monitors[0].rules.availability;
        assert_eq!((rule.after, rule.of), expected, "{sentence}");
    }
}

#[test]
fn proxies_are_addresses_or_networks() {
    let text = with_sections("serin: { trusted_proxies: [127.0.0.1, 10.20.0.0/24, \"::1\"] }\n");
    let proxies: Vec<String> = loaded(&text).settings.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(proxies, ["127.0.0.1/32", "10.20.0.0/24", "::1/128"]);
}

#[test]
fn the_file_of_the_design_loads() {
    let Loaded { settings, fleet, warnings, lists } = loaded(FULL);
    assert!(lists.is_empty(), "nobody keeps one");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.database, Some(DatabaseAddress::File("serin.db".into())));
    assert_eq!(settings.token.map(|token| token.expose().to_owned()).as_deref(), Some("geheim-token"));
    assert_eq!(fleet.public_url, "https://serin.example.org");
    assert_eq!(fleet.internal, ["mail"]);
    assert_eq!(fleet.allow_private, [Network("10.20.0.0/16".to_owned())]);
    let smtp = fleet.smtp.as_ref().expect("it is declared");
    assert_eq!(
        (&*smtp.host, smtp.port, smtp.tls, &*smtp.from),
        ("smtp.example.org", 587, SmtpTls::StartTls, "serin@example.org")
    );
    assert_eq!(
        smtp.login.as_ref().map(|(user, secret)| (&**user, secret.expose())),
        Some(("serin", "geheim-password"))
    );
    let runbook = |reason| fleet.runbooks.url(RunbookWanted::of(reason), &fleet.public_url);
    assert_eq!(runbook(FailureReason::IndexEmptyOrStale), "https://runbooks.example.org/reindex");
    assert_eq!(runbook(FailureReason::Timeout), "https://runbooks.example.org/mcp#timeout");

    let oncall = fleet.receiver("oncall").expect("it is declared");
    let Channel::Webhook { url, secrets, .. } = &oncall.channel else { panic!("it is a webhook") };
    assert_eq!(
        (&*url.shown, url.resolved.expose()),
        ("${env:ONCALL_URL}", "https://hooks.example.org/geheim-path?key=geheim-key")
    );
    assert_eq!(secrets.iter().map(|secret| secret.expose()).collect::<Vec<_>>(), ["whsec_Z2VoZWlt"]);
    assert_eq!(oncall.line, 15);
    assert_eq!(fleet.routes.len(), 2);
    assert_eq!(fleet.routes[0].matches.severity, [Severity::Page]);
    assert_eq!(
        (&*fleet.routes[0].to, fleet.routes[0].fallback.as_deref(), fleet.routes[0].line),
        (&["oncall".to_owned()][..], Some("mail"), 18)
    );
    assert_eq!(fleet.provenance.file, "monitors.yaml");
    assert_eq!(fleet.provenance.hash.len(), 64);
    the_monitor_of_the_design(&fleet.monitors[0]);
}

fn the_monitor_of_the_design(docs: &Monitor) {
    assert_eq!((docs.id.as_str(), &*docs.name, docs.line), ("docs", "Product documentation", 21));
    assert_eq!(
        (&*docs.url.shown, docs.url.resolved.expose()),
        ("https://docs-rag.example.org/mcp", "https://docs-rag.example.org/mcp")
    );
    assert_eq!(docs.auth.bearer.as_ref().map(|bearer| bearer.expose()), Some("geheim-bearer"));
    assert_eq!(
        docs.labels,
        BTreeMap::from([("env".to_owned(), "prod".to_owned()), ("team".to_owned(), "docs".to_owned())])
    );
    assert_eq!(docs.health.len(), 2);
    let seconds = |seconds| Duration::from_secs(seconds);
    assert_eq!((docs.every, docs.timeout, docs.probe_budget), (seconds(60), seconds(10), seconds(45)));
    assert_eq!(docs.search.arguments, BTreeMap::from([("top_k".to_owned(), "5".to_owned())]));
    assert_eq!(
        (docs.search.tool.as_deref(), docs.search.results.as_deref(), docs.search.per_beat),
        (Some("search_documents"), Some("/results"), 2)
    );
    assert_eq!(docs.canaries.len(), 3);
    let [meaning, keyword, negative] = &docs.canaries[..] else { panic!("there are three") };
    assert_eq!((meaning.kind, meaning.within, meaning.line), (CanaryKind::Meaning, 5, 34));
    assert_eq!(
        (keyword.kind, keyword.within, &*keyword.expect),
        (CanaryKind::Keyword, 5, &["errors/4417.md".to_owned()][..])
    );
    assert_eq!((negative.kind, negative.max_score, negative.expect.len()), (CanaryKind::Negative, Some(0.3), 0));
    let rules = &docs.rules;
    assert_eq!(
        (rules.availability.after, rules.availability.page_after, rules.availability.line),
        (3, seconds(45), 38)
    );
    assert_eq!(
        (rules.access.page_after, rules.access.line),
        (Duration::ZERO, 21),
        "an unwritten rule stands on its monitor's line"
    );
    assert_eq!((rules.errors.share, rules.errors.window, rules.errors.min_bad), (0.05, seconds(1800), 3));
    assert_eq!(
        (rules.latency.p95, rules.latency.sustained, rules.latency.severity),
        (Duration::from_millis(800), seconds(1200), Severity::Ticket)
    );
    assert_eq!(rules.freshness.as_ref().map(|rule| rule.older_than), Some(seconds(72 * 3600)));
    assert_eq!((rules.contract.breaking, rules.contract.compatible), (Severity::Page, Severity::Notice));
    // 1,440 beats of opening 2, tools/list 1, searches 2, health 2, closing 1, and 24 source listings.
    assert_eq!(docs.calls_per_day(), 1_440 * 8 + 24);
}

#[test]
fn sources_may_be_forbidden_beside_what_is_expected_or_alone() {
    let of = |canary: &str| {
        let text = format!(
            "version: 1\nmonitors:\n  - id: docs\n    url: http://h/\n    canaries:\n      - {{ id: a, query: q, {canary} }}\n"
        );
        Arc::clone(&loaded(&text).fleet.monitors[0])
    };
    let rows = [
        ("forbid: [tenants/b/**, ./plan.md]", "no source of tenants/b/** or plan.md"),
        ("expect: [a.md], within: 3, forbid: [tenants/b/**]", "a.md within 3, no source of tenants/b/**"),
        ("kind: negative, forbid: ['b/*']", "nothing, no source of b/*"),
        ("contains: [copper], forbid: ['b/*']", "“copper”, no source of b/*"),
        // The end of a name that is expected may be that of a forbidden one, too: it is one of both for the server.
        ("expect: [plan.md], forbid: [b/plan.md]", "plan.md within 5, no source of b/plan.md"),
    ];
    let mut hashes = BTreeSet::new();
    for (written, expected) in rows {
        let monitor = of(written);
        let canary = &monitor.canaries[0];
        assert_eq!(canary.expected(), expected, "{written}");
        assert!(!canary.needs_no_list(&monitor.search), "{written}: a text names no source");
        hashes.insert(canary.definition_hash.clone());
    }
    assert_eq!(hashes.len(), rows.len());
    let hash = |written: &str| of(written).canaries[0].definition_hash.clone();
    assert_ne!(hash("expect: [a.md]"), hash("expect: [a.md], forbid: [b]"));
}

#[test]
fn a_question_may_have_other_words_in_either_kind_of_file() {
    let of = |canary: &str| {
        let text = format!(
            "version: 1\nmonitors:\n  - id: docs\n    url: http://h/\n    canaries:\n      - {{ id: a, query: q, expect: [a.md]{canary} }}\n"
        );
        Arc::clone(&loaded(&text).fleet.monitors[0])
    };
    let (none, two) = (of(""), of(", also: [how so, why then]"));
    assert_eq!(two.canaries[0].also, ["how so", "why then"]);
    assert_ne!(none.canaries[0].definition_hash, two.canaries[0].definition_hash, "it is declared otherwise");
    let asked = |monitor: &Monitor| serin::config::check::definition::asked(&monitor.search, &monitor.canaries[0]);
    assert_eq!(asked(&none), asked(&two), "and the question itself is pinned as it was");
    let golden = "{\"id\": \"a\", \"query\": \"q\", \"expect\": [\"a.md\"], \"also\": [\"how so\", \"why then\"]}\n";
    let by_file = "version: 1\nmonitors:\n  - { id: docs, url: \"http://h/\", canaries: { file: a.jsonl } }\n";
    let fleet = crate::included::loaded(&crate::included::with(by_file, &[("a.jsonl", golden)])).fleet;
    assert_eq!(fleet.monitors[0].canaries[0].definition_hash, two.canaries[0].definition_hash);
}

#[test]
fn questions_that_look_alike_are_paired() {
    let of = |pair: &str, of_other: &str| {
        let text = format!(
            "version: 1\nmonitors:\n  - id: docs\n    url: http://h/\n    canaries:\n      \
             - {{ id: on, query: how is it switched on, expect: [a.md]{pair} }}\n      \
             - {{ id: off, query: how is it switched off, expect: [a.md]{of_other} }}\n"
        );
        Arc::clone(&loaded(&text).fleet.monitors[0])
    };
    let pairs = |monitor: &Monitor| -> Vec<String> {
        monitor.near_misses.iter().map(|pair| format!("{} {}", pair.canary, pair.other)).collect()
    };
    let (bare, one) = (of("", ""), of(", pair: off", ""));
    assert_eq!((pairs(&bare), pairs(&one)), (vec![], vec!["on off".to_owned()]));
    assert_eq!(pairs(&of(", pair: off", ", pair: on")), ["on off"], "two that name each other are one pair");
    assert_ne!(bare.definition_hash, one.definition_hash);
    let hash = |monitor: &Monitor| monitor.canaries[0].definition_hash.clone();
    assert_eq!(hash(&bare), hash(&one), "it is asked and pinned as before");
}

#[test]
fn answers_are_read_where_the_file_says() {
    let text = "version: 1
monitors:
  - id: notes
    url: http://h/
    search:
      query: [/query_texts/0, title]
      columns: { source: /ids/0, content: /documents/0, score: /scores/0 }
      fields: { total: /count }
      error: '^Database error:'
      empty: No rows
    canaries:
      - { id: words, query: copper, contains: [boiler valve, { pattern: 'INV-\\d+' }], not_contains: [harbour] }
      - { id: none, query: zorvex, kind: negative }
";
    let loaded = loaded(text);
    let monitor = &loaded.fleet.monitors[0];
    let search = &monitor.search;
    assert_eq!(search.query, ["/query_texts/0", "/title"]);
    assert!(search.by_columns);
    let fields = [&search.fields.source, &search.fields.content, &search.fields.score, &search.fields.total];
    assert_eq!(
        fields.map(|field| field.as_deref()),
        [Some("/ids/0"), Some("/documents/0"), Some("/scores/0"), Some("/count")]
    );
    let [words, none] = &monitor.canaries[..] else { panic!("there are two") };
    assert_eq!(words.expected(), "“boiler valve” and /INV-\\d+/, without “harbour”");
    assert_eq!(none.expected(), "nothing");
    assert_eq!([words, none].map(|canary| canary.needs_no_list(search)), [true, true], "their texts are judged");
    let said = search.said.as_ref().expect("signs");
    let signs = [&said.error, &said.empty].map(|sign| sign.as_ref().map(|sign| sign.as_str()));
    assert_eq!(signs, [Some("^Database error:"), Some("No rows")]);
}

#[test]
fn words_that_the_question_holds_otherwise_are_no_echo() {
    let text = "version: 1
monitors:
  - id: notes
    url: http://h/
    canaries:
      - { id: words, query: guides to modern C, contains: [C++, modern guides, —] }
";
    let loaded = loaded(text);
    assert_eq!(loaded.fleet.monitors[0].canaries[0].expected(), "“C++” and “modern guides” and “—”");
}

#[test]
fn an_argument_is_sent_as_it_is_written() {
    let text = "version: 1
monitors:
  - id: docs
    url: http://h/
    search: { arguments: { lines: \"a\\nb\", none: \"\", nothing: null, padded: ' x ', yes: true, half: 0.5, '7': '7' } }
";
    let loaded = loaded(text);
    let arguments = &loaded.fleet.monitors[0].search.arguments;
    let seen: Vec<(&str, &str)> = arguments.iter().map(|(name, json)| (name.as_str(), json.as_str())).collect();
    let expected = [
        ("7", "\"7\""),
        ("half", "0.5"),
        ("lines", "\"a\\nb\""),
        ("none", "\"\""),
        ("nothing", "null"),
        ("padded", "\" x \""),
        ("yes", "true"),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn defaults_lie_beneath_a_monitors_own_words() {
    let text = "version: 1
defaults:
  every: 30s
  timeout: 20s
  search: { per_beat: 8, arguments: { top_k: 3 } }
  rules:
    latency: { p95: 1200ms, severity: page }
    quality: { within: 4 }
    health: { after: 5 }
monitors:
  - { id: plain, url: \"http://h/\" }
  - id: own
    url: http://h/
    every: 5m
    canaries: [{ id: a, query: q, expect: [s] }]
    rules:
      latency: { p95: 1s }
  - { id: quick, url: \"http://h/\", every: 2s }
";
    let fleet = loaded(text).fleet;
    let [plain, own, quick] = &fleet.monitors[..] else { panic!("there are three") };
    assert_eq!(
        (plain.every, plain.rules.latency.p95, plain.rules.latency.line),
        (Duration::from_secs(30), Duration::from_millis(1200), 7)
    );
    assert_eq!(
        (plain.search.per_beat, plain.rules.health.after),
        (0, 5),
        "no canaries, none asked; a rule in defaults is for those that have"
    );
    assert_eq!(
        (own.rules.latency.p95, own.rules.latency.severity, own.rules.latency.line),
        (Duration::from_secs(1), Severity::Page, 17)
    );
    assert_eq!((own.search.per_beat, own.canaries[0].within), (1, 3), "cut to what there is");
    assert_eq!(
        own.rules.latency.window,
        Duration::from_secs(30 * 300),
        "an unwritten window grows to hold its samples, and half as many again"
    );
    assert_eq!(own.rules.errors.window, Duration::from_secs(20 * 300));
    assert_eq!((quick.probe_budget, quick.timeout), (Duration::from_millis(1500), Duration::from_millis(1500)));
}

/// A monitor that asks so often, with further lines of its own.
fn asking(every: &str, canaries: usize, per_beat: u32, own: &str) -> String {
    let canary = |n| format!("      - {{ id: c{n}, query: q{n}, expect: [a.md] }}\n");
    let canaries: String = (0..canaries).map(canary).collect();
    format!(
        "version: 1\nmonitors:\n  - id: slow\n    url: https://a.example.org/mcp\n    every: {every}\n    \
         search: {{ per_beat: {per_beat} }}\n    canaries:\n{canaries}{own}"
    )
}

#[test]
fn a_latency_window_that_nobody_wrote_holds_half_as_many_samples_again() {
    const MINUTES: u64 = 60;
    let rows = [
        ("60s", 2, 2, 20 * MINUTES, "two a minute: the default is long enough"),
        ("60s", 1, 1, 30 * MINUTES, "one a minute"),
        ("5m", 1, 1, 150 * MINUTES, "one canary, slow beats"),
        ("10m", 8, 8, 40 * MINUTES, "eight at once: as many beats as bring thirty samples"),
        ("24h", 1, 1, 30 * 24 * 60 * MINUTES, "once a day"),
    ];
    for (every, canaries, per_beat, window, sentence) in rows {
        let found = loaded(&asking(every, canaries, per_beat, "")).fleet.monitors[0].rules.latency.window;
        assert_eq!(found, Duration::from_secs(window), "{sentence}");
    }
    let written = asking("5m", 1, 1, "    rules: { latency: { window: 3h } }\n");
    let found = loaded(&written).fleet.monitors[0].rules.latency.window;
    assert_eq!(found, Duration::from_secs(180 * MINUTES), "what is written is kept");
    let narrow = |more: &str| format!("    rules: {{ latency: {{ window: 20m }} }}\n{more}");
    let window = |yaml: &str| loaded(&asking("60s", 1, 1, yaml)).fleet.monitors[0].rules.latency.window;
    assert_eq!(window(&narrow("")), Duration::from_secs(25 * MINUTES), "one round in five is no sample of the index");
}

#[test]
fn a_slow_server_that_fails_now_and_then_is_seen_to_be_slow() {
    let fleet = loaded(&asking("5m", 1, 1, "")).fleet;
    let rule = &fleet.monitors[0].rules.latency;
    let mut window = LatencyWindow::default();
    let began = chrono::DateTime::UNIX_EPOCH;
    let levels: Vec<Level> = (0..200)
        .map(|beat| {
            // A beat starts up to some seconds late, and every fourth call fails, which says nothing of its duration.
            let now = began + chrono::TimeDelta::seconds(300 * beat + beat * 7 % 5);
            if beat % 4 != 0 {
                window.push(now, rule.p95 * 5, false);
            }
            window.trim(rule.window, now);
            window.reading(rule).level
        })
        .collect();
    assert!(levels[30..].iter().all(|level| *level == Level::Elevated), "{levels:?}");
}

/// What `serin check` prints of a file that is right.
fn said(yaml: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("monitors.yaml");
    std::fs::write(&path, yaml).expect("a file");
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    let ran = check.args(["check", "--config"]).arg(&path).args(more).output().expect("serin runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("it prints text")
}

#[test]
fn check_says_what_a_written_number_of_wrong_answers_costs() {
    let after = |after: &str| asking("60s", 8, 2, &format!("    rules: {{ quality: {{ after: {after} }} }}\n"));
    let rows = [
        (after("3"), Some("rules.quality.after: 3 costs 1.05 false pages a monitor-year "), "the default of before"),
        (after("4"), Some("rules.quality.after: 4 costs 0.0105 false pages "), "one more"),
        (after("9"), Some("rules.quality.after: 9 costs less than 0.0001 false pages "), "hardly any"),
        (after("auto"), None, "left to Serin"),
        (asking("60s", 8, 2, ""), None, "which is the default"),
    ];
    for (yaml, wanted, sentence) in rows {
        let printed = said(&yaml, &[]);
        let found = printed.lines().find(|line| line.contains("quality.after"));
        assert_eq!(found.is_some(), wanted.is_some(), "{sentence}: {printed}");
        assert!(wanted.is_none_or(|wanted| found.unwrap().contains(wanted)), "{sentence}: {printed}");
    }
    for (written, number) in [("4", serde_json::json!(4)), ("auto", serde_json::Value::Null)] {
        let body: serde_json::Value = serde_json::from_str(&said(&after(written), &["--json"])).unwrap();
        let one = &body["monitors"][0];
        assert_eq!((&one["quality_after"], one["false_pages_per_year"].is_f64()), (&number, number.is_number()));
    }
}

#[test]
fn check_says_how_long_a_derived_window_is() {
    let written = asking("5m", 1, 1, "    rules: { latency: { window: 3h } }\n");
    let rows = [
        (asking("5m", 1, 1, ""), Some("slow: P95 over 150m"), "derived from the rhythm"),
        (asking("60s", 2, 2, ""), Some("slow: P95 over 20m"), "the default, which is long enough"),
        (written.clone(), None, "written in the file: nothing to say"),
    ];
    for (yaml, wanted, sentence) in rows {
        let printed = said(&yaml, &[]);
        let found = printed.lines().find(|line| line.contains("P95 over"));
        assert_eq!(found.is_some(), wanted.is_some(), "{sentence}: {printed}");
        assert!(wanted.is_none_or(|wanted| found.unwrap().contains(wanted)), "{sentence}: {printed}");
    }
    for (yaml, derived) in [(asking("5m", 1, 1, ""), true), (written, false)] {
        let body: serde_json::Value = serde_json::from_str(&said(&yaml, &["--json"])).unwrap();
        let one = &body["monitors"][0];
        let length = if derived { 9_000_000 } else { 10_800_000 };
        assert_eq!((&one["latency_window_ms"], &one["latency_window_derived"]), (&length.into(), &derived.into()));
    }
}

#[test]
fn caps_are_read_and_a_narrow_one_is_said() {
    let text = "version: 1\ndefaults: { caps: { requests_per_day: 90000, bytes_per_day: 2GB } }\nmonitors:\n  \
                - { id: a, url: \"https://a.example/mcp\" }\n  \
                - { id: b, url: \"https://b.example/mcp\", caps: { requests_per_day: 960 } }\n";
    let loaded = loaded(text);
    let caps: Vec<_> = loaded.fleet.monitors.iter().map(|monitor| monitor.caps).collect();
    let cap = |requests| Caps { requests_per_day: Some(requests), bytes_per_day: Some(2_000_000_000) };
    assert_eq!(caps, [cap(90_000), cap(960)], "a monitor's own words lie above the defaults");
    let said: Vec<_> = loaded.warnings.iter().filter(|warning| warning.contains("requests_per_day")).collect();
    assert_eq!(said.len(), 1, "only where the rhythm does not fit: {said:?}");
    assert!(said[0].contains("less than its 5760 calls a day: beats come about every 6m"), "{said:?}");
}

#[test]
fn what_a_context_may_hold_is_read() {
    let text = "version: 1\ndefaults: { rules: { context: { tools_tokens: 20000, answer_tokens: 8000 } } }\nmonitors:\n  \
                - { id: a, url: \"https://a.example/mcp\" }\n  \
                - { id: b, url: \"https://b.example/mcp\", rules: { context: { tools_tokens: 900, severity: page } } }\n";
    let fleet = loaded(text).fleet;
    let limits = |rule: &ContextRule| (rule.tools_tokens, rule.answer_tokens, rule.severity);
    let found: Vec<_> = fleet.monitors.iter().filter_map(|one| one.rules.context.as_ref()).map(limits).collect();
    let expected = [(Some(20_000), Some(8_000), Severity::Ticket), (Some(900), Some(8_000), Severity::Page)];
    assert_eq!(found, expected, "a monitor's own words lie above the defaults");
}

#[test]
fn routes_match_by_everything() {
    let text = with_sections(
        "receivers: { x: { webhook: { url: \"http://h/\" } } }
routes:
  - { match: { severity: [page, ticket], signal: latency, reason: [cold_start], monitor: docs, labels: { team: a } }, to: [x] }
  - { to: [x] }
",
    );
    let loaded = loaded(&text);
    let matches = &loaded.fleet.routes[0].matches;
    assert_eq!(matches.severity, [Severity::Page, Severity::Ticket]);
    assert_eq!((&*matches.signal, &*matches.reason), (&[Signal::Latency][..], &[FailureReason::ColdStart][..]));
    assert_eq!(matches.monitor, ["docs"]);
    assert!(loaded.warnings[0].contains("no monitor carries the label 'team: a'"), "{:?}", loaded.warnings);
}

#[test]
fn anchors_and_merge_keys_work_and_keep_their_places() {
    let text = "version: 1
x-base: &base
  every: 30s
  rules: { latency: { p95: 300ms } }
monitors:
  - { id: a, url: \"http://a/\", <<: *base }
  - { <<: [*base], id: b, url: \"http://b/\", every: 60s }
";
    let fleet = loaded(text).fleet;
    let [a, b] = &fleet.monitors[..] else { panic!("there are two") };
    assert_eq!((a.every, b.every), (Duration::from_secs(30), Duration::from_secs(60)), "its own key wins");
    assert_eq!((a.rules.latency.line, b.rules.latency.line), (4, 4), "a rule stands where it is written");
    let many: String = (0..100).map(|at| format!("  - {{ id: m{at}, url: \"http://a/\", rules: *r }}\n")).collect();
    let text = format!("version: 1\nx-r: &r {{ latency: {{ p95: 1s }} }}\nmonitors:\n{many}");
    assert_eq!(loaded(&text).fleet.monitors.len(), 100, "one anchor may serve a hundred monitors");
}

#[test]
fn variables_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("token");
    std::fs::write(&secret, "geheim-file\n").unwrap();
    let text = with_monitor(&format!("auth: {{ bearer: \"${{file:{}}}\" }}", secret.display()));
    let bearer = loaded(&text).fleet.monitors[0].auth.bearer.clone();
    assert_eq!(
        bearer.map(|bearer| bearer.expose().to_owned()).as_deref(),
        Some("geheim-file"),
        "the line break at the end is no part of it"
    );

    let text = with_sections("serin: { listen: \"127.0.0.1:${env:NO_PORT:-9001}\" }\n")
        .replace("docs.example.org", "${env:NO_HOST:-localhost}");
    let with_defaults = loaded(&text);
    assert_eq!(with_defaults.settings.listen.port(), 9001);
    let url = &with_defaults.fleet.monitors[0].url;
    assert_eq!((&*url.shown, url.resolved.expose()), ("https://localhost/mcp", "https://localhost/mcp"));

    let text = with_monitor("auth: { bearer: \"${env:NO_TOKEN}\" }\nevery: \"${env:NO_EVERY}\"")
        .replace("docs.example.org", "${env:NO_HOST}");
    let expected = [
        "4:10 the variable NO_HOST is not set => set it, or write a default: `${env:NO_HOST:-…}`",
        "5:21 the variable NO_TOKEN is not set => set it, or write a default: `${env:NO_TOKEN:-…}`",
        "6:12 the variable NO_EVERY is not set => set it, or write a default: `${env:NO_EVERY:-…}`",
    ];
    check("refused where it will run", &text, &expected);
    let warned = load(&source(text), &secrets, Unset::Warn).expect("the rest is right");
    assert_eq!(warned.warnings.len(), 4, "and nobody is notified of anything");
    assert!(warned.warnings[1].starts_with("warning: the variable NO_HOST is not set\n --> monitors.yaml:4:10"));
    assert!(warned.fleet.monitors[0].auth.bearer.is_some(), "something stands in");

    check(
        "a file that is not there",
        &with_monitor("auth: { bearer: \"${file:/no/such/file}\" }"),
        &["5:21 the file '/no/such/file' cannot be read: entity not found => create it, readable for this user"],
    );
    check(
        "a reference of another kind",
        &with_monitor("every: \"${EVERY}\""),
        &[
            "5:12 'every' refers to something that cannot be understood => write `${env:NAME}`, `${env:NAME:-default}` or `${file:/path}`; `$${` for the characters themselves",
        ],
    );
}

#[test]
fn a_definition_hash_changes_exactly_when_something_does() {
    let hash = |text: &str| loaded(text).fleet.monitors[0].definition_hash.clone();
    let before = hash(FULL);
    assert_eq!(before, hash(&FULL.replace("receivers:\n", "\n\n# moved\nreceivers:\n")), "it only moved");
    assert_eq!(before, hash(&FULL.replace("sre@example.org", "ops@example.org")), "another section");
    for (from, to, sentence) in [
        ("800ms", "900ms", "a rule"),
        ("ERR-4417", "ERR-4418", "a canary"),
        ("team: docs", "team: web", "a label"),
        ("top_k: 5", "top_k: 6", "an argument"),
        ("${env:DOCS_TOKEN}", "${env:SERIN_TOKEN}", "the credential"),
    ] {
        assert_ne!(before, hash(&FULL.replace(from, to)), "{sentence}");
    }
    let receivers = |text: &str| loaded(text).fleet.receivers[0].definition_hash.clone();
    assert_ne!(
        receivers(FULL),
        receivers(&FULL.replace("${env:ONCALL_SECRET}", "${env:DOCS_TOKEN}")),
        "a rotated secret"
    );
}

#[test]
fn the_demos_file_is_right_as_it_stands() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("monitors.yaml");
    let source = read(&path).expect("it is there");
    for strictness in [Unset::Warn, Unset::Refuse] {
        let loaded = load(&source, &|_| None, strictness).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(loaded.warnings, Vec::<String>::new());
        assert_eq!(loaded.fleet.monitors.len(), 4);
    }
    let port = |name: &str| (name == "SERIN_DEMO_DOCS_PORT").then(|| "4711".to_owned());
    let loaded = load(&source, &port, Unset::Refuse).expect("it is right with another port too");
    assert_eq!(loaded.fleet.monitors[0].url.resolved.expose(), "http://127.0.0.1:4711/mcp");
}

#[test]
fn the_examples_are_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (folder, least) in [("examples", 2), ("examples/enterprise", 1), ("examples/servers", 7)] {
        let mut seen = 0;
        for entry in std::fs::read_dir(root.join(folder)).expect("there are examples") {
            let path = entry.expect("it can be listed").path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let source = read(&path).expect("it can be read");
                let loaded = load(&source, &|_| None, Unset::Warn);
                let loaded = loaded.unwrap_or_else(|faults| panic!("{}:\n{faults}", path.display()));
                let canaried = loaded.fleet.monitors.iter().any(|monitor| !monitor.canaries.is_empty());
                assert!(canaried, "{} shows how a search is judged", path.display());
                seen += 1;
            }
        }
        assert!(seen >= least, "the documentation names those of {folder}: {seen} were found");
    }
}

#[test]
fn the_commit_comes_from_the_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("monitors.yaml");
    std::fs::write(&path, FULL).unwrap();
    assert_eq!(read(&path).unwrap().commit, std::env::var("SERIN_COMMIT").ok(), "outside git");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").arg("-C").arg(folder.path()).args(identity).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let first = git(&["rev-parse", "HEAD"]);
    assert_eq!(read(&path).unwrap().commit, Some(format!("{first}-dirty")), "not committed yet");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "second"]);
    let second = git(&["rev-parse", "HEAD"]);
    assert_eq!(read(&path).unwrap().commit.as_deref(), Some(&*second), "committed");
    std::fs::write(&path, format!("{FULL}# edited\n")).unwrap();
    assert_eq!(read(&path).unwrap().commit, Some(format!("{second}-dirty")), "edited since");
}

#[test]
fn a_file_that_is_not_there_says_so() {
    let error = read(Path::new("/no/such/monitors.yaml")).expect_err("there is none");
    assert!(matches!(&error, ReadError::Unreadable { path, .. } if path == "/no/such/monitors.yaml"), "{error}");
}

fn named(path: std::path::PathBuf) -> ConfigFile {
    ConfigFile { file: Some(path), config: None }
}

#[tokio::test]
async fn the_exit_code_tells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("monitors.yaml");
    let code = async |text: &str, env: bool, links: bool| {
        std::fs::write(&path, text).unwrap();
        let ended = run(CheckArgs { config: named(path.clone()), env, links, json: false }).await;
        format!("{:?}", ended.unwrap())
    };
    let (right, wrong) = (format!("{:?}", ExitCode::SUCCESS), format!("{:?}", ExitCode::FAILURE));
    let unset = with_monitor("auth: { bearer: \"${env:SERIN_TEST_NEVER_SET}\" }");
    assert_eq!(code(&with_monitor(""), true, false).await, right);
    assert_eq!(code(&with_monitor("evry: 1s"), false, false).await, wrong);
    assert_eq!(code(&unset, false, false).await, right, "a warning only");
    assert_eq!(code(&unset, true, false).await, wrong);
    let gone = CheckArgs { config: named(folder.path().join("gone.yaml")), env: false, links: false, json: true };
    assert_eq!(format!("{:?}", run(gone).await.unwrap()), wrong);
    // Port 9 of this machine is the one where nothing ever is.
    let dead = |key: &str| {
        let runbooks = format!("runbooks: {{ {key}: \"http://127.0.0.1:9/{{reason}}\" }}\n");
        with_sections(&format!("serin: {{ allow_private: [127.0.0.0/8] }}\n{runbooks}"))
    };
    assert_eq!(code(&with_sections(""), true, true).await, right, "Serin's own pages are not fetched");
    assert_eq!(code(&dead("timeout"), true, false).await, right, "nothing is fetched unasked");
    assert_eq!(code(&dead("timeout"), true, true).await, wrong, "whoever is paged finds nothing");
    assert_eq!(code(&dead("latency_elevated"), true, true).await, right, "a ticket is only warned of");
}

#[test]
fn an_unwritten_limit_stays_below_what_a_call_may_take() {
    let fleet = loaded("version: 1\ndefaults: { every: 1s }\nmonitors: [{ id: a, url: \"http://a/\" }]\n").fleet;
    let monitor = &fleet.monitors[0];
    assert_eq!(monitor.timeout, Duration::from_millis(750), "¾ of every");
    assert!(monitor.rules.latency.p95 < monitor.timeout, "else it would never be exceeded");
}

#[test]
fn a_byte_order_mark_and_carriage_returns_change_nothing() {
    let plain = loaded(FULL).fleet;
    let windows = loaded(&format!("\u{feff}{}", FULL.replace('\n', "\r\n"))).fleet;
    assert_eq!(plain.monitors, windows.monitors);
    assert_eq!(plain.receivers, windows.receivers);
}

#[test]
fn a_control_address_says_how_its_own_answer_is_known() {
    let plain = "a gateway or a sign-in page that answers in this control address's place";
    // The item, what is read, whether it is warned of, and why.
    let rows = [
        ("https://a.example.org/", (None, None), false, "the certificate says who answers"),
        ("\"${env:ONCALL_URL}\"", (None, None), false, "an address from outside the file"),
        ("http://a.example.org/", (None, None), true, "anybody can answer in the clear"),
        ("{ url: \"http://a.example.org/\" }", (None, None), true, "the long form alone says nothing more"),
        ("{ url: \"http://a.example.org/\", status: 204 }", (Some(204), None), false, "a status of its own"),
        (
            "{ url: \"http://a.example.org/\", contains: all well }",
            (None, Some("all well")),
            false,
            "a text of its own",
        ),
        (
            "{ url: https://a.example.org/, status: 200, contains: all well }",
            (Some(200), Some("all well")),
            false,
            "all of it",
        ),
    ];
    for (item, (status, contains), warned, sentence) in rows {
        let Loaded { fleet, warnings, .. } = loaded(&with_sections(&format!("serin:\n  control:\n    - {item}\n")));
        let [control] = &fleet.control[..] else { panic!("{sentence}: {:?}", fleet.control) };
        assert_eq!((control.status, control.contains.as_deref()), (status, contains), "{sentence}");
        let found = warnings.iter().find(|said| said.contains(plain));
        assert_eq!(found.is_some(), warned, "{sentence}: {warnings:?}");
        for part in ["monitors.yaml:5:7", "`{ url: …, status: 204 }`"] {
            assert!(found.is_none_or(|said| said.contains(part)), "{sentence}: {warnings:?}");
        }
    }
}

#[test]
fn a_heartbeat_and_what_is_logged_are_read() {
    let file = with_sections(
        "serin:\n  heartbeat: { url: \"${env:ONCALL_URL}\", every: 30s, method: post }\n  \
         log: { level: warn, format: json, modules: { probe: debug, store: off } }\n",
    );
    let Loaded { settings, fleet, .. } = loaded(&file);
    let heartbeat = fleet.heartbeat.expect("it is declared");
    assert_eq!((heartbeat.every, heartbeat.post), (Duration::from_secs(30), true));
    assert_eq!(heartbeat.url.shown, "${env:ONCALL_URL}");
    assert!(!format!("{heartbeat:?}").contains("geheim"), "whoever knows the address can pretend to be us");
    let rooms = ["probe=debug", "tool_lists=debug", "untrusted_text=debug", "store=off", "live=off"];
    let rooms: String = rooms.iter().map(|room| format!(",serin::{room}")).collect();
    assert_eq!(settings.log.directives(), format!("warn,serin=warn{rooms}"));
    assert_eq!(settings.log.format, Some(Format::Json));

    let file = with_sections("serin: { heartbeat: { url: \"https://watch.example.org/b\" } }\n");
    let Loaded { settings, fleet, .. } = loaded(&file);
    let heartbeat = fleet.heartbeat.expect("it is declared");
    assert_eq!((heartbeat.every, heartbeat.post), (Duration::from_secs(60), false), "the defaults");
    assert_eq!(settings.log, Log::default(), "nothing said, nothing changed");
    assert_eq!(loaded(&with_sections("")).fleet.heartbeat, None);
}

#[test]
fn a_server_may_be_a_program() {
    let text = with_monitor(
        "args: [-y, \"serve it\", \"--key=${env:DOCS_TOKEN}\"]\nenv: { MODE: test, API_TOKEN: \"${env:DOCS_TOKEN}\" }\nkeep: true\ncross_check: true",
    )
    .replace("url: https://docs.example.org/mcp", "command: npx");
    let monitor = Arc::clone(&loaded(&text).fleet.monitors[0]);
    let program = monitor.reach.program.as_ref().expect("it is one");
    assert_eq!(monitor.url.shown, "stdio: npx -y \"serve it\" --key=${env:DOCS_TOKEN}", "arguments as written");
    assert_eq!((&*program.command, program.keep, monitor.reach.transport), ("npx", true, Some(Transport::Stdio)));
    assert!(monitor.reach.cross_check);
    let args: Vec<&str> = program.args.iter().map(|argument| argument.expose()).collect();
    assert_eq!(args, ["-y", "serve it", "--key=geheim-bearer"], "and given resolved");
    let env: Vec<(&str, &str)> = program.env.iter().map(|(name, value)| (&**name, value.expose())).collect();
    assert_eq!(env, [("MODE", "test"), ("API_TOKEN", "geheim-bearer")]);
    assert!(!format!("{monitor:?}").contains("geheim"), "nothing of it is shown");
}

#[test]
fn era_and_transport_may_be_fixed() {
    let of = |text: &str| loaded(text).fleet.monitors[0].reach.clone();
    let free = of(&with_monitor("every: 60s"));
    assert_eq!((free.transport, free.era, free.cross_check), (None, None, false));
    let fixed = of(&with_monitor("transport: sse\nera: legacy"));
    assert_eq!((fixed.transport, fixed.era), (Some(Transport::Sse), Some(Era::Legacy)));
    let shared = of(&with_sections("defaults: { era: modern, cross_check: true }\n"));
    assert_eq!((shared.era, shared.cross_check), (Some(Era::Modern), false), "one era needs no comparison");
}

#[test]
fn runbooks_are_found_by_monitor_label_and_layer() {
    let text = "version: 1
serin: { public_url: https://serin.example.org }
runbooks:
  labels: { env: { prod: \"https://r/prod\" }, team: { docs: \"https://r/docs#{incident}\" } }
  layers: { retrieval: \"https://r/retrieval?{monitor}\" }
receivers: { mail: { webhook: { url: \"https://h/\" } } }
routes: [{ to: [mail] }]
monitors:
  - { id: docs, url: \"https://a/mcp\", labels: { team: docs } }
  - { id: wiki, url: \"https://b/mcp\", labels: { team: docs }, runbooks: { timeout: \"https://r/{monitor}/{reason}\" } }
  - { id: shop, url: \"https://c/mcp\" }
";
    let fleet = loaded(text).fleet;
    let runbook = |monitor, reason| fleet.runbook_url(reason, &MonitorId::new(monitor), Some("i1"), "");
    let rows = [
        ("wiki", FailureReason::Timeout, "https://r/wiki/timeout", "the monitor's own"),
        ("wiki", FailureReason::EmptyResults, "https://r/docs#i1", "its label's, where it has none"),
        ("docs", FailureReason::Timeout, "https://r/docs#i1", "the label it carries"),
        ("shop", FailureReason::EmptyResults, "https://r/retrieval?shop", "the layer's"),
        ("gone", FailureReason::EmptyResults, "https://r/retrieval?gone", "also where it is not declared any more"),
        ("shop", FailureReason::Timeout, "/runbooks/timeout", "and else Serin's"),
    ];
    for (monitor, reason, expected, sentence) in rows {
        assert_eq!(runbook(monitor, reason), expected, "{sentence}");
    }
}
