use super::*;
use crate::domain::network::Network;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::secret::{Address, Secret};

enum AlertStep {
    Raise,
    Clear,
    Look,
}
use AlertStep::{Clear, Look, Raise};

fn check(steps: &[(u64, AlertStep)], expected: &[QueuedKind], sentence: &str) {
    let start: DateTime<Utc> = "2026-11-21T09:00:00Z".parse().unwrap();
    let alerts = InternalAlerts::new();
    for (seconds, step) in steps {
        let now = start + Duration::from_secs(*seconds);
        match step {
            Raise => alerts.raise(InternalAlert::DiskFull, "no space left", now),
            Clear => alerts.clear(InternalAlert::DiskFull, now),
            Look => alerts.state().tell_what_is_due(now),
        }
    }
    let said: Vec<QueuedKind> = alerts.state().said.iter().map(|said| said.what).collect();
    assert_eq!(said, expected, "{sentence}");
}

#[test]
fn one_alert_until_it_is_over_and_no_storm() {
    use QueuedKind::{Alert, Over, Reminder};
    check(&[(0, Raise)], &[Alert], "trouble is told at once");
    check(&[(0, Raise), (1, Raise), (2, Raise), (1800, Raise)], &[Alert], "and once, however often it is seen");
    check(&[(0, Raise), (30, Clear)], &[Alert, Over], "an all-clear follows");
    check(&[(0, Clear), (1, Clear)], &[], "no all-clear without trouble");
    check(&[(0, Raise), (14_399, Look), (14_399, Raise)], &[Alert], "no reminder within four hours");
    check(
        &[(0, Raise), (14_400, Look), (14_500, Look), (28_800, Look)],
        &[Alert, Reminder, Reminder],
        "then every four",
    );
    check(
        &[(0, Raise), (14_400, Look), (14_500, Clear), (40_000, Look)],
        &[Alert, Reminder, Over],
        "and none after the all-clear",
    );
    check(
        &[(0, Raise), (5, Clear), (10, Raise), (15, Clear), (20, Raise), (25, Clear)],
        &[Alert, Over],
        "what flaps is told once",
    );
    check(
        &[(0, Raise), (5, Clear), (10, Raise), (599, Look), (600, Look)],
        &[Alert, Over, Alert],
        "what came back and stayed is told when ten minutes are over, without being raised again",
    );
    check(&[(10, Raise), (0, Raise), (5, Look)], &[Alert], "two beats that see it are told in whatever order they end");
    check(
        &[(7200, Raise), (7205, Clear), (5, Raise)],
        &[Alert, Over, Alert],
        "a clock that was set back by two hours holds no alert back",
    );
}

