//! Every kind of hold and every kind of not-yet, each a sentence.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::incident::{Course, Incident, ResolveCause};
use crate::domain::monitor::MonitorId;
use crate::domain::monitor_state::Standing;
use crate::domain::paging::hold::{HoldKind, TellingHold};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::RulePlace;
use crate::domain::signal::{HeldBy, Level, Phase, Signal};
use crate::domain::why::answer::{HoldThen, IncidentThen, Listener, Record, SignalThen, ToldThen, Weighed, Why};
use crate::domain::why::sentence::not_yet;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

fn place(line: u32) -> RulePlace {
    RulePlace { file: "m.yaml".to_owned(), line, commit: Some("c0ffee".to_owned()) }
}

fn incident(resolved: Option<i64>) -> Incident {
    Incident {
        id: "0199".to_owned(),
        monitor: MonitorId::new("docs"),
        signal: Signal::Quality,
        subject: String::new(),
        severity: Severity::Page,
        reason: FailureReason::EmptyResults,
        stage: "search".to_owned(),
        summary: "docs: nothing is found".to_owned(),
        evidence: Vec::new(),
        rule: place(9),
        opened_at: at(0),
        resolved_at: resolved.map(at),
        resolve_cause: resolved.map(|_| ResolveCause::Recovered),
        acknowledged: None,
        sequence: 1,
        course: Course::default(),
    }
}

fn hold(kind: HoldKind, by: &str, until: Option<i64>, ended: Option<i64>) -> HoldThen {
    let hold = TellingHold {
        until: until.map(at),
        ended_at: ended.map(at),
        ..TellingHold::begun("0199", kind, by, None, at(0))
    };
    HoldThen { said: hold.said(), hold }
}

fn told(second: i64, receiver: &str, state: &str, answer: &str) -> ToldThen {
    ToldThen {
        event: "incident.opened".to_owned(),
        receiver: receiver.to_owned(),
        fallback_of: None,
        at: at(second),
        state: state.to_owned(),
        tried_at: None,
        answer: answer.to_owned(),
        route: Some(place(4)),
    }
}

fn one(resolved: Option<i64>, holds: Vec<HoldThen>, tellings: Vec<ToldThen>) -> IncidentThen {
    let route = Listener { receiver: "oncall".to_owned(), fallback: None, route: place(4) };
    let listeners = Some(vec![route]);
    IncidentThen { incident: incident(resolved), opens: String::new(), listeners, holds, tellings }
}

fn why(incidents: Vec<IncidentThen>, signals: Vec<SignalThen>) -> Why {
    let weighed = Weighed { beats: 100, from: at(-6000), last: at(90), blind: None, every: Duration::from_secs(60) };
    Why {
        monitor: MonitorId::new("docs"),
        incident: None,
        at: at(100),
        until: at(100),
        is_now: true,
        record: Record::Weighed(weighed),
        file: None,
        signals,
        incidents,
        notes: Vec::new(),
    }
}

