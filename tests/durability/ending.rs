//! Whoever is told to stop stops soon, whatever receivers do, and nothing is lost by it.

use std::net::SocketAddr;

use crate::hanging::silent;
use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

/// The file with another address of `oncall`, and without anybody who stands in for it.
fn with_oncall_at(text: &str, own: SocketAddr, other: SocketAddr) -> String {
    text.replace(&format!("http://{own}/hook"), &format!("http://{other}/hook")).replace(", fallback: spare", "")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_answers_holds_up_no_end() {
    let (stage, file) = Stage::set(1).await;
    let (address, mut told) = silent().await;
    let text = stage.text(&file);
    stage.write_text(&with_oncall_at(&text, stage.hook("oncall"), address));
    let (mut serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 1).await;
    stage.refuse(0);
    bounded("a message goes out", told.wait_for(|silence| silence.taken > 0)).await.expect("it listens");
    serin.signal("TERM").await;
    let status = serin.ended().await;
    let log = serin.log();
    assert!(status.success(), "it ends well ({status}):\n{log}");
    // A try takes ten seconds at most; who ends before has neither waited for it nor said that it failed.
    assert!(log.contains("did not end in time") && !log.contains("a delivery failed"), "{log}");

    stage.write_text(&text);
    let (serin, _) = Serin::start(&stage.config()).await;
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await;
    assert_eq!(opened.event, "incident.opened", "what was cut off is sent again");
    serin.stop().await;
}
