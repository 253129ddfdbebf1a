//! Somebody with a terminal and no browser: what is open, taking it, what is wrong with a canary, and help with the words.

use std::process::Stdio;

use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, reference};

#[tokio::test(flavor = "multi_thread")]
async fn an_incident_is_seen_taken_and_understood_in_a_terminal() {
    let server = reference().await;
    let stage = Stage::start(&format!(
        "  - id: docs\n    url: {}\n    canaries:\n      \
         - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n",
        server.mcp_url()
    ))
    .await;
    stage.well("docs").await;
    let at = ["--url", &stage.pages];
    let serin = async |arguments: &[&str]| stage.runs(&[arguments, &at].concat()).await;
    assert_eq!(serin(&["incidents"]).await, (Some(0), "no incident is open\n".to_owned()));
    let (code, said) = serin(&["ack", "docs"]).await;
    assert!(code == Some(1) && said.contains("no incident is open"), "{said}");
    let (code, said) = serin(&["incidents", "--monitor", "dcos"]).await;
    assert!(code == Some(1) && said.contains("did you mean 'docs'?"), "{said}");

    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let empty =
        Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };
    let message = stage.opened("nothing is found any more", empty).await;
    let id = &message.incident.as_ref().unwrap().id;
    let (code, said) = serin(&["incidents", "--monitor", "docs"]).await;
    assert!(code == Some(1) && said.contains("empty_results") && said.contains(id.as_str()), "{said}");

    let (code, said) = serin(&["ack", ""]).await;
    assert!(code == Some(1) && said.contains("too short"), "{said}");
    let (code, said) = serin(&["ack", &id[id.len() - 6..], "--as", "kim"]).await;
    assert!(code == Some(0) && said.contains("acknowledged by kim") && said.contains("serin probe docs"), "{said}");
    let (code, said) = serin(&["ack", id.as_str(), "--as", "kim"]).await;
    assert!(code == Some(0) && said.contains("yours already"), "{said}");
    let (code, said) = serin(&["ack", id.as_str(), "--as", "lee"]).await;
    assert!(code == Some(1) && said.contains("not acknowledged: kim has it"), "{said}");
    let listen = stage.pages.trim_start_matches("http://");
    stage.beside("broken.yaml", &format!("serin:\n  listen: {listen}\nmonitors: [\n"));
    let (_, said) = stage.runs(&["incidents", "--config", "broken.yaml"]).await;
    assert!(said.contains("warning: broken.yaml has") && said.contains("acknowledged by kim"), "{said}");

    let (code, said) = stage.runs(&["probe", "docs"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("✗ card · wrong"), "{said}");
    for line in ["asked    \"OC-31\"", "expected reference/oncall.md within", "got      empty_results: no results"] {
        assert!(said.contains(line), "{line} in {said}");
    }
}

#[tokio::test]
async fn words_behind_a_command_are_files_and_none_says_where_to_begin() {
    let folder = tempfile::tempdir().unwrap();
    let serin = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
        let ran = command.current_dir(folder.path()).args(arguments).output().await.unwrap();
        let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (ran.status.code(), said)
    };
    for command in ["run", "check", "plan"] {
        let (code, said) = serin(&[command]).await;
        assert!(code == Some(1) && said.contains("serin init URL --append monitors.yaml"), "{command}: {said}");
    }
    let fleet = "version: 1\nmonitors:\n- { id: docs, url: \"https://docs.example.org/mcp\" }\n";
    std::fs::write(folder.path().join("fleet.yaml"), fleet).unwrap();
    for arguments in [["check", "fleet.yaml"].as_slice(), &["check", "--config", "fleet.yaml"]] {
        let (code, said) = serin(arguments).await;
        assert!(code == Some(0) && said.contains("fleet.yaml: right, 1 monitor"), "{said}");
    }
    let (code, said) = serin(&["check", "fleet.yaml", "--config", "fleet.yaml"]).await;
    assert!(code == Some(2) && said.contains("cannot be used with"), "{said}");

    let (code, said) = serin(&["plan", "fleet.yaml"]).await;
    assert!(code == Some(1) && said.contains("no commit holds fleet.yaml"), "{said}");
    let git = |arguments: &[&str]| {
        let settings = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let mut command = std::process::Command::new("git");
        assert!(command.current_dir(folder.path()).args(settings).args(arguments).output().unwrap().status.success());
    };
    git(&["init"]);
    git(&["add", "."]);
    git(&["commit", "-m", "fleet"]);
    assert_eq!(serin(&["plan", "fleet.yaml"]).await.0, Some(0), "nothing differs from the last commit");
    std::fs::write(folder.path().join("fleet.yaml"), fleet.replace("docs,", "docs, every: 5m,")).unwrap();
    let (code, said) = serin(&["plan", "fleet.yaml"]).await;
    assert!(code == Some(2) && said.contains("docs") && said.contains("every"), "{said}");

    std::fs::write(folder.path().join("broken.yaml"), "version: 1\nmonitors: [\n").unwrap();
    let broken = ["--config", "broken.yaml"];
    for command in [["run"].as_slice(), &["probe", "docs"], &["probe", "docs", "--replay", "0193"], &["backup", "b.db"]]
    {
        let (_, said) = serin(&[command, &broken].concat()).await;
        assert!(said.contains("error: this is not YAML"), "{command:?}: {said}");
        assert!(!said.contains("error: error:"), "a fault names itself an error, {command:?}: {said}");
    }

    for shell in ["bash", "zsh", "fish"] {
        let (code, said) = serin(&["completions", shell]).await;
        assert!(code == Some(0) && said.contains("incidents"), "{shell}");
    }
    let pages = folder.path().join("man");
    assert_eq!(serin(&["man", pages.to_str().unwrap()]).await, (Some(0), String::new()));
    let page = std::fs::read_to_string(pages.join("serin-ack.1")).unwrap();
    assert!(page.contains("Takes an open incident"), "{page}");
}

#[tokio::test]
async fn who_gives_up_at_a_password_gets_the_terminal_back_as_it_was() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    // A terminal of its own, whose settings are looked at behind the program.
    let line = format!("{} user hash ada; echo \"ended $?\"; stty -a; echo over", env!("CARGO_BIN_EXE_serin"));
    let mut command = tokio::process::Command::new("script");
    command
        .args(["-q", "-f", "-c", &line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().expect("util-linux is installed");
    let (mut keys, shown) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = BufReader::new(shown);
    let mut asked = Vec::new();
    shown.read_until(b':', &mut asked).await.unwrap();
    keys.write_all(b"half of it\x03").await.unwrap();
    keys.flush().await.unwrap();
    let (mut said, mut line) = (String::new(), String::new());
    while !line.starts_with("over") {
        line.clear();
        assert!(shown.read_line(&mut line).await.unwrap() > 0, "it ends early: {said}");
        said.push_str(&line);
    }
    assert!(said.contains("given up") && said.contains("ended 1"), "{said}");
    assert!(said.contains(" echo ") && said.contains("isig "), "{said}");
    assert!(!said.contains("half of it"), "nothing of it is shown: {said}");
}