#[test]
fn what_became_of_telling_an_incident_is_one_sentence() {
    use HoldKind as K;
    let taken = || vec![told(0, "oncall", "sent", "")];
    let rows: Vec<(IncidentThen, &str, &str)> = vec![
        (one(None, vec![], taken()), "oncall was notified at once (route m.yaml:4@c0ffee)", "told"),
        (
            one(None, vec![], vec![told(30, "oncall", "sent", ""), told(30, "mail", "sent", "")]),
            "oncall and mail were notified 30 s later, 2027-01-15 08:00:30 UTC (route m.yaml:4@c0ffee)",
            "two of one route",
        ),
        (
            one(None, vec![], vec![told(0, "oncall", "pending", "HTTP 500")]),
            "oncall was to be notified at once (route m.yaml:4@c0ffee); oncall has not accepted it yet, last answer: HTTP 500",
            "not taken yet",
        ),
        (
            one(None, vec![], vec![told(0, "oncall", "dead", "")]),
            "(route m.yaml:4@c0ffee); oncall never accepted it",
            "given up",
        ),
        (
            one(None, vec![hold(K::Silence, "s1", None, Some(50))], vec![told(50, "oncall", "sent", "")]),
            "; until then it was silenced (s1)",
            "what held it is said",
        ),
        (
            one(None, vec![hold(K::Silence, "s1", None, None)], vec![]),
            "nobody is notified, it is silenced (s1) since 2027-01-15 08:00:00 UTC",
            "a silence",
        ),
        (
            one(None, vec![hold(K::Window, "m.yaml:3", Some(500), None)], vec![]),
            "it is in maintenance (m.yaml:3)",
            "a window",
        ),
        (
            one(None, vec![hold(K::Parent, "vectors", None, None)], vec![]),
            "it is behind vectors, which is down",
            "a parent",
        ),
        (
            one(None, vec![hold(K::Parent, "vectors", Some(130), None)], vec![]),
            "it is behind vectors, which is being looked at",
            "a parent's verdict",
        ),
        (one(None, vec![hold(K::Cause, "0198", None, None)], vec![]), "it is explained by incident 0198", "a cause"),
        (
            one(None, vec![hold(K::Cause, "0198", None, None), hold(K::Silence, "s1", None, None)], vec![]),
            "it is explained by incident 0198 since 2027-01-15 08:00:00 UTC and silenced (s1) since",
            "two at once",
        ),
        (
            one(None, vec![hold(K::Cause, "0198", None, Some(90))], vec![]),
            "it was explained by incident 0198 until 2027-01-15 08:01:30 UTC and goes out once its own beats still show it",
            "it has to outlast its cause",
        ),
        (
            one(Some(80), vec![hold(K::Window, "m.yaml:3", Some(500), Some(80))], vec![]),
            "it was in maintenance (m.yaml:3) from 2027-01-15 08:00:00 UTC until 2027-01-15 08:01:20 UTC, and it ended",
            "it ended inside",
        ),
        (
            IncidentThen { listeners: Some(Vec::new()), ..one(None, vec![], vec![]) },
            "nobody was notified, since no route of the file fits it",
            "no route",
        ),
        (
            one(None, vec![], vec![]),
            "nobody is notified yet, since what may explain it is being confirmed",
            "a verdict is waited for",
        ),
        (
            one(None, vec![], vec![told(160, "oncall", "sent", "")]),
            "being confirmed; it was sent 2027-01-15 08:02:40 UTC",
            "and came, later than what is asked about",
        ),
        (
            one(Some(60), vec![], vec![]),
            "nobody was notified, it ended 2027-01-15 08:01:00 UTC while",
            "it ended first",
        ),
        (
            IncidentThen { listeners: None, ..one(None, vec![], vec![]) },
            "nobody was notified; the file of then is not kept",
            "nobody knows the routes",
        ),
    ];
    for (one, expected, sentence) in rows {
        let asked = Why { incident: Some("0199".to_owned()), ..why(vec![one], Vec::new()) };
        let said = asked.sentence();
        assert!(said.contains(expected), "{sentence}: {said}");
        assert!(said.starts_with("docs quality (empty_results, page), opened 2027-01-15 08:00:00 UTC: "), "{said}");
        assert_eq!(asked.lines()[0], said, "the first line is the answer");
    }
}

fn signal(signal: Signal, phase: Phase, held_by: Option<HeldBy>, far: (&str, bool)) -> SignalThen {
    let standing = Standing {
        level: if phase == Phase::Quiet { Level::Calm } else { Level::Elevated },
        figure: String::new(),
        samples: 0,
        reason: None,
        phase,
        since: at(50),
        held_by,
        progress: Some(far.0.to_owned()),
        is_short_of_time: far.1,
        clearing: None,
        severity: Severity::Page,
        line: 9,
    };
    SignalThen {
        signal,
        standing,
        opens: "3 failed beats in a row".to_owned(),
        closes: "2 good beats in a row".to_owned(),
        rule: place(9),
        listeners: Vec::new(),
        quiet: vec!["silenced by kim: known".to_owned()],
        looks: Vec::new(),
    }
}

