//! The network between Serin and its database fails and heals: nothing that was decided is lost or doubled, whichever way it
//! failed and whenever that was.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use serin::domain::database_address::DatabaseAddress;
use serin::store::{Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::failover::{decide, opening, until_more};
use crate::proxy::{Network, Proxy};
use crate::shared::at;
use crate::sharing::{Said, serin};
use crate::{Place, server};

/// Far beyond what anything takes.
const LONG: Duration = Duration::from_secs(90);

async fn proxy() -> Proxy {
    let address = server().rsplit('@').next().and_then(|it| it.parse::<SocketAddr>().ok());
    Proxy::to(address.expect("a server on loopback")).await
}

/// The place's database, by way of a proxy.
fn by_way_of(proxy: &Proxy, place: &Place) -> String {
    let rest = place.name()[server().len()..].to_owned();
    format!("postgres://serin@{}{rest}", proxy.address)
}

/// Waits until the store hears that something is wrong.
async fn until_it_is_noticed(store: &Store) {
    let noticed = async {
        while store.touch(at(0)).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, noticed).await.expect("it is noticed");
}

#[tokio::test(flavor = "multi_thread")]
async fn however_the_network_fails_nothing_is_lost_or_doubled() {
    // How it fails, and whether whoever lost something is told so when it heals.
    let rows = [
        (Network::LosesQuestions, true, "what is asked gets lost"),
        (Network::LosesAnswers, true, "what is answered gets lost, a commit's too"),
        (Network::Refuses, true, "every connection ends"),
        (Network::LosesAll, false, "half open: nobody is told of anything, then or later"),
    ];
    let failing = rows.map(|(network, is_told, sentence)| tokio::spawn(fails(network, is_told, sentence)));
    for failed in failing {
        failed.await.expect("as its sentence says");
    }
}

async fn fails(network: Network, is_told: bool, sentence: &str) {
    let (place, proxy) = (Place::new(), proxy().await);
    place.make("").await;
    let address = DatabaseAddress::parse(&by_way_of(&proxy, &place)).expect("an address");
    let store = Store::open(&address).await.expect("it opens");
    let (done, stop) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
    let deciding = (0..4).map(|whose| tokio::spawn(decide(store.clone(), whose, Arc::clone(&done), stop.clone())));
    let deciding: Vec<_> = deciding.collect();
    // Each time it is another moment of the protocol.
    for _ in 0..if is_told { 10 } else { 1 } {
        until_more(&done, 20).await;
        proxy.fails(network).await;
        if is_told {
            proxy.heal();
        } else {
            until_it_is_noticed(&store).await;
            proxy.heal_silently();
        }
    }
    until_more(&done, 20).await;
    stop.cancel();
    let mut acknowledged = BTreeSet::new();
    for task in deciding {
        acknowledged.extend(task.await.expect("it ends"));
    }
    let all: Vec<String> = acknowledged.into_iter().collect();
    assert_eq!(place.read("SELECT id FROM incidents ORDER BY id").await, all, "{sentence}: no other was decided");
    let promised = "SELECT incident FROM deliveries WHERE receiver = 'oncall' ORDER BY incident";
    assert_eq!(place.read(promised).await, all, "{sentence}: each is promised once");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asked_for_a_commit_that_was_not_answered_hears_the_truth() {
    for (network, sentence) in [
        (Network::LosesAnswersToCommits, "it is there, and is not written a second time"),
        (Network::LosesCommits, "it is not there, and is written now"),
    ] {
        let (place, proxy) = (Place::new(), proxy().await);
        place.make("").await;
        let address = DatabaseAddress::parse(&by_way_of(&proxy, &place)).expect("an address");
        let store = Store::open(&address).await.expect("it opens");
        store.commit(opening("i0", "m0")).await.expect("committed");
        // A connection that said nothing of a commit yet.
        proxy.is(Network::Refuses);
        until_it_is_noticed(&store).await;
        proxy.is(network);
        let asked = {
            let store = store.clone();
            tokio::spawn(async move {
                let mut tries = 0;
                // It could not even begin as long as there was no connection.
                while let Err(error) = store.commit(opening(&format!("i1-{tries}"), "m1")).await {
                    assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                format!("i1-{tries}")
            })
        };
        proxy.fails(network).await;
        proxy.heal();
        let asked = tokio::time::timeout(LONG, asked).await.expect("it is answered").expect("with yes");
        assert_eq!(place.read("SELECT id FROM incidents ORDER BY id").await, ["i0".to_owned(), asked], "{sentence}");
        assert_eq!(place.number("SELECT number FROM decisions").await, 2, "{sentence}");
        assert_eq!(store.acknowledge("i0", "ada", at(1)).await, Ok(true), "and it goes on");
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_cut_off_says_how_many_monitors_are_not_judged_and_goes_on() {
    let (place, proxy) = (Place::new(), proxy().await);
    place.make("").await;
    let monitors: String =
        (0..3).map(|nth| format!("  - {{ id: m{nth}, url: \"http://127.0.0.1:9/{nth}\", every: 10s }}\n")).collect();
    let yaml = format!(
        "version: 1\nserin: {{ listen: 127.0.0.1:0, database: \"{}\", allow_private: [127.0.0.0/8] }}\n\
         receivers:\n  hook: {{ webhook: {{ url: \"http://127.0.0.1:9/hook\" }} }}\nroutes: [{{ to: [hook] }}]\n\
         monitors:\n{monitors}",
        by_way_of(&proxy, &place)
    );
    std::fs::write(place.folder.path().join("monitors.yaml"), &yaml).expect("a file");
    let mut running = serin(place.folder.path());
    let mut out = Said::of(running.stdout.take());
    let mut log = Said::of(running.stderr.take());
    out.until("serin watches 3 monitors").await;
    let until_beats = async |since: i64| {
        let seen = format!("SELECT COUNT(DISTINCT monitor) FROM beats WHERE started_at > {since}");
        while place.number(&seen).await < 3 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LONG, until_beats(0)).await.expect("they are watched");
    proxy.is(Network::Refuses);
    log.until("3 monitors are not judged until this is over").await;
    proxy.heal();
    let now = place.number("SELECT CAST(EXTRACT(EPOCH FROM now()) * 1000000 AS BIGINT)").await;
    tokio::time::timeout(LONG, until_beats(now)).await.expect("beats go on");
    running.kill().await.expect("it ends");
}

#[tokio::test]
async fn a_store_that_is_closed_while_a_commit_is_in_doubt_ends() {
    let (place, proxy) = (Place::new(), proxy().await);
    place.make("").await;
    let address = DatabaseAddress::parse(&by_way_of(&proxy, &place)).expect("an address");
    let store = Store::open(&address).await.expect("it opens");
    let (done, stop) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
    let deciding = tokio::spawn(decide(store.clone(), 0, Arc::clone(&done), stop.clone()));
    until_more(&done, 5).await;
    proxy.fails(Network::LosesAnswers).await;
    proxy.is(Network::Refuses);
    assert!(matches!(store.touch(at(0)).await, Err(StoreError::Unreachable(_))), "it cannot be reached");
    stop.cancel();
    store.close().await;
    drop(deciding.await);
}