/// What a receiver hears, in order, from one loop whose clock is in our hands.
#[tokio::test]
async fn the_reminder_and_the_all_clear_go_out() {
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let app = axum::Router::new().fallback(move |body: String| {
        let said = said.clone();
        async move { said.send(body).unwrap() }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let (_keep, fleet) = watch::channel(Arc::new(told_at(&url)));
    let sender = Arc::new(ChannelSender::new().unwrap());
    let (alerts, mut queues, mut under_way) = (InternalAlerts::new(), Queues::default(), FuturesUnordered::new());
    let start: DateTime<Utc> = "2026-11-21T09:00:00Z".parse().unwrap();
    let rows = [
        (0, Some(Raise), Some(("serin.trouble", "the disk is full")), "trouble is told"),
        (2 * 3600, Some(Raise), None, "it lasts, and nothing new is said"),
        (4 * 3600, None, Some(("serin.trouble", "still: the disk is full")), "after four hours it is told again"),
        (5 * 3600, Some(Clear), Some(("serin.trouble_over", "disk_full is over")), "the end is told"),
        (12 * 3600, None, None, "and that was all"),
    ];
    for (seconds, step, expected, sentence) in rows {
        let now = start + Duration::from_secs(seconds);
        match step {
            Some(Raise) => alerts.raise(InternalAlert::DiskFull, "no space left", now),
            Some(Clear) => alerts.clear(InternalAlert::DiskFull, now),
            _ => {}
        }
        alerts.turn(&mut queues, &mut under_way, &sender, &fleet, now);
        while let Some((receiver, end)) = under_way.next().await {
            assert_eq!(end, AttemptEnd::Accepted, "{sentence}");
            queues.ended(&receiver, &end, now);
        }
        let message = heard.try_recv().ok().map(|body| Message::parse(&body).unwrap());
        match (message, expected) {
            (None, None) => {}
            (Some(message), Some((event, words))) => {
                assert_eq!(message.event, event, "{sentence}");
                assert!(message.summary.contains(words), "{sentence}: {}", message.summary);
            }
            (message, _) => panic!("{sentence}: {message:?}"),
        }
        assert!(heard.is_empty(), "{sentence}, once");
    }
}

fn told_at(url: &str) -> Fleet {
    let address = Address { shown: "shown".into(), resolved: Secret::new(url) };
    let channel = Channel::Webhook { url: address, secrets: Vec::new(), form: Box::default() };
    let receiver = Receiver { name: "ops".into(), channel, at_most: None, line: 1, definition_hash: String::new() };
    Fleet {
        receivers: vec![Arc::new(receiver)],
        internal: vec!["ops".into()],
        allow_private: vec![Network("127.0.0.0/8".into())],
        ..Fleet::default()
    }
}

#[test]
fn a_message_names_the_trouble_and_its_runbook() {
    for kind in InternalAlert::ALL {
        let open = OpenAlert {
            since: DateTime::UNIX_EPOCH,
            detail: "d".into(),
            times: 3,
            told_at: None,
            about: BTreeMap::new(),
        };
        let said = LastSaid { kind, what: QueuedKind::Alert, at: DateTime::UNIX_EPOCH, open, sequence: 1 };
        let fleet = Fleet { public_url: "https://serin.example".into(), ..Fleet::default() };
        let message = message_of(&said, "", &fleet);
        let of_one = message_of(&said, "one:80", &fleet);
        assert_eq!(message.event, "serin.trouble");
        assert!(!message.summary.contains(", on ") && message.evidence.0.iter().all(|(key, _)| key != "machine"));
        // What any machine may go on telling bears the name of none, so that its end closes it.
        let names = (of_one.summary.starts_with("Serin itself, on one:80: "), of_one.evidence.0[1].1 == "one:80");
        assert_eq!(names, (kind.is_of_machine(), kind.is_of_machine()), "{kind:?}: {of_one:?}");
        assert!(message.runbook_url.starts_with("https://serin.example/runbooks/monitor_"));
        assert_eq!(message.evidence.0[0].1, kind.slug());
    }
}

#[test]
fn a_receiver_that_fails_is_told_to_its_fallback_once_and_each_by_itself() {
    let at = |minutes: i64| DateTime::UNIX_EPOCH + chrono::TimeDelta::minutes(minutes);
    let about = |names: &[(&str, Option<&str>)]| -> BTreeMap<String, Option<String>> {
        names.iter().map(|(name, fallback)| ((*name).to_owned(), fallback.map(str::to_owned))).collect()
    };
    let alerts = InternalAlerts::new();
    let kind = InternalAlert::ReceiverFailing;
    let said = |alerts: &InternalAlerts| -> Vec<(QueuedKind, Vec<String>)> {
        let all = std::mem::take(&mut alerts.state().said);
        all.into_iter().map(|one| (one.what, one.open.about.into_values().flatten().collect())).collect()
    };
    let one = about(&[("oncall", Some("mail"))]);
    let both = about(&[("chat", Some("phone")), ("oncall", Some("mail"))]);
    alerts.raise_about(kind, "d", one.clone(), at(0));
    assert_eq!(said(&alerts), [(QueuedKind::Alert, vec!["mail".to_owned()])], "its fallback hears of it");
    alerts.raise_about(kind, "d", one, at(1));
    assert_eq!(said(&alerts), [], "once");
    alerts.raise_about(kind, "d", both, at(2));
    let names = vec!["phone".to_owned(), "mail".to_owned()];
    assert_eq!(said(&alerts), [(QueuedKind::Alert, names)], "another one is news, while the first goes on");
    alerts.clear(kind, at(3));
    assert!(matches!(said(&alerts)[..], [(QueuedKind::Over, _)]), "and so is the end");
}
