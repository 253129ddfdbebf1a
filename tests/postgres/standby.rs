//! A second Serin on the database of the first: it watches nothing until that one ends, and then everything.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use crate::Place;

fn serin(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["run", "--config", "monitors.yaml"]).current_dir(folder).kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Reads on until a line says so.
async fn says(lines: &mut (impl AsyncRead + Unpin), what: &str) {
    let mut lines = BufReader::new(lines).lines();
    while let Some(line) = lines.next_line().await.expect("it is read") {
        if line.contains(what) {
            return;
        }
    }
    panic!("it ended without saying '{what}'");
}

#[tokio::test]
async fn the_second_stands_by_and_begins_when_the_first_is_killed() {
    let place = Place::new();
    place.make("").await;
    let yaml = format!(
        "version: 1\nserin: {{ listen: 127.0.0.1:0, database: \"{}\", allow_private: [127.0.0.0/8] }}\n\
         receivers:\n  hook: {{ webhook: {{ url: \"http://127.0.0.1:9/hook\" }} }}\nroutes: [{{ to: [hook] }}]\n\
         monitors:\n  - {{ id: docs, url: \"http://127.0.0.1:9/mcp\" }}\n",
        place.name()
    );
    std::fs::write(place.folder.path().join("monitors.yaml"), yaml).expect("a file");
    let mut first = serin(place.folder.path());
    says(&mut first.stdout.take().expect("it is read"), "serin watches 1 monitor").await;
    let mut second = serin(place.folder.path());
    says(&mut second.stderr.take().expect("it is read"), "this one stands by").await;
    assert!(place.number("SELECT COUNT(*) FROM meta WHERE key = 'turn' AND value = '1'").await == 1);
    first.kill().await.expect("it is killed");
    says(&mut second.stdout.take().expect("it is read"), "serin watches 1 monitor").await;
    assert_eq!(place.read("SELECT value FROM meta WHERE key = 'turn'").await, ["2"]);
    second.kill().await.expect("it ends");
}
