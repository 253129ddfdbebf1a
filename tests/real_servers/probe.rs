//! What `serin probe` says of a server's canaries.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::folder::Folder;

/// Whether every canary is seen as expected: `right`, or wrong for this reason. The error shows what was seen.
pub(crate) async fn finds(folder: &Folder, expected: &str) -> Result<(), String> {
    let config = folder.config();
    let output = Command::new(env!("CARGO_BIN_EXE_serin"))
        .args(["probe", "server", "--json", "--config"])
        .arg(&config)
        .env("NO_COLOR", "1")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let yaml = std::fs::read_to_string(&config).expect("we wrote it");
    let errors = String::from_utf8_lossy(&output.stderr);
    let seen: Value = serde_json::from_str(&said).map_err(|_| format!("{errors}{said}\n{yaml}"))?;
    let asks = seen["asks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let reasons: Vec<String> = asks.iter().map(|ask| reason(&seen, ask)).collect();
    if reasons.len() == 3 && reasons.iter().all(|reason| reason == expected) {
        return Ok(());
    }
    Err(format!("{expected} was expected, and seen was {reasons:?}\n{seen:#}\n{yaml}"))
}

/// What a canary's answer is judged as.
fn reason(seen: &Value, ask: &Value) -> String {
    let verdict = ask["verdict"].as_str().unwrap_or("no verdict");
    let mut findings = seen["outcome"]["findings"].as_array().into_iter().flatten();
    let named = match verdict {
        "wrong" => {
            let key = format!("canary.{}", ask["canary"].as_str().unwrap_or_default());
            let told = findings.find_map(|finding| finding["evidence"][&key].as_str());
            told.and_then(|told| Some(told.split_once(':')?.0.to_owned()))
        }
        "failed" => {
            let mut errors = findings.filter(|finding| finding["signal"] == "errors");
            errors.find_map(|finding| finding["reason"].as_str()).map(str::to_owned)
        }
        _ => None,
    };
    named.unwrap_or_else(|| verdict.to_owned())
}
