//! Open files: pages take their share and no more, and where there are none left, that is what is told.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::process::{Serin, run};
use crate::stage::{Stage, bounded, messages, received};

/// What a shell usually allows.
const FILES: u32 = 1024;
/// Idle connections: more than there are files.
const IDLE: usize = 1_500;
/// As many again that come while those are there.
const MORE: usize = 1_500;
/// Addresses they come from, the stage's own among them.
const PEERS: usize = 50;

/// Connects and says nothing; none where it was turned away.
async fn silent(pages: SocketAddr, number: usize) -> Option<TcpStream> {
    let last = u8::try_from(1 + number % PEERS).expect("few");
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0).into()).expect("a loopback address");
    socket.connect(pages).await.ok()
}

/// So many at once; they stay until the value is dropped.
async fn crowd(pages: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut coming: JoinSet<_> = (0..count).map(|number| silent(pages, number)).collect();
    let mut there = Vec::new();
    while let Some(came) = bounded("they come", coming.join_next()).await {
        there.extend(came.expect("no panic"));
    }
    there
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_stop_no_probe_no_page_and_no_look_at_health() {
    serin::app::raised_file_limit();
    let (stage, _) = Stage::set(2).await;
    let (serin, pages) = Serin::start_with_files(&stage.config(), FILES).await;
    for id in ["s0", "s1"] {
        stage.more_beats(id, 2).await;
    }
    let there = crowd(pages, IDLE).await;
    stage.refuse(1);
    let opened = received(&stage.oncall, "incident.opened", Some("s1")).await;
    assert_eq!(opened.failure_reason.as_deref(), Some("connection_refused"), "the page says why");
    let more = crowd(pages, MORE).await;
    assert!(there.len() + more.len() > FILES as usize, "they were let in: {} and {}", there.len(), more.len());
    for from in [1, 2, 200] {
        let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, from));
        let visitor = reqwest::Client::builder().local_address(from).build().expect("a client");
        for path in ["/healthz", "/", "/api/v1/monitors/s0"] {
            let asked = visitor.get(format!("http://{pages}{path}")).send();
            let answer = bounded(&format!("{from} is answered at {path}"), asked).await.expect("an answer");
            assert_eq!(answer.status(), 200, "{from} at {path}");
        }
    }
    stage.more_beats("s0", 5).await;
    stage.mend(1);
    received(&stage.oncall, "incident.resolved", Some("s1")).await;
    // One that a busy machine started too late is `missed`, which is nobody's connection.
    let lost = stage.count("SELECT COUNT(*) FROM beats WHERE seen = 'internal'", &[]).await;
    assert_eq!(lost, 0, "not one beat is unknown by our fault:\n{}", serin.log());
    assert!(stage.ops.hooks().is_empty(), "and nobody is blamed: {:?}", messages(&stage.ops));
    drop((there, more));
    serin.stop().await;
}

/// Below what Serin has open already: nothing more can be opened.
const NONE: &str = "--nofile=8:1024";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_file_it_is_the_files_that_are_blamed() {
    let (stage, file) = Stage::set(2).await;
    let (serin, pages) = Serin::start_with_files(&stage.config(), FILES).await;
    for id in ["s0", "s1"] {
        stage.more_beats(id, 2).await;
    }
    let limit = async |limit: &str| run("prlimit", &["--pid", &serin.id().to_string(), limit]).await;
    limit(NONE).await;
    // Nobody can be told, a message being one file more, but by what was open already: the log and the database.
    serin.logged("out_of_files").await;
    stage.refuse(1);
    stage.write_text(&stage.text(&file).replace("every: 1s", "every: 2s"));
    let internal = "SELECT COUNT(*) FROM beats WHERE seen = 'internal' AND monitor = $1";
    for id in ["s0", "s1"] {
        stage.counted("beats without a file are unknown", 4, internal, &[id]).await;
    }
    let _left_waiting = TcpStream::connect(pages).await.expect("the listener is there");
    limit("--nofile=1024:1024").await;
    let told = received(&stage.ops, "serin.trouble", None).await;
    assert_eq!(told.evidence.0[0].1, "out_of_files", "{told:?}");
    assert!(told.summary.contains("out of open files"), "{told:?}");
    assert!(told.evidence.0.iter().any(|(_, value)| value.contains(" that this process may have")), "{told:?}");
    assert!(told.resolves_when.as_ref().is_some_and(|when| when.contains("LimitNOFILE")), "{told:?}");
    received(&stage.ops, "serin.trouble_over", None).await;
    serin.logged("the new file is in force").await;
    received(&stage.oncall, "incident.opened", Some("s1")).await;
    let paged = messages(&stage.oncall);
    assert!(paged.iter().all(|message| message.monitor.as_ref().is_some_and(|one| one.id == "s1")), "{paged:?}");
    let kinds: Vec<String> = messages(&stage.ops).iter().map(|message| message.evidence.0[0].1.clone()).collect();
    assert!(kinds.iter().all(|kind| kind == "out_of_files"), "nothing else is blamed: {kinds:?}\n{}", serin.log());
    serin.stop().await;
}
