//! Logs: the shape and the levels that were asked for, followed by a reload, and no secret at any level.

use serde_json::Value;

use crate::process::Serin;
use crate::stage::{SECRET, Stage, received};

/// The module and the level of every line, which are JSON objects all.
fn lines(log: &str) -> Vec<(String, String)> {
    let read = |line: &str| -> (String, String) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"));
        let text = |key: &str| line[key].as_str().unwrap_or_else(|| panic!("no {key}: {line}")).to_owned();
        (text("target"), text("level"))
    };
    log.lines().map(read).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_every_level_lines_are_json_and_hold_no_secret() {
    let (stage, file) = Stage::set(1).await;
    let token = "geheim-bearer-of-s0";
    let mut file = file;
    file.monitors[0].keys = "auth: { bearer: '${env:SERIN_TEST_BEARER}' }".to_owned();
    stage.write(&file);
    let variables = [("SERIN_LOG", "trace"), ("SERIN_TEST_BEARER", token)];
    let mut serin = Serin::spawn_in(&stage.config(), &["--log-format", "json"], &variables);
    serin.listens().await;
    stage.more_beats("s0", 2).await;
    stage.refuse(0);
    received(&stage.oncall, "incident.opened", Some("s0")).await;
    serin.signal("TERM").await;
    serin.ended().await;
    let log = serin.log();
    let lines = lines(&log.lines().filter(|line| !line.starts_with("stopping:")).collect::<Vec<_>>().join("\n"));
    assert!(lines.iter().any(|(target, _)| target.starts_with("serin::")), "it logs:\n{log}");
    for secret in [SECRET, token, SECRET.trim_start_matches("whsec_")] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_sets_levels_by_module_and_a_reload_changes_them() {
    let (stage, file) = Stage::set(1).await;
    let with = |log: &str| stage.text(&file).replace("defaults:\n", &format!("  log: {log}\ndefaults:\n"));
    stage.write_text(&with("{ level: error, format: json }"));
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 1).await;
    assert_eq!(lines(&serin.log()), [], "nothing went wrong, so nothing is said");
    stage.write_text(&with("{ level: error, format: json, modules: { daemon: info } }"));
    serin.logged("the new file is in force").await;
    let said = lines(&serin.log());
    assert!(said.iter().all(|(target, _)| target.starts_with("serin::daemon")), "that module and no other: {said:?}");
    stage.write_text(&with("{ level: error, format: text, modules: { cli: warn } }"));
    serin.logged("format takes effect with the next start").await;
    serin.stop().await;

    let mut refused = Serin::spawn_in(&stage.config(), &[], &[("SERIN_LOG", "info,prob=debug")]);
    assert!(!refused.ended().await.success(), "a typo in the variable is an error");
    assert!(refused.log().contains("SERIN_LOG: there is no module 'prob'; did you mean 'probe'?"), "{}", refused.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_colour_goes_where_no_terminal_is() {
    let (stage, _) = Stage::set(1).await;
    let mut serin = Serin::spawn_in(&stage.config(), &[], &[("NO_COLOR", ""), ("TERM", "xterm-256color")]);
    serin.listens().await;
    serin.signal("TERM").await;
    serin.ended().await;
    let log = serin.log();
    assert!(log.contains(" INFO "), "it logs:\n{log}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
}
