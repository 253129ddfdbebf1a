//! A second Serin on the database of the first: it watches nothing until that one ends, and then everything.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use crate::Place;

fn serin(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["run", "--config", "monitors.yaml"]).current_dir(folder).kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// What a program says, which goes on being read: one that nobody listens to may end by itself.
struct Said<R>(tokio::io::Lines<BufReader<R>>);

impl<R: AsyncRead + Unpin> Said<R> {
    fn of(out: Option<R>) -> Self {
        Self(BufReader::new(out.expect("it is read")).lines())
    }

    /// Reads on until a line says so.
    async fn until(&mut self, what: &str) {
        let said = async {
            while let Some(line) = self.0.next_line().await.expect("it is read") {
                if line.contains(what) {
                    return;
                }
            }
            panic!("it ended without saying '{what}'");
        };
        tokio::time::timeout(Duration::from_secs(60), said).await.expect("it is said by then");
    }
}

/// A monitor that comes later.
const MORE: &str = "  - { id: wiki, url: \"http://127.0.0.1:9/other\" }\n";

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
    std::fs::write(place.folder.path().join("monitors.yaml"), &yaml).expect("a file");
    let mut first = serin(place.folder.path());
    let mut of_first = Said::of(first.stdout.take());
    of_first.until("serin watches 1 monitor").await;
    let turn = || place.read("SELECT value FROM meta WHERE key = 'turn'");
    let firsts = turn().await;
    let mut second = serin(place.folder.path());
    let (mut log, mut said) = (Said::of(second.stderr.take()), Said::of(second.stdout.take()));
    log.until("this one stands by").await;
    // By then the file is another, and so is what is watched.
    std::fs::write(place.folder.path().join("monitors.yaml"), yaml + MORE).expect("a file");
    assert!(first.try_wait().expect("it is asked").is_none(), "the first lives");
    assert_eq!(turn().await, firsts, "and it is the first's turn");
    first.kill().await.expect("it is killed");
    said.until("serin watches 2 monitors").await;
    assert_ne!(turn().await, firsts);
    second.kill().await.expect("it ends");
}
