//! Open files: where there are none left, that is what is told.

use tokio::net::TcpStream;

use crate::process::{Serin, run};
use crate::stage::{Stage, messages, received};

/// What a shell usually allows.
const FILES: u32 = 1024;
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
