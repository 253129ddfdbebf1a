//! What comes and goes between two beats: the server, a message on its way, an incident.

use crate::lives::{Beating, Ledger, each, none};
use crate::release::{Manner, Release};
use crate::serin::Watch;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn a_server_that_restarted_between_two_beats_is_good_at_the_next() {
    let all = [Release::kept(), Release::sessionless(), Release::closed()].concat();
    none(each(all, restarted).await);
}

async fn restarted(release: Release) -> Ledger {
    let mut ledger = Ledger::open(release).await;
    let mut beating = Beating::of(&ledger.server);
    for when in ["before the restart", "after it"] {
        for _ in 0..3 {
            if let Err(wrong) = beating.beat().await {
                ledger.aggrieved(when, wrong);
            }
        }
        ledger.settle(when, 1).await;
        if when == "before the restart" {
            ledger.start_again().await;
        }
    }
    ledger
}

/// The notification is what the SDK waits for: 1.8.0 to 1.9.2 die of any request in a session that never heard it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn nothing_more_is_asked_in_a_session_whose_opening_was_not_heard_out() {
    let all = Release::kept().into_iter().map(|release| Release { lossy: true, ..release });
    none(each(all.collect(), lost).await);
}

async fn lost(release: Release) -> Ledger {
    let mut ledger = Ledger::open(release).await;
    let mut beating = Beating::of(&ledger.server);
    let _whatever_it_finds = beating.look().await;
    ledger.settle("a beat whose notification was lost", 2).await;
    if let Err(wrong) = beating.beat().await {
        ledger.aggrieved("the beat after it", wrong);
    }
    ledger.settle("the beat after it", 1).await;
    ledger
}

/// Beats come when they are asked for, so that the server is back before the next.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn a_running_serin_calls_no_restart_an_outage_and_replays_a_real_one_harmlessly() {
    let with = Release::python("1.9.4", "4.16.0", true, Manner::Kept);
    let without = Release::python("1.9.2", "4.16.0", false, Manner::Sessionless);
    let mut ledgers = vec![Ledger::open(with).await, Ledger::open(without).await];
    let mut watch = Watch::over(ledgers.iter().map(|ledger| &ledger.server), "1h");
    watch.run().await;
    for when in ["before the restart", "after it"] {
        for (number, ledger) in ledgers.iter_mut().enumerate() {
            for _ in 0..2 {
                let said = watch.serin(&["recheck", &format!("s{number}")]).await;
                if said.code != Some(0) {
                    ledger.aggrieved(when, said.short());
                }
            }
            ledger.settle(when, 1).await;
            ledger.start_again().await;
        }
    }
    let opened = watch.rows("SELECT monitor, reason, summary FROM incidents").await;
    assert!(opened.is_empty(), "a restart is no outage: {opened:?}");

    for (number, ledger) in ledgers.iter_mut().enumerate() {
        ledger.server.stop().await;
        replayed(&watch, &format!("s{number}"), ledger).await;
    }
    watch.stop().await;
    none(ledgers);
}

/// An outage, whose first beat is run again when the server is back.
async fn replayed(watch: &Watch, id: &str, ledger: &mut Ledger) {
    let unresolved = "SELECT monitor, id FROM incidents WHERE resolved_at IS NULL";
    let incident = loop {
        let said = watch.serin(&["recheck", id]).await;
        assert_eq!(said.code, Some(2), "it is down: {}", said.all);
        let rows = watch.rows(unresolved).await;
        if let Some(row) = rows.iter().find(|row| row[0] == id) {
            break row[1].clone();
        }
    };
    ledger.start_again().await;
    for (arguments, what) in [(vec!["probe", id, "--replay", &incident], "--replay"), (vec!["recheck", id], "recheck")]
    {
        let said = watch.serin(&arguments).await;
        if said.code != Some(0) {
            ledger.aggrieved(what, said.short());
        }
        ledger.settle(what, 1).await;
    }
}
