//! Whoever hangs keeps nobody else from being looked at.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

/// Open files, so that few probes may be in flight: (176 − 128 − 16 for pages) / 2 = 16.
const FILES: u32 = 176;
/// Places for probes that do not take long; there are three times as many for those that do.
const SHORT: usize = 4;

/// Connections that a server took and never answered, and those of them that the other side gave up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Silence {
    pub(crate) taken: usize,
    given_up: usize,
}

/// A server that takes connections and never says a word.
pub(crate) async fn silent() -> (SocketAddr, watch::Receiver<Silence>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, told) = watch::channel(Silence::default());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tell.send_modify(|silence| silence.taken += 1);
            let tell = tell.clone();
            tokio::spawn(async move {
                let _read_to_its_end = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
                tell.send_modify(|silence| silence.given_up += 1);
            });
        }
    });
    (address, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_hang_keep_nobody_else_from_being_looked_at() {
    let (stage, file) = Stage::set(1).await;
    let (address, mut told) = silent().await;
    let mut text = stage.text(&file);
    for number in 0..SHORT * 5 {
        let waits = "every: 1h, timeout: 80s, probe_budget: 85s";
        text.push_str(&format!("  - {{ id: hung{number}, url: 'http://{address}/mcp', {waits} }}\n"));
    }
    stage.write_text(&text);
    let (serin, pages) = Serin::start_with_files(&stage.config(), FILES).await;
    serin.logged("permits=16").await;
    stage.more_beats("s0", 1).await;
    let http = reqwest::Client::new();
    for turn in 0..5 {
        for number in turn * SHORT..(turn + 1) * SHORT {
            let path = format!("http://{pages}/api/v1/monitors/hung{number}/recheck");
            let answer = http.post(path).json(&serde_json::json!({})).send().await.expect("serin answers");
            assert_eq!(answer.status(), 202, "somebody wants a look");
        }
        // One place is s0's now and then; a look that finds none is not made.
        let most = (turn + 1) * (SHORT - 1);
        bounded("they hang", told.wait_for(|silence| silence.taken >= most)).await.expect("the server is there");
        stage.more_beats("s0", 2).await;
    }
    stage.more_beats("s0", 3).await;
    bounded("those that found no place are given up", told.wait_for(|silence| silence.given_up > 0))
        .await
        .expect("the server is there");
    let Silence { taken, given_up } = *told.borrow();
    assert!(taken - given_up >= 2 * SHORT, "and those that have one wait on: {given_up} of {taken} were given up");
    let trouble = received(&stage.ops, "serin.trouble", None).await;
    assert!(format!("{:?}", trouble.evidence).contains("loop_late"), "and somebody is told: {trouble:?}");
    serin.kill().await;
}