#[test]
fn what_is_missing_before_a_signal_opens_is_said() {
    use Signal as S;
    let rows = [
        (S::Availability, None, ("2 of 3 beats", false), "was bad on 2 of 3 beats"),
        (
            S::Availability,
            None,
            ("for 20s of 45s", true),
            "waits for page_after: for 20s of 45s, and one more failed beat",
        ),
        (S::Latency, None, ("for 10m of 20m", true), "has to last longer: for 10m of 20m"),
        (S::Latency, Some(HeldBy::ColdStart), ("", false), "is held back while the server warms up (cold_start)"),
        (S::Quality, Some(HeldBy::Signal(S::Availability)), ("", false), "is held back while availability is open"),
        (
            S::Health,
            Some(HeldBy::Signal(S::Quality)),
            ("", false),
            "is held back behind quality, which has the same cause",
        ),
    ];
    for (of, held_by, far, expected) in rows {
        let one = signal(of, Phase::Pending, held_by, far);
        assert_eq!(not_yet(&one).as_deref(), Some(expected));
        let why = why(Vec::new(), vec![signal(S::Access, Phase::Quiet, None, far), one]);
        let said = format!("nothing was open yet; {} {expected}.", of.slug());
        assert!(
            why.sentence().starts_with("Nobody was notified of docs at 2027-01-15 08:01:40 UTC: "),
            "{}",
            why.sentence()
        );
        assert!(why.sentence().ends_with(&said), "{}: {said}", why.sentence());
        let text = why.lines().join("\n");
        assert!(
            text.contains("notifies   nobody: no route fits") && text.contains("but quiet  silenced by kim: known"),
            "{text}"
        );
    }
}

#[test]
fn where_nothing_was_open_it_is_said_whether_anybody_looked() {
    let Record::Weighed(weighed) = why(Vec::new(), Vec::new()).record else { unreachable!("it is made so") };
    let last = |second, blind: Option<&'static str>| {
        Record::Weighed(Weighed { last: at(second), blind: blind.map(|why| (at(80), why)), ..weighed.clone() })
    };
    let rows = [
        (last(90, None), "nothing was over its limit.", "well, and seen"),
        (last(-300, None), "Serin had seen nothing of it since 2027-01-15 07:55:00 UTC.", "not looked at"),
        (last(-300, Some("uplink")), "07:55:00 UTC, since its own network was gone.", "our network"),
        (last(-300, Some("internal")), "07:55:00 UTC, since it had a problem of its own.", "our trouble"),
        (last(-300, Some("held")), "since the server asked for quiet, or a cap of the file is used up.", "quiet"),
        (Record::Gone(at(500)), "no incident was open, by the record.", "beats of then are gone"),
        (Record::Unseen, "Serin had not looked at it in the week before.", "never seen"),
    ];
    for (record, expected, sentence) in rows {
        let asked = Why { record, ..why(Vec::new(), Vec::new()) };
        assert!(asked.sentence().ends_with(expected), "{sentence}: {}", asked.sentence());
    }
}

#[test]
fn of_several_open_incidents_the_loudest_that_was_told_comes_first() {
    let silent = IncidentThen {
        incident: Incident { id: "1".to_owned(), signal: Signal::Errors, ..incident(None) },
        ..one(None, vec![hold(HoldKind::Cause, "0199", None, None)], vec![])
    };
    let over =
        IncidentThen { incident: Incident { id: "2".to_owned(), ..incident(Some(99)) }, ..one(None, vec![], vec![]) };
    let asked = why(vec![silent, over, one(None, vec![], vec![told(0, "oncall", "sent", "")])], Vec::new());
    let said = asked.sentence();
    assert!(said.starts_with("docs quality ") && said.ends_with("; 1 incident was open beside it."), "{said}");
    let later = Why { at: at(100) + TimeDelta::hours(1), is_now: false, ..asked };
    assert!(later.sentence().contains("notified at once"), "{}", later.sentence());
}
