//! The official conformance runner plays the client, `serin reference serve` the server.
//!
//! Every scenario of the suite is either run or left out by name, with the fixture it needs: none may be
//! forgotten, and none may stay left out once the suite has dropped it. What a scenario that is run checks is
//! accounted for one by one: all succeed but those named here, and those really do not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;

use crate::node;
use crate::served::Served;

/// Runs at a time; each is a node of its own.
const AT_A_TIME: usize = 3;

/// Which of our doors.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Door {
    /// `/mcp`, without sessions.
    Plain,
    /// `/legacy/mcp`, with them.
    Sessions,
}
use Door::{Plain, Sessions};

/// A scenario at a version and a door, and its checks that do not succeed.
type Row = (&'static str, &'static str, Door, &'static [&'static str]);

const RUN: &[Row] = &[
    // The modern era.
    ("server-stateless", "2026-07-28", Plain, NEED_DIAGNOSTIC_TOOLS),
    ("tools-list", "2026-07-28", Plain, &[]),
    ("server-sse-multiple-streams", "2026-07-28", Plain, &[]),
    ("dns-rebinding-protection", "2026-07-28", Plain, &[]),
    ("http-header-validation", "2026-07-28", Plain, &[]),
    ("caching", "2026-07-28", Plain, NEED_PROMPTS_AND_RESOURCES),
    // A SHOULD for servers that have resources: ours says that the method is not there.
    ("sep-2164-resource-not-found", "2026-07-28", Plain, &["sep-2164-error-code", "sep-2164-data-uri"]),
    ("input-required-result-unsupported-methods", "2026-07-28", Plain, &[]),
    // The older era, without sessions.
    ("server-initialize", "2025-06-18", Plain, &[]),
    ("server-initialize", "2025-11-25", Plain, &[]),
    ("ping", "2025-06-18", Plain, &[]),
    ("ping", "2025-11-25", Plain, &[]),
    ("tools-list", "2025-06-18", Plain, &[]),
    ("tools-list", "2025-11-25", Plain, &[]),
    ("dns-rebinding-protection", "2025-11-25", Plain, &[]),
    // And with them.
    ("server-initialize", "2025-06-18", Sessions, &[]),
    ("server-initialize", "2025-11-25", Sessions, &[]),
    ("server-session-lifecycle", "2025-03-26", Sessions, &[]),
    ("server-session-lifecycle", "2025-06-18", Sessions, &[]),
    ("server-session-lifecycle", "2025-11-25", Sessions, &[]),
    ("ping", "2025-11-25", Sessions, &[]),
    ("tools-list", "2025-06-18", Sessions, &[]),
    ("tools-list", "2025-11-25", Sessions, &[]),
    ("server-sse-multiple-streams", "2025-11-25", Sessions, &[]),
    // Its last check wants a tool, `test_reconnection`, that closes its own stream.
    ("server-sse-polling", "2025-11-25", Sessions, &["server-sse-disconnect-resume"]),
    ("dns-rebinding-protection", "2025-11-25", Sessions, &[]),
];

/// They call `test_missing_capability`, `test_streaming_elicitation` and `test_logging_tool`, or want lists that
/// change, which ours do not.
const NEED_DIAGNOSTIC_TOOLS: &[&str] = &[
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2575-server-sends-subscription-ack",
    "sep-2575-server-tags-subscription-id",
    "sep-2575-server-honors-notification-filter",
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
];

/// A server of tools declares neither, and says that the methods are not there.
const NEED_PROMPTS_AND_RESOURCES: &[&str] = &[
    "sep-2549-prompts-list-caching-hints",
    "sep-2549-resources-list-caching-hints",
    "sep-2549-resources-templates-list-caching-hints",
    "sep-2549-resources-read-caching-hints",
];

