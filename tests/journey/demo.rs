//! The demo, as somebody starts it who has just cloned Serin.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

#[tokio::test]
async fn the_demo_says_first_what_it_is_about_to_do() {
    let mut demo = Demo::start(&["--calm"]).await;
    let said = demo.said.join("\n");
    assert!(said.starts_with("starting four search servers (docs, policies, support, handbook)"), "{said}");
    assert!(said.contains("on loopback") && !said.contains("things break"), "{said}");
    let page = demo.get("/").await;
    assert!(page.contains("handbook"), "{} shows the fleet", demo.pages);
    assert!(page.contains("href=\"/status\""), "and leads to what everybody sees");
    let line = demo.hear("status     ").await;
    assert!(line.contains(&format!("{}/status ", demo.pages)), "{line}");
    let status = demo.get("/status").await;
    for (part, is_there) in [("Support answers", true), ("Inside", true), ("handbook", false)] {
        assert_eq!(status.contains(&format!(">{part}<")), is_there, "{part}: {status}");
    }
    demo.end().await;
}

#[tokio::test]
async fn the_demo_names_a_swapped_query_model_while_its_server_answers() {
    let mut demo = Demo::start(&[]).await;
    demo.hear("handbook is quietly wrong").await;
    let told = demo.hear("embedding_mismatch: handbook").await;
    assert!(told.contains("webhook"), "it reached a receiver: {told}");
    // Only where beats take so long that not all was asked, it is told without its cause first.
    let is_early = |line: &String| line.contains("incident.opened") && line.contains("not asked since");
    let opens = told.contains("incident.opened") || demo.said.iter().any(is_early);
    assert!(opens, "its cause is told with it: {:#?}", demo.said);
    let monitor: Value = serde_json::from_str(&demo.get("/api/v1/monitors/handbook").await).unwrap();
    let signals = monitor["signals"].as_array().unwrap();
    let signal = |name: &str| signals.iter().find(|signal| signal["signal"] == name).unwrap();
    assert_eq!(signal("quality")["failure_reason"], "embedding_mismatch", "{monitor}");
    for quiet in ["availability", "access", "errors", "health"] {
        assert_eq!(signal(quiet)["phase"], "quiet", "it is up, answers, and says that it is well: {quiet}");
    }
    // How many of each kind were asked by now is the machine's affair: the page and the API are read at one and the same beat.
    let (kinds, page) = loop {
        let before = demo.kinds("handbook").await;
        let page = demo.get("/monitors/handbook").await;
        if demo.kinds("handbook").await == before {
            break (before, page);
        }
    };
    let score = |kind: &str| {
        let found = kinds.as_array().unwrap().iter().find(|found| found["kind"] == kind).unwrap();
        (found["right"].as_u64().unwrap(), found["asked"].as_u64().unwrap())
    };
    let (keyword, meaning) = (score("keyword"), score("meaning"));
    assert!(keyword.0 == keyword.1 && keyword.1 > 0, "words are still found: {kinds}");
    assert!(meaning.0 == 0 && meaning.1 > 0, "nothing is found by meaning: {kinds}");
    let [keyword, meaning] = [keyword, meaning].map(|(right, asked)| format!("{right} of {asked}"));
    for part in ["embedding_mismatch", "gone from rank", &keyword, &meaning] {
        assert!(page.contains(part), "its page lacks {part}");
    }
    demo.end().await;
}

/// The whole show, and a browser that starts on a machine that does much else.
const SHOW_TAKES_AT_MOST: Duration = Duration::from_mins(10);

#[tokio::test]
#[ignore = "needs Chromium and node; run with --ignored"]
async fn the_demo_is_followed_on_its_pages() {
    let mut demo = Demo::start(&[]).await;
    let inbox = demo.hear("inbox      ").await;
    let inbox = inbox.split_whitespace().nth(1).unwrap();
    let run = Command::new("node")
        .args(["demo.mjs", &demo.pages, inbox])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    let status = tokio::time::timeout(SHOW_TAKES_AT_MOST, run).await.expect("it ends").unwrap();
    assert!(status.success(), "the pages do not tell the story; see above");
    demo.end().await;
}

/// A demo whose pages are there.
struct Demo {
    program: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// What it said before.
    said: Vec<String>,
    /// Where its pages are.
    pages: String,
}

impl Demo {
    async fn start(args: &[&str]) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut program = Command::new(env!("CARGO_BIN_EXE_serin"))
            .arg("demo")
            .args(args)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let mut demo = Self { program, lines, said: Vec::new(), pages: String::new() };
        let line = demo.hear("dashboard  ").await;
        line.split_once("dashboard  ").unwrap().1.trim().clone_into(&mut demo.pages);
        demo
    }

    /// Waits for a line that holds this.
    async fn hear(&mut self, wanted: &str) -> String {
        loop {
            let line = tokio::time::timeout(SHOW_TAKES_AT_MOST, self.lines.next_line()).await;
            let line =
                line.unwrap_or_else(|_| panic!("nothing more is said, nor: {wanted}: {:#?}", self.said)).unwrap();
            let line = line.unwrap_or_else(|| panic!("it ends without: {wanted}: {:#?}", self.said));
            if line.contains(wanted) {
                return line;
            }
            self.said.push(line);
        }
    }

    async fn get(&self, path: &str) -> String {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let answer = client.get(format!("{}{path}", self.pages)).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}");
        answer.text().await.unwrap()
    }

    /// How the canaries of each kind stand, as the API says it.
    async fn kinds(&self, monitor: &str) -> Value {
        let body: Value = serde_json::from_str(&self.get(&format!("/api/v1/monitors/{monitor}")).await).unwrap();
        body["canary_watch"]["kinds"].clone()
    }

    async fn end(mut self) {
        let id = i32::try_from(self.program.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
        assert!(self.program.wait().await.unwrap().success(), "it ends when told to");
    }
}
