//! Killed at random moments between decision and receipt, nothing is lost and nothing overtakes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::http::StatusCode;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serin::cli::demo::inbox::Hook;
use serin::deliver::message::Message;

use crate::process::Serin;
use crate::stage::Stage;

/// How often it is killed.
const KILLS: u64 = 20;
/// How long the receiver takes to say yes: the window in which a try is neither lost nor recorded.
const ANSWERS_AFTER: Duration = Duration::from_millis(250);
/// One round in so many finds a receiver that says no, so that its messages wait through the next kills.
const REFUSES_EVERY: u64 = 5;
/// From the decision to a little past the receiver's answer and the record of it.
const MOMENTS_MS: std::ops::Range<u64> = 0..600;
/// Another run with `SERIN_TEST_SEED=N` kills at the same moments after each decision.
const SEED_VARIABLE: &str = "SERIN_TEST_SEED";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_twenty_times_it_loses_nothing() {
    let seed = std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("{SEED_VARIABLE}={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (stage, mut file) = Stage::with_slow_oncall(2, ANSWERS_AFTER).await;
    file.rules = "{ availability: { after: 1, recover_after: 1, page_after: 0s } }";
    stage.write(&file);
    let (mut serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 1).await;
    for round in 0..KILLS {
        let takes = if round % REFUSES_EVERY == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        stage.oncall.fail_with(takes, None);
        let before = stage.count("SELECT COUNT(*) FROM deliveries", &[]).await;
        for server in 0..2 {
            if round % 2 == 0 { stage.refuse(server) } else { stage.mend(server) }
        }
        stage.counted("the change is decided on", before + 1, "SELECT COUNT(*) FROM deliveries", &[]).await;
        tokio::time::sleep(Duration::from_millis(random.random_range(MOMENTS_MS))).await;
        serin.kill().await;
        stage.ages().await;
        serin = Serin::start(&stage.config()).await.0;
    }
    stage.oncall.fail_with(StatusCode::OK, None);
    for server in 0..2 {
        stage.mend(server);
    }
    stage.all_is_over().await;
    let promised = stage.rows("SELECT id, event, payload FROM notifications").await;
    let hooks = stage.oncall.hooks();
    let incidents = stage.count("SELECT COUNT(*) FROM incidents", &[]).await;
    println!("{incidents} incidents, {} notifications, {} received", promised.len(), hooks.len());
    assert!(incidents >= 10, "each outage is an incident: {incidents}");
    nothing_is_lost(&stage, &promised, &hooks).await;
    repeats_are_the_same(&promised, &hooks);
    nothing_overtakes(&hooks);
    serin.stop().await;
}

/// Every notification was received, and every incident has its opening and its end among them.
async fn nothing_is_lost(stage: &Stage, promised: &[(String, String, String)], hooks: &[Hook]) {
    let taken = hooks.iter().filter(|hook| hook.answered == 200);
    let received: BTreeSet<&str> = taken.map(|hook| hook.id.as_str()).collect();
    for (id, event, _) in promised {
        assert!(received.contains(id.as_str()), "{event} {id} was promised and never came");
    }
    let silent = "SELECT COUNT(*) FROM incidents i WHERE \
                  (SELECT COUNT(*) FROM notifications n WHERE n.incident = i.id AND n.event = 'incident.opened') <> 1 OR \
                  (SELECT COUNT(*) FROM notifications n WHERE n.incident = i.id AND n.event = 'incident.resolved') <> 1";
    assert_eq!(stage.count(silent, &[]).await, 0, "each incident is opened once and resolved once");
    let unsent = "SELECT COUNT(*) FROM deliveries WHERE state <> 'sent'";
    assert_eq!(stage.count(unsent, &[]).await, 0, "and the ledger knows");
}

/// What came more than once had the same id and the same bytes: those that were frozen with the decision, and the link that
/// is this receiver's own.
fn repeats_are_the_same(promised: &[(String, String, String)], hooks: &[Hook]) {
    let frozen: BTreeMap<&str, &str> =
        promised.iter().map(|(id, _, payload)| (id.as_str(), payload.as_str())).collect();
    let mut first: BTreeMap<&str, &String> = BTreeMap::new();
    for hook in hooks {
        assert_eq!(hook.verified, Some(true), "signed: {hook:?}");
        let first = first.entry(&hook.id).or_insert(&hook.body);
        assert_eq!(*first, &hook.body, "the bytes of {}", hook.id);
        let message = Message { acknowledge_url: None, ..Message::parse(&hook.body).expect("a message") };
        assert_eq!(Some(&*message.frozen()), frozen.get(hook.id.as_str()).copied(), "as frozen: {}", hook.id);
    }
}

/// Within an incident, numbers never go back: nothing is sent before what comes before it was taken.
fn nothing_overtakes(hooks: &[Hook]) {
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    for hook in hooks {
        let message = Message::parse(&hook.body).expect("a message");
        let Some(incident) = message.incident else { continue };
        let before = last.insert(incident.id.clone(), message.sequence).unwrap_or_default();
        assert!(message.sequence >= before, "{} after {before} in {}", message.sequence, incident.id);
    }
}
