use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::routing::post;
use tokio::sync::mpsc;

use super::*;
use crate::deliver::message;
use crate::domain::network::Network;
use crate::domain::paging::notification::{Event, MonitorCard, Notification};
use crate::domain::reason::Severity;
use crate::domain::receiver::Channel;
use crate::domain::secret::{Address, Secret};
use crate::store::read::ledger::DeliveryFilter;
use crate::store::values::change_set::{Addressee, ChangeSet, Outgoing};
use crate::store::values::claims::NextAttempt;

fn receiver(name: &str) -> Arc<Receiver> {
    Arc::new(Receiver {
        name: name.to_owned(),
        channel: Channel::Email { to: vec!["sre@example.org".to_owned()] },
        at_most: None,
        line: 1,
        definition_hash: String::new(),
    })
}

fn fleet(receivers: &[&str], internal: &[&str]) -> Fleet {
    Fleet {
        receivers: receivers.iter().map(|name| receiver(name)).collect(),
        internal: internal.iter().map(|name| (*name).to_owned()).collect(),
        ..Fleet::default()
    }
}

struct Row {
    sentence: &'static str,
    receivers: &'static [&'static str],
    severity: Severity,
    end: AttemptEnd,
    fallback: Option<&'static str>,
    age_seconds: i64,
    expected: (&'static str, &'static [&'static str]),
}

fn check(row: Row) {
    check_as(row, false);
}

fn check_as(row: Row, replayed: bool) {
    let promised_at = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    let claim = Claim {
        delivery: "d".to_owned(),
        notification: "n".to_owned(),
        payload: String::new(),
        receiver: "oncall".to_owned(),
        fallback: row.fallback.map(str::to_owned),
        severity: row.severity,
        lease: "l".to_owned(),
        tries: 2,
        promised_at,
        external_ref: None,
        over_at: None,
        replayed,
        together: None,
    };
    let fleet = fleet(row.receivers, &["oncall", "admin"]);
    let receiver = fleet.receiver("oncall").cloned();
    let now = promised_at + chrono::TimeDelta::seconds(row.age_seconds);
    let (next, tried) = decide(&claim, &row.end, &fleet, receiver.as_deref(), now, 0.5);
    let next = match next {
        NextAttempt::Sent => "sent".to_owned(),
        NextAttempt::Dead => "dead".to_owned(),
        NextAttempt::Retry(at) => format!("in {} s", (at - now).num_seconds()),
    };
    let stand_ins: Vec<&str> = tried[0].stand_ins.iter().map(String::as_str).collect();
    assert_eq!((next.as_str(), &stand_ins[..]), row.expected, "{}", row.sentence);
}

#[test]
fn what_follows_a_try() {
    let failed = || AttemptEnd::Failed { why: "503".to_owned(), retry_after: None };
    let asked = || AttemptEnd::Failed { why: "429".to_owned(), retry_after: Some(Duration::from_secs(90)) };
    let refused = || AttemptEnd::Refused { why: "410".to_owned() };
    let all: &[&str] = &["oncall", "mail", "admin"];
    let (page, ticket) = (Severity::Page, Severity::Ticket);
    #[rustfmt::skip]
    let rows = [
        Row { sentence: "a yes ends it", receivers: all, severity: page, end: AttemptEnd::Accepted, fallback: Some("mail"), age_seconds: 500, expected: ("sent", &[]) },
        Row { sentence: "a failure is tried again by the schedule", receivers: all, severity: page, end: failed(), fallback: Some("mail"), age_seconds: 20, expected: ("in 15 s", &[]) },
        Row { sentence: "what the receiver asks for is honoured", receivers: all, severity: page, end: asked(), fallback: None, age_seconds: 20, expected: ("in 90 s", &[]) },
        Row { sentence: "a page unheard for two minutes wakes the fallback, and is tried on", receivers: all, severity: page, end: failed(), fallback: Some("mail"), age_seconds: 120, expected: ("in 15 s", &["mail"]) },
        Row { sentence: "a ticket waits longer", receivers: all, severity: ticket, end: failed(), fallback: Some("mail"), age_seconds: 120, expected: ("in 15 s", &[]) },
        Row { sentence: "a refusal wakes the fallback at once, whatever the severity", receivers: all, severity: ticket, end: refused(), fallback: Some("mail"), age_seconds: 1, expected: ("in 15 s", &["mail"]) },
        Row { sentence: "a refusal without a fallback is tried on", receivers: all, severity: page, end: refused(), fallback: None, age_seconds: 1, expected: ("in 15 s", &[]) },
        Row { sentence: "after a day it is given up, and the fallback hears even a ticket", receivers: all, severity: ticket, end: failed(), fallback: Some("mail"), age_seconds: 86_400, expected: ("dead", &["mail"]) },
        Row { sentence: "a receiver gone from the file hands over to its fallback", receivers: &["mail", "admin"], severity: ticket, end: refused(), fallback: Some("mail"), age_seconds: 1, expected: ("dead", &["mail"]) },
        Row { sentence: "else to those who hear of our own trouble", receivers: &["admin"], severity: ticket, end: refused(), fallback: Some("mail"), age_seconds: 1, expected: ("dead", &["admin"]) },
        Row { sentence: "also where it never had a fallback", receivers: &["admin"], severity: ticket, end: refused(), fallback: None, age_seconds: 1, expected: ("dead", &["admin"]) },
        Row { sentence: "with nobody left it waits for a better file", receivers: &[], severity: page, end: refused(), fallback: None, age_seconds: 1, expected: ("in 15 s", &[]) },
    ];
    rows.into_iter().for_each(check);
    #[rustfmt::skip]
    let again = [
        Row { sentence: "what was told once wakes nobody else when it is brought again", receivers: all, severity: page, end: refused(), fallback: Some("mail"), age_seconds: 500, expected: ("in 15 s", &[]) },
        Row { sentence: "also where its receiver is gone", receivers: &["mail", "admin"], severity: page, end: refused(), fallback: Some("mail"), age_seconds: 86_400, expected: ("dead", &[]) },
    ];
    again.into_iter().for_each(|row| check_as(row, true));
}

/// Something to say to `oncall`.
fn outgoing(id: &str, at: DateTime<Utc>) -> Outgoing {
    let card = MonitorCard {
        id: "docs".to_owned(),
        name: "Docs".to_owned(),
        url: "http://docs/mcp".to_owned(),
        labels: BTreeMap::new(),
    };
    let notification = Notification {
        id: id.to_owned(),
        sequence: 1,
        event: Event::Drill,
        at,
        incident: None,
        monitor: card,
        reason: None,
        failed_stage: None,
        severity: Severity::Page,
        summary: "docs: a drill".to_owned(),
        evidence: Vec::new(),
        resolves_when: None,
        runbook_url: "http://serin/runbooks".to_owned(),
        incident_url: None,
        rule: None,
        reproduce: "serin probe docs".to_owned(),
        group_key: None,
    };
    let payload = message::freeze(&notification);
    let to =
        Addressee { receiver: "oncall".to_owned(), receiver_hash: "h".to_owned(), fallback: None, gathering: None };
    Outgoing { notification, payload, to: vec![to] }
}

#[tokio::test]
async fn a_claim_that_grew_old_writes_nothing_and_is_claimed_anew() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let (tell, mut got) = mpsc::unbounded_channel();
    let hook = move |headers: HeaderMap| async move { drop(tell.send(headers["webhook-id"].clone())) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().route("/", post(hook))).await });
    let channel = Channel::Webhook {
        url: Address { shown: String::new(), resolved: Secret::new(&url) },
        secrets: Vec::new(),
        form: Box::default(),
    };
    let oncall = Receiver { channel, ..Receiver::clone(&receiver("oncall")) };
    let fleet = Fleet {
        receivers: vec![Arc::new(oncall)],
        allow_private: vec![Network("127.0.0.0/8".to_owned())],
        ..Fleet::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("serin.db")).await.unwrap();
    let (_put, fleet) = watch::channel(Arc::new(fleet));
    let links = Arc::new(AckLinks::new([0; 32]));
    let worker = DeliveryWorker {
        store: store.clone(),
        sender: Arc::new(ChannelSender::new().unwrap()),
        fleet,
        leases: watch::channel(Arc::new(Leases::whole())).1,
        links,
    };
    let now = Utc::now();
    store.commit(ChangeSet { outbox: vec![outgoing("n1", now)], ..ChangeSet::default() }).await.unwrap();

    let claiming = Claiming { limit: 1, per_receiver: 1, per_unproven: 1, ..Claiming::default() };
    let claim = store.claim(now, claiming.clone()).await.unwrap().remove(0);
    // The machine slept for longer than it may, and did nothing else meanwhile.
    let slept = CLAIM_AGE_MAX + Duration::from_secs(1);
    let claimed = lived().checked_sub(slept).expect("it was not started this moment");
    let end = worker.clone().deliver(claim.clone(), (now, claimed), CancellationToken::new()).await;
    assert_eq!(end, None, "it was no try, so that it failed neither");
    assert!(got.try_recv().is_err(), "nothing was written");
    let ledger = store.deliveries(&DeliveryFilter::default()).await.unwrap();
    assert_eq!((ledger[0].state.as_str(), ledger[0].attempts), ("pending", 0), "nor is it one in the ledger");
    let outlook = store.outlook(now, &claiming).await.unwrap();
    assert!(outlook.claim_at.is_some_and(|at| at <= now), "it is due at once: {outlook:?}");

    let again = store.claim(now, claiming.clone()).await.unwrap().remove(0);
    assert_ne!(again.lease, claim.lease, "it is another claim");
    store.hand_back(claim.deliveries(), &claim.lease).await.unwrap();
    assert_eq!(store.claim(now, claiming).await.unwrap(), [], "who held it before takes it from nobody");
    let end = worker.deliver(again, (now, lived()), CancellationToken::new()).await;
    assert_eq!(end, Some(true));
    assert_eq!(got.recv().await.unwrap(), "n1");
    let ledger = store.deliveries(&DeliveryFilter::default()).await.unwrap();
    assert_eq!((ledger[0].state.as_str(), ledger[0].attempts), ("sent", 1), "the one try is the one that was made");
    store.close().await;
}
