//! The demo, as somebody starts it who has just cloned Serin.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

#[tokio::test]
async fn the_demo_says_first_what_it_is_about_to_do() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_serin"))
        .args(["demo", "--calm"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    let pages = loop {
        let line = lines.next_line().await.unwrap().expect("it says where its pages are before it ends");
        if let Some((_, pages)) = line.split_once("dashboard  ") {
            break pages.trim().to_owned();
        }
        said.push(line);
    };
    let said = said.join("\n");
    assert!(said.starts_with("starting four search servers (docs, policies, support, handbook)"), "{said}");
    assert!(said.contains("on loopback") && !said.contains("things break"), "{said}");
    drop(rustls::crypto::ring::default_provider().install_default());
    let page = reqwest::Client::builder().no_proxy().build().unwrap().get(&pages).send().await.unwrap();
    assert!(page.status().is_success() && page.text().await.unwrap().contains("handbook"), "{pages} shows the fleet");
    let id = i32::try_from(demo.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    assert!(demo.wait().await.unwrap().success(), "it ends when told to");
}
