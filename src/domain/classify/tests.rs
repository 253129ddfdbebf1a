use super::*;
use crate::domain::answer::{Answer, Hit, Turn, Variant};
use crate::domain::monitor::{Canary, MonitorId};
use crate::domain::observation::{BeatKind, Phases, Step, Stranger, ToolsSeen};
use crate::domain::rules::{FreshnessRule, ShrinksRule};
use crate::domain::secret::{Address, Secret};
use crate::domain::source_pattern::SourcePattern;
use crate::domain::sources::{SourcesLeft, SourcesSeen};
use chrono::{DateTime, Utc};
use std::time::Duration;

#[test]
fn a_fault_means_one_thing_at_each_stage() {
    use FailureReason as R;
    use FaultKind as F;
    const EARLY: [Stage; 3] = [Stage::Connect, Stage::Handshake, Stage::Tools];
    let throttled = F::RateLimited { retry_after_seconds: Some(3) };
    // What it means before a search and the signal there, then at a search.
    let rows = [
        (F::NameNotResolved, R::DnsFailure, Signal::Availability, R::DnsFailure, Signal::Errors),
        (F::Refused, R::ConnectionRefused, Signal::Availability, R::ConnectionRefused, Signal::Errors),
        (F::ConnectTimeout, R::ConnectTimeout, Signal::Availability, R::ConnectTimeout, Signal::Errors),
        (F::Reset, R::NetworkError, Signal::Availability, R::NetworkError, Signal::Errors),
        (F::Unreachable, R::NetworkError, Signal::Availability, R::NetworkError, Signal::Errors),
        (F::Guarded, R::NetworkError, Signal::Availability, R::NetworkError, Signal::Errors),
        (F::ClosedEarly, R::NetworkError, Signal::Availability, R::NetworkError, Signal::Errors),
        (F::BodyTruncated, R::NetworkError, Signal::Availability, R::NetworkError, Signal::Errors),
        (F::TlsUntrusted, R::TlsFailure, Signal::Availability, R::TlsFailure, Signal::Errors),
        (F::TlsWrongName, R::TlsFailure, Signal::Availability, R::TlsFailure, Signal::Errors),
        (F::TlsExpired, R::TlsFailure, Signal::Availability, R::TlsFailure, Signal::Errors),
        (F::TlsFailed, R::TlsFailure, Signal::Availability, R::TlsFailure, Signal::Errors),
        (F::Silent, R::Timeout, Signal::Availability, R::Timeout, Signal::Errors),
        (F::SlowHead, R::Timeout, Signal::Availability, R::Timeout, Signal::Errors),
        (F::SlowBody, R::Timeout, Signal::Availability, R::Timeout, Signal::Errors),
        (F::StreamWithoutAnswer, R::Timeout, Signal::Availability, R::Timeout, Signal::Errors),
        (F::TooLarge, R::ResponseTooLarge, Signal::Availability, R::ResponseTooLarge, Signal::Errors),
        (F::AuthRequired, R::AuthRequired, Signal::Access, R::AuthRequired, Signal::Access),
        (F::AuthRejected, R::AuthRejected, Signal::Access, R::AuthRejected, Signal::Access),
        (F::IssuerFailed, R::ExternalApiFailure, Signal::Access, R::ExternalApiFailure, Signal::Access),
        (throttled, R::RateLimited, Signal::Errors, R::RateLimited, Signal::Errors),
        (F::HttpStatus(503), R::HttpError, Signal::Availability, R::HttpError, Signal::Errors),
        (F::Redirected(302), R::Redirected, Signal::Availability, R::Redirected, Signal::Errors),
        (F::ForeignEndpoint, R::Redirected, Signal::Availability, R::Redirected, Signal::Errors),
        (F::ProgramNotStarted, R::ConnectionRefused, Signal::Availability, R::ConnectionRefused, Signal::Errors),
        (F::ProgramEnded, R::ConnectionRefused, Signal::Availability, R::ConnectionRefused, Signal::Errors),
        (F::NotHttp, R::NotMcp, Signal::Availability, R::NotMcp, Signal::Errors),
        (F::Html, R::NotMcp, Signal::Availability, R::NotMcp, Signal::Errors),
        (F::EmptyBody, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::BadCoding, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::NotJson, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::NotJsonRpc, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::WrongId, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::BadResult, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::StreamEnded, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::StreamGarbage, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::CursorLoop, R::ProtocolError, Signal::Availability, R::ProtocolError, Signal::Errors),
        (F::WrongVersion, R::VersionUnsupported, Signal::Availability, R::VersionUnsupported, Signal::Errors),
        (F::RpcError(-32603), R::ProtocolError, Signal::Availability, R::ToolError, Signal::Errors),
        (F::ToolError, R::ToolError, Signal::Availability, R::ToolError, Signal::Errors),
        (F::SessionLost, R::SessionLost, Signal::Availability, R::SessionLost, Signal::Errors),
        (F::ToolAbsent, R::ToolMissing, Signal::Contract, R::ToolMissing, Signal::Contract),
        (F::ArgumentsInvalid, R::SchemaDrift, Signal::Contract, R::SchemaDrift, Signal::Contract),
        (F::AnswerUnreadable, R::ResultMalformed, Signal::Quality, R::ResultMalformed, Signal::Quality),
    ];
    for (kind, early, early_signal, at_search, search_signal) in rows {
        for stage in EARLY {
            assert_eq!(reason_of(stage, kind), (early, early_signal), "{kind:?} at {stage:?}");
        }
        assert_eq!(reason_of(Stage::Search, kind), (at_search, search_signal), "{kind:?} at a search");
        if early_signal != Signal::Access {
            let health = reason_of(Stage::Health, kind);
            assert_eq!(health, (R::Unhealthy, Signal::Health), "{kind:?} at a health address");
        }
    }
    assert_eq!(reason_of(Stage::Handshake, F::WrongContentType).0, R::NotMcp, "text instead of a handshake");
    assert_eq!(reason_of(Stage::Search, F::WrongContentType).0, R::ProtocolError, "text from a server that speaks MCP");
}

