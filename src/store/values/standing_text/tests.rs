use super::*;
use crate::domain::quality::ranking::Ranking;
use crate::domain::quality::replicas::{OriginalList, OriginalStand};
use crate::domain::tools::{Instruction, KnownCalls};
use crate::live::published::SlimTools;

fn at(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(1_800_000_000_000_000 + micros).unwrap()
}

fn published(signals: Vec<SignalView>, hold: Option<Hold>) -> SlimStanding {
    let list = OriginalList {
        definition_hash: "c3".to_owned(),
        at: at(11),
        ranking: Ranking::of(["refunds.md", "fees.md"].into_iter()),
        names: vec!["refunds.md".to_owned(), "fees.md".to_owned()],
    };
    SlimStanding {
        id: MonitorId::new("docs"),
        node: "n1".to_owned(),
        roll_up: RollUp::Degraded,
        since: at(1),
        signals,
        as_original: Some(OriginalStand {
            speaks_at: vec![Severity::Page, Severity::Ticket],
            lists: [("refunds".to_owned(), list)].into(),
        }),
        as_parent: (true, false),
        seen_at: Some(at(2)),
        was_well: true,
        has_worked: true,
        first_seen: at(9),
        canaries: CanariesGlance { right: 5, not_right: 1, finding: 4, found: 3 },
        score: Some(CanaryScore { right: 5, asked: 6, not_asked: 2, since: Some(at(7)) }),
        look: Some(Look {
            kind: BeatKind::Recheck,
            started_at: at(2),
            rechecked_at: Some(at(1)),
            elapsed: Duration::from_millis(812),
            verdict: Verdict::Degraded,
            reason: Some(FailureReason::EmptyResults),
            summary: Some("2 of 6 canaries got nothing".to_owned()),
            findings: 2,
            era: Some(Era::Modern),
        }),
        coverage: Some(0.998),
        p95_ms: Some((812.25, 40)),
        tools: Some(SlimTools {
            hash: "a1".to_owned(),
            seen_at: at(10),
            era: Some(Era::Modern),
            tokens: Some(9_412),
            search_tool: Some("search_docs".to_owned()),
            invalid_call: Some("`q` is no argument".to_owned()),
            calls: KnownCalls { known: 9, broken: 1, why: vec![("refunds".to_owned(), "`q` is none".to_owned())] },
            instructions: vec![Instruction {
                tool: "search_docs".to_owned(),
                place: "description".to_owned(),
                sign: "asks to keep something from the user".to_owned(),
                excerpt: "do not tell".to_owned(),
            }],
        }),
        hold,
        trouble: Some("this beat could not be remembered: \"full\"".to_owned()),
    }
}

#[test]
fn what_is_published_is_read_again() {
    let incident = OpenIncident {
        id: "i1".to_owned(),
        reason: FailureReason::RateLimited,
        severity: Severity::Ticket,
        summary: "it asked for quiet\u{2028}— twice".to_owned(),
        opened_at: at(3),
        since: at(4),
        flapping: Some(Flapping { openings: 6, calm: Duration::from_secs(600), told: true }),
        quiet: Some("explained by incident i0".to_owned()),
        is_taken: true,
        sequence: 3,
    };
    let view = |signal, phase, incident| SignalView {
        signal,
        phase,
        level: Level::Elevated,
        figure: "p95 812 ms of 800 ms (n=40)".to_owned(),
        since: at(5),
        held_by: Some(HeldBy::ColdStart),
        incident,
    };
    let signals: Vec<SignalView> = Signal::ALL.into_iter().map(|it| view(it, Phase::Pending, None)).collect();
    let open = vec![view(Signal::Errors, Phase::Open, Some(incident))];
    let quiet = |asked| Hold::Quiet { until: at(6), asked };
    let rows = [
        (published(Vec::new(), None), "nothing is judged yet"),
        (
            published(signals, Some(quiet(Some(Duration::from_secs(30))))),
            "every signal, and a server that named a time",
        ),
        (published(open, Some(quiet(None))), "an incident, and a server that named none"),
        (published(Vec::new(), Some(Hold::Spent { cap: Cap::Bytes(7), until: at(8) })), "a cap that is spent"),
        (
            published(Vec::new(), Some(Hold::Spaced { cap: Cap::Requests(9), every: Duration::from_secs(90) })),
            "a cap that has to last",
        ),
    ];
    for (expected, sentence) in rows {
        assert_eq!(read(("docs", "n1"), &written(&expected)).unwrap(), expected, "{sentence}");
    }
    let unseen = SlimStanding { seen_at: None, coverage: None, p95_ms: None, trouble: None, ..published(vec![], None) };
    let unseen = SlimStanding { score: None, look: None, as_original: None, ..unseen };
    assert_eq!(read(("docs", "n1"), &written(&unseen)).unwrap(), unseen, "one that nobody has looked at yet");
}

#[test]
fn another_version_is_read_as_far_as_it_is_known_and_nonsense_is_named() {
    let newer = r#"{"roll_up":"degraded","since":1,"has_worked":true,"first_seen":1,"moon":"full","hold":{"moon":[1]},
        "signals":[{"signal":"moon","phase":"open","level":"calm","since":1},
            {"signal":"latency"},{"signal":"errors","phase":"open","level":"elevated","since":1,"held_by":"moon","incident":{"id":"i1",
                "reason":"moonstruck","severity":"page","summary":"","opened_at":1,"since":1}}]}"#;
    let known = read(("docs", "n1"), newer).unwrap();
    assert_eq!((known.roll_up, known.hold), (RollUp::Degraded, None), "what is not known is nothing to us");
    let [errors] = &known.signals[..] else { panic!("{:?}", known.signals) };
    let unnamed = (Signal::Errors, Phase::Open, &None, None);
    assert_eq!((errors.signal, errors.phase, &errors.incident, errors.held_by), unnamed);
    let sideways = r#"{"roll_up":"sideways","since":1,"signals":[],"has_worked":true,"first_seen":1}"#;
    assert_eq!(read(("docs", "n1"), sideways).unwrap().roll_up, RollUp::Unknown);
    for (text, expected) in [
        ("{", "docs"),
        (r#"{"roll_up":"up","since":9223372036854775807,"signals":[],"has_worked":true,"first_seen":1}"#, "922337"),
    ] {
        let error = read(("docs", "n1"), text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