/// Left out: the fixture that a scenario needs, by a name that the suite itself knows.
const LEFT_OUT: &[(&str, &str)] = &[
    // Tools that do what the suite's own do.
    ("tools-call-simple-text", "test_simple_text"),
    ("tools-call-image", "test_image_content"),
    ("tools-call-audio", "test_audio_content"),
    ("tools-call-embedded-resource", "test_embedded_resource"),
    ("tools-call-mixed-content", "test_multiple_content_types"),
    ("tools-call-with-logging", "test_tool_with_logging"),
    ("tools-call-error", "test_error_handling"),
    ("tools-call-with-progress", "test_tool_with_progress"),
    ("tools-call-sampling", "test_sampling"),
    ("tools-call-elicitation", "test_elicitation"),
    ("json-schema-2020-12", "json_schema_2020_12_tool"),
    ("elicitation-sep1034-defaults", "test_elicitation_sep1034_defaults"),
    ("elicitation-sep1330-enums", "test_elicitation_sep1330_enums"),
    ("http-custom-header-server-validation", "x-mcp-header"),
    ("input-required-result-basic-elicitation", "test_input_required_result_elicitation"),
    ("input-required-result-basic-sampling", "test_input_required_result_sampling"),
    ("input-required-result-basic-list-roots", "test_input_required_result_list_roots"),
    ("input-required-result-request-state", "test_input_required_result_request_state"),
    ("input-required-result-multiple-input-requests", "test_input_required_result_multiple_inputs"),
    ("input-required-result-multi-round", "test_input_required_result_multi_round"),
    ("input-required-result-missing-input-response", "test_input_required_result_elicitation"),
    ("input-required-result-non-tool-request", "test_input_required_result_prompt"),
    ("input-required-result-result-type", "test_input_required_result_elicitation"),
    ("input-required-result-tampered-state", "test_input_required_result_tampered_state"),
    ("input-required-result-capability-check", "test_input_required_result_capabilities"),
    ("input-required-result-ignore-extra-params", "test_input_required_result_elicitation"),
    ("input-required-result-validate-input", "test_input_required_result_elicitation"),
    // Prompts, resources, completion and log messages: capabilities that a server of tools does not declare.
    ("prompts-list", "test_simple_prompt"),
    ("prompts-get-simple", "test_simple_prompt"),
    ("prompts-get-with-args", "test_prompt_with_arguments"),
    ("prompts-get-embedded-resource", "test_prompt_with_embedded_resource"),
    ("prompts-get-with-image", "test_prompt_with_image"),
    ("completion-complete", "test_prompt_with_arguments"),
    ("resources-list", "test://static-text"),
    ("resources-read-text", "test://static-text"),
    ("resources-read-binary", "test://static-binary"),
    ("resources-templates-read", "test://template/{id}/data"),
    ("resources-subscribe", "test://watched-resource"),
    ("resources-unsubscribe", "test://watched-resource"),
    ("logging-set-level", "logging/setLevel"),
    // Extensions that ours does not declare.
    ("sep-2640-skills-directory", "io.modelcontextprotocol/skills"),
    ("sep-2640-skills-enumeration", "io.modelcontextprotocol/skills"),
    ("sep-2640-skills-manifest", "io.modelcontextprotocol/skills"),
    ("tasks-lifecycle", "io.modelcontextprotocol/tasks"),
    ("tasks-capability-negotiation", "io.modelcontextprotocol/tasks"),
    ("tasks-wire-fields", "io.modelcontextprotocol/tasks"),
    ("tasks-request-state-removal", "io.modelcontextprotocol/tasks"),
    ("tasks-mrtr-input", "io.modelcontextprotocol/tasks"),
    ("tasks-request-headers", "io.modelcontextprotocol/tasks"),
    ("tasks-dispatch-and-envelope", "io.modelcontextprotocol/tasks"),
    ("tasks-status-notifications", "io.modelcontextprotocol/tasks"),
    ("tasks-required-task-error", "io.modelcontextprotocol/tasks"),
    ("tasks-mrtr-composition", "io.modelcontextprotocol/tasks"),
];

fn runner() -> std::path::PathBuf {
    node::tests("conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js")
}

/// The suite's server scenarios, and the versions of each; extensions stand on no version's list.
fn scenarios() -> BTreeMap<String, Vec<String>> {
    let output = node::script(&runner()).args(["list", "--server"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let lines = said.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(" ["));
    lines
        .map(|(name, rest)| (name.to_owned(), rest.trim_end_matches(']').split(',').map(str::to_owned).collect()))
        .collect()
}

/// Runs one scenario and holds each of its checks to what is expected of it.
fn check(url: &str, (scenario, version, _, expected): Row) -> Result<(), String> {
    let results = tempfile::tempdir().unwrap();
    let output = node::script(&runner())
        .args(["server", "--url", url, "--scenario", scenario, "--spec-version", version, "--timeout", "20000"])
        .arg("--output-dir")
        .arg(results.path())
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let at = format!("{scenario} at {version}, {url}");
    let checks = checks(results.path()).ok_or_else(|| format!("{at}: nothing was checked\n{said}"))?;
    let of = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<&str> {
        let found = checks.iter().filter(|check| wanted(check["status"].as_str().unwrap_or_default()));
        found.filter_map(|check| check["id"].as_str()).collect()
    };
    let missed = of(&|status| !matches!(status, "SUCCESS" | "INFO"));
    if missed != expected.iter().copied().collect() {
        return Err(format!(
            "{at}: expected of its checks are {expected:?}, and these did not succeed: {missed:?}\n{said}"
        ));
    }
    // A scenario that finds nothing to check would prove nothing.
    if of(&|status| status == "SUCCESS").is_empty() { Err(format!("{at}: nothing succeeded\n{said}")) } else { Ok(()) }
}

/// What the runner wrote down.
fn checks(results: &Path) -> Option<Vec<Value>> {
    let run = std::fs::read_dir(results).ok()?.next()?.ok()?.path();
    serde_json::from_str(&std::fs::read_to_string(run.join("checks.json")).ok()?).ok()
}

#[test]
#[ignore = "needs tests/install.sh"]
fn the_official_server_scenarios_that_need_no_fixture_pass() {
    let served = Served::with(&[]);
    let (open, failed) = (Mutex::new(RUN.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let Some(row) = open.lock().unwrap().next() else { break };
                    let url = if row.2 == Plain { &served.mcp } else { &served.legacy };
                    if let Err(why) = check(url, *row) {
                        failed.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} failed\n\n{}", failed.len(), RUN.len(), failed.join("\n\n"));
}

#[test]
#[ignore = "needs tests/install.sh"]
fn every_scenario_of_the_suite_is_run_or_left_out_for_a_reason() {
    let suite = scenarios();
    let run: BTreeSet<&str> = RUN.iter().map(|row| row.0).collect();
    let left: BTreeSet<&str> = LEFT_OUT.iter().map(|row| row.0).collect();
    assert_eq!(run.intersection(&left).collect::<Vec<_>>(), Vec::<&&str>::new(), "run and left out");
    let named: BTreeSet<&str> = run.union(&left).copied().collect();
    assert_eq!(named, suite.keys().map(String::as_str).collect(), "what is named, and what the suite has");
    for (scenario, version, ..) in RUN {
        assert!(suite[*scenario].iter().any(|known| known == version), "{scenario} is not of {version}");
    }
    let source = std::fs::read_to_string(runner()).unwrap();
    for (scenario, fixture) in LEFT_OUT {
        assert!(source.contains(fixture), "{scenario}: the suite does not know {fixture} any more");
    }
}
