//! The official conformance runner plays the server, `serin probe` the client. `tests/install.sh` installs it.
//!
//! Left out, because a prober has no such part: scenarios that ask a person or a model (elicitation, `input_required`,
//! authorization by browser), skills, and `json-schema-2020-12-preservation`, which wants a tool's schema sent back as
//! an argument; a monitor's arguments are declared beforehand. That we keep a schema as it came is shown by its hash.
//!
//! Run with `cargo test --test conformance -- --ignored`, or with all tests by `--include-ignored`.

use std::path::Path;
use std::process::Command;

/// Runs one scenario at one version of the specification; the runner's exit code says whether every check passed.
fn check(scenario: &str, version: &str, sentence: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let bin = folder.join("node_modules/.bin");
    // The pinned node, where there is one for this machine; the runner needs 22 or newer.
    let pinned = bin.join("node");
    let node = if pinned.exists() { pinned } else { "node".into() };
    let results = tempfile::tempdir().expect("a folder for its results");
    let output = Command::new(&node)
        .arg(bin.join("conformance"))
        .args(["client", "--scenario", scenario, "--spec-version", version, "--timeout", "60000", "--command"])
        .arg(format!("'{}' '{}'", node.display(), folder.join("client.mjs").display()))
        // Extensions stand on no version's list and have to be asked for by force.
        .args(scenario.starts_with("auth/").then_some("--force"))
        .arg("--output-dir")
        .arg(results.path())
        .env("SERIN", env!("CARGO_BIN_EXE_serin"))
        .output()
        .unwrap_or_else(|error| panic!("{} does not start ({error}); run tests/install.sh", node.display()));
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // A scenario that does not exist at this version is skipped with success: that would prove nothing.
    if output.status.success() && said.contains("OVERALL: PASSED") {
        Ok(())
    } else {
        Err(format!("{scenario} at {version}: {sentence}\n{said}"))
    }
}

#[test]
#[ignore = "needs tests/install.sh"]
fn the_official_client_scenarios_that_fit_a_prober_pass() {
    let table = [
        (
            "initialize",
            "2025-06-18",
            "initialize as an older server wants it, which answers anything it does not know with {}",
        ),
        ("initialize", "2025-11-25", "initialize as the newest legacy server wants it"),
        ("tools_call", "2025-06-18", "a tool is called with the numbers that the file declares"),
        ("tools_call", "2025-11-25", "so it is in the last legacy version"),
        ("tools_call", "2026-07-28", "so it is in the modern era"),
        (
            "sse-retry",
            "2025-11-25",
            "a stream that ends early is taken up again, not sooner than asked, behind its last event",
        ),
        (
            "request-metadata",
            "2026-07-28",
            "every request describes itself, and a refusal that names our version is asked again",
        ),
        ("http-standard-headers", "2026-07-28", "headers name the method and the tool"),
        (
            "http-custom-headers",
            "2026-07-28",
            "arguments travel in headers, encoded where they must be, left out where null",
        ),
        ("http-invalid-tool-headers", "2026-07-28", "a tool that clients have to drop is not called, its neighbour is"),
        ("json-schema-ref-no-deref", "2026-07-28", "an address in a schema is never fetched"),
        ("auth/client-credentials-basic", "2026-07-28", "a token is fetched with the client's secret, from its issuer"),
    ];
    let failed: Vec<String> = table
        .into_iter()
        .filter_map(|(scenario, version, sentence)| check(scenario, version, sentence).err())
        .collect();
    assert!(failed.is_empty(), "{} of {} failed\n\n{}", failed.len(), table.len(), failed.join("\n\n"));
}