#[test]
fn nobody_answering_may_be_our_own_network() {
    let rows = [
        ("http://far.example/mcp", FaultKind::NameNotResolved, true, "a name that is not found"),
        ("http://far.example/mcp", FaultKind::Silent, true, "no answer"),
        ("http://far.example/mcp", FaultKind::Refused, false, "whoever refuses was reached"),
        ("http://127.0.0.1/mcp", FaultKind::Silent, false, "no network lies between"),
        ("http://127.0.0.1/mcp", FaultKind::IssuerFailed, true, "the issuer of our token is elsewhere"),
    ];
    for (url, kind, expected, sentence) in rows {
        let address = Address { shown: url.to_owned(), resolved: Secret::new(url) };
        let mut seen = empty();
        seen.steps.push(failed(Stage::Handshake, kind));
        assert_eq!(may_be_ours(&Monitor::undeclared("docs", address), &seen), expected, "{sentence}");
    }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn monitor() -> Monitor {
    let url = Address { shown: "http://docs/mcp".to_owned(), resolved: Secret::new("") };
    let mut monitor = Monitor::undeclared("docs", url);
    monitor.canaries = vec![Canary {
        id: "a".to_owned(),
        query: "q".to_owned(),
        kind: CanaryKind::Mixed,
        expect: vec!["a.md".to_owned()],
        within: 3,
        max_score: None,
        text: None,
        forbid: Vec::new(),
        also: Vec::new(),
        line: 1,
        definition_hash: String::new(),
    }];
    let older_than = Duration::from_secs(3600);
    monitor.rules.freshness =
        Some(FreshnessRule { older_than, shrinks: ShrinksRule::STANDARD, severity: Severity::Ticket, line: 1 });
    monitor
}

/// Everything answered, the one canary with nothing at all.
fn empty() -> Observation {
    Observation {
        asks: vec![ask(Ok(Answer::default()))],
        ..Observation::blank(MonitorId::new("docs"), BeatKind::Scheduled, now(), now())
    }
}

fn ask(result: Result<Answer, Fault>) -> Ask {
    Ask {
        canary: "a".to_owned(),
        variant: Variant::Plain,
        turn: Turn::Scheduled,
        elapsed: Duration::ZERO,
        fresh_connection: false,
        result: Some(result),
    }
}

fn fault(kind: FaultKind) -> Fault {
    Fault { kind, detail: "as seen".to_owned() }
}

fn failed(stage: Stage, kind: FaultKind) -> Step {
    Step {
        stage,
        label: String::new(),
        elapsed: Duration::ZERO,
        phases: Phases::default(),
        fresh_connection: true,
        fault: Some(fault(kind)),
        notes: Vec::new(),
    }
}

fn bad_health(reason: Option<&str>) -> HealthSeen {
    HealthSeen {
        address: "http://docs/health".to_owned(),
        status: Some(503),
        ok: false,
        reason: reason.map(str::to_owned),
        cache_warm: None,
        instance: None,
        process_started_at: None,
        version: None,
        fault: None,
    }
}

fn check(sentence: &str, edit: impl Fn(&mut Observation), verdict: Verdict, reasons: &[&str]) {
    let mut seen = empty();
    edit(&mut seen);
    let outcome = classify(&monitor(), &seen);
    let found: Vec<&str> = outcome.findings.iter().map(|finding| finding.reason.slug()).collect();
    assert_eq!((outcome.verdict, found.as_slice()), (verdict, reasons), "{sentence}");
}

#[test]
fn the_cause_stands_before_the_symptom() {
    check("nothing asked, nothing wrong", |seen| seen.asks.clear(), Verdict::Good, &[]);
    check("an empty answer alone", |_| {}, Verdict::Degraded, &["empty_results"]);
    check(
        "a cause the server names stands before the symptom",
        |seen| seen.health.push(bad_health(Some("pool_saturated"))),
        Verdict::Degraded,
        &["pool_saturated", "empty_results"],
    );
    check(
        "a word outside the list stands behind it",
        |seen| seen.health.push(bad_health(Some("disk on fire"))),
        Verdict::Degraded,
        &["empty_results", "unhealthy"],
    );
    check(
        "what it says of its answers is taken as such, and stands behind what canaries saw",
        |seen| seen.health.push(bad_health(Some("wrong_results"))),
        Verdict::Degraded,
        &["empty_results", "wrong_results"],
    );
    check(
        "a server cannot name a reason that is ours to give",
        |seen| seen.health.push(bad_health(Some("connection_refused"))),
        Verdict::Degraded,
        &["empty_results", "unhealthy"],
    );
    check(
        "of two addresses the one that names a cause is heard",
        |seen| seen.health = vec![bad_health(None), bad_health(Some("vector_store_unreachable"))],
        Verdict::Degraded,
        &["vector_store_unreachable", "empty_results"],
    );
    check(
        "a transport fault wins over what health says",
        |seen| {
            seen.asks.clear();
            seen.steps.push(failed(Stage::Connect, FaultKind::Refused));
            seen.health.push(bad_health(Some("pool_saturated")));
        },
        Verdict::Down,
        &["connection_refused"],
    );
    check(
        "where we ran out of files, nothing is said, at whichever step that was",
        |seen| {
            seen.steps.push(failed(Stage::Health, FaultKind::OutOfFiles));
            seen.health.push(bad_health(Some("pool_saturated")));
        },
        Verdict::Unknown,
        &["monitor_internal"],
    );
    check(
        "nor where it was a search",
        |seen| seen.asks = vec![ask(Err(fault(FaultKind::OutOfFiles)))],
        Verdict::Unknown,
        &["monitor_internal"],
    );
    check(
        "where we stood still, nothing is said, whatever it looked like",
        |seen| {
            seen.steps.push(failed(Stage::Handshake, FaultKind::Silent));
            seen.steps.push(failed(Stage::Connect, FaultKind::StoodStill));
        },
        Verdict::Unknown,
        &["monitor_internal"],
    );
    check(
        "credentials win over everything",
        |seen| {
            seen.asks.clear();
            seen.steps.push(failed(Stage::Handshake, FaultKind::AuthRejected));
            seen.health.push(bad_health(Some("pool_saturated")));
        },
        Verdict::Down,
        &["auth_rejected"],
    );
    check(
        "a credential refused at the search is told once",
        |seen| {
            seen.steps.push(failed(Stage::Search, FaultKind::AuthRejected));
            seen.asks = vec![ask(Err(fault(FaultKind::AuthRejected)))];
        },
        Verdict::Down,
        &["auth_rejected"],
    );
    check(
        "a 429 is an answer, and costs no uptime",
        |seen| {
            seen.asks.clear();
            seen.steps.push(failed(Stage::Handshake, FaultKind::RateLimited { retry_after_seconds: None }));
        },
        Verdict::Degraded,
        &["rate_limited"],
    );
    check(
        "a failed search is no matter of quality",
        |seen| seen.asks = vec![ask(Err(fault(FaultKind::ToolError)))],
        Verdict::Degraded,
        &["tool_error"],
    );
    check(
        "an unreadable answer is",
        |seen| seen.asks = vec![ask(Err(fault(FaultKind::AnswerUnreadable)))],
        Verdict::Degraded,
        &["result_malformed"],
    );
    check(
        "a search tool that is gone is a matter of the contract, and the server is there",
        |seen| {
            seen.asks.clear();
            seen.steps.push(failed(Stage::Tools, FaultKind::ToolAbsent));
        },
        Verdict::Degraded,
        &["tool_missing"],
    );
    check(
        "a declared call that no longer fits is, too",
        |seen| {
            let invalid_call = Some("query is no longer a text".to_owned());
            seen.tools = Some(ToolsSeen { invalid_call, ..ToolsSeen::default() });
            seen.asks.clear();
        },
        Verdict::Degraded,
        &["schema_drift"],
    );
    let sources = |age: i64| {
        move |seen: &mut Observation| {
            seen.asks.clear();
            let last_indexed_at = Some(now() - chrono::Duration::seconds(age));
            seen.sources = Some(SourcesSeen { count: 1, last_indexed_at, ..SourcesSeen::default() });
        }
    };
    check("an index just young enough", sources(3600), Verdict::Good, &[]);
    check("an index too old", sources(3601), Verdict::Degraded, &["source_stale"]);
    check("an index from the future is a clock that differs", sources(-60), Verdict::Good, &[]);
    let in_part = |newest_said: bool| {
        move |seen: &mut Observation| {
            sources(3601)(seen);
            let known = seen.sources.take().unwrap();
            seen.sources = Some(SourcesSeen { newest_said, left: Some(SourcesLeft::Failed), ..known });
        }
    };
    check("all that was read is too old, and not all was read", in_part(false), Verdict::Good, &[]);
    check("but the server says that the newest is", in_part(true), Verdict::Degraded, &["source_stale"]);
}

#[test]
fn a_forbidden_source_is_a_matter_of_access_beside_all_others() {
    let hit = |source: &str| Hit { source: source.to_owned(), score: None, chars: 1, excerpt: String::new() };
    let list = |sources: &[&str]| {
        vec![ask(Ok(Answer { hits: sources.iter().map(|source| hit(source)).collect(), ..Answer::default() }))]
    };
    let leak = || list(&["a.md", "tenants/b/x.md"]);
    let refused = || ask(Err(fault(FaultKind::AuthRejected)));
    // Whether a source is expected as well, what canaries got, how a stranger was received, and what is found.
    type Row<'a> = (&'a str, bool, Vec<Ask>, Option<Stranger>, &'a [&'a str]);
    let rows: Vec<Row<'_>> = vec![
        ("nothing forbidden in it", true, list(&["a.md", "tenants/a/x.md"]), None, &[]),
        ("the right answer, and a forbidden one", true, leak(), None, &["tenant_leak"]),
        ("a forbidden one alone", true, list(&["tenants/b/x.md"]), None, &["tenant_leak", "wrong_results"]),
        ("where nothing else is expected", false, list(&["tenants/b/x.md"]), None, &["tenant_leak"]),
        ("nothing at all where nothing is expected", false, list(&[]), None, &[]),
        ("results that name no source", false, list(&["", ""]), None, &["result_malformed"]),
        ("a stranger is let in as well", true, leak(), Some(Stranger::Admitted(String::new())), &["acl_leak"]),
        ("a refusal in the same beat", true, [leak(), vec![refused()]].concat(), None, &["auth_rejected"]),
    ];
    for (sentence, expects, asks, stranger, expected) in rows {
        let mut monitor = monitor();
        let canary = &mut monitor.canaries[0];
        canary.forbid = vec![SourcePattern::new("tenants/b/**").unwrap()];
        canary.expect.retain(|_| expects);
        let mut seen = empty();
        (seen.asks, seen.stranger) = (asks, stranger);
        if expected == ["auth_rejected"] {
            seen.steps.push(failed(Stage::Search, FaultKind::AuthRejected));
        }
        let outcome = classify(&monitor, &seen);
        let found: Vec<&str> = outcome.findings.iter().map(|finding| finding.reason.slug()).collect();
        assert_eq!(found, expected, "{sentence}");
    }
}

#[test]
fn a_question_about_nothing_counts_unless_others_lost_what_they_should_find() {
    let kinds = [("a", CanaryKind::Mixed), ("b", CanaryKind::Mixed), ("none", CanaryKind::Negative)];
    let mut monitor = monitor();
    let like = monitor.canaries[0].clone();
    monitor.canaries = kinds.map(|(id, kind)| Canary { id: id.to_owned(), kind, ..like.clone() }).to_vec();
    let hit = Hit { source: "a.md".to_owned(), score: None, chars: 1, excerpt: String::new() };
    // Whether each canary finds something.
    let rows = [
        ([false, false, false], "2 of 2 canaries asked were wrong", "all is gone"),
        ([true, false, false], "1 of 2 canaries asked was wrong", "some is gone"),
        ([true, true, true], "1 of 3 canaries asked was wrong", "the question about nothing finds something"),
        ([false, true, true], "2 of 3 canaries asked were wrong", "that, and some is gone"),
    ];
    for (finds, expected, sentence) in rows {
        let answer = |finds: bool| Answer { hits: vec![hit.clone(); usize::from(finds)], ..Answer::default() };
        let asked =
            |((id, _), finds): (&(&str, CanaryKind), bool)| Ask { canary: (*id).to_owned(), ..ask(Ok(answer(finds))) };
        let seen = Observation { asks: kinds.iter().zip(finds).map(asked).collect(), ..empty() };
        assert_eq!(classify(&monitor, &seen).findings[0].summary, expected, "{sentence}");
    }
}
