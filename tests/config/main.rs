//! monitors.yaml from outside: what is accepted, what is refused and how that reads, and what is never shown.

use std::path::Path;

use serin::config::Loaded;
use serin::config::check::checker::Unset;
use serin::config::load;
use serin::config::read::diagnostic::{Diagnostics, PlacedDiagnostic};
use serin::config::read::source::ConfigSource;

mod accepted;
mod access;
mod golden;
mod sign_in;
mod hidden;
mod included;
mod keys;
mod pinned;
mod plan;
mod route;
mod refused;
mod schema;

/// The file of the design, whole.
const FULL: &str = r##"version: 1
serin:
  listen: 127.0.0.1:8080            # any other bind demands a token
  public_url: https://serin.example.org
  database: serin.db
  token: ${env:SERIN_TOKEN}
  smtp: { host: smtp.example.org, port: 587, tls: starttls, username: serin, password: "${env:SMTP_PASSWORD}", from: serin@example.org }
  internal: [mail]
  allow_private: [10.20.0.0/16]
defaults: { every: 60s, timeout: 10s }
runbooks:
  default: https://runbooks.example.org/mcp#{reason}
  index_empty_or_stale: https://runbooks.example.org/reindex
receivers:
  oncall: { webhook: { url: "${env:ONCALL_URL}", secret: "${env:ONCALL_SECRET}" } }
  mail:   { email: { to: [sre@example.org] } }
routes:
  - { match: { severity: page }, to: [oncall], fallback: mail }
  - { to: [mail] }
monitors:
  - id: docs
    name: Product documentation
    url: https://docs-rag.example.org/mcp
    labels: { team: docs, env: prod }
    auth: { bearer: "${env:DOCS_TOKEN}" }
    health: [ { url: https://docs-rag.example.org/live }, { url: https://docs-rag.example.org/health } ]
    search:
      tool: search_documents
      query: query
      arguments: { top_k: 5 }
      results: /results
      per_beat: 2
    canaries:
      - { id: token-life, query: how long does an unused token live?, expect: [auth/tokens.md], within: 5, kind: meaning }
      - { id: err-4417, query: ERR-4417, expect: [errors/4417.md], kind: keyword }
      - { id: dragons, query: colour of the tax on dragons, kind: negative, max_score: 0.3 }
    rules:
      availability: { after: 3, recover_after: 2, page_after: 45s, severity: page }
      latency: { p95: 800ms, window: 20m, for: 20m, severity: ticket }
      quality: { within: 5, after: 3, severity: page }
      freshness: { older_than: 72h, severity: ticket }
      contract: { breaking: page, compatible: notice, wording: ticket }
"##;

/// Values that must never be seen.
const SECRETS: [(&str, &str); 5] = [
    ("SERIN_TOKEN", "geheim-token"),
    ("SMTP_PASSWORD", "geheim-password"),
    ("ONCALL_URL", "https://hooks.example.org/geheim-path?key=geheim-key"),
    ("ONCALL_SECRET", "whsec_Z2VoZWlt"),
    ("DOCS_TOKEN", "geheim-bearer"),
];

fn secrets(name: &str) -> Option<String> {
    SECRETS.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

fn source(text: impl Into<Vec<u8>>) -> ConfigSource {
    ConfigSource::new(Path::new("monitors.yaml"), text.into(), None)
}

fn faults(text: &str) -> Diagnostics {
    load(&source(text), &secrets, Unset::Refuse).expect_err("the file is refused")
}

fn loaded(text: &str) -> Loaded {
    load(&source(text), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"))
}

/// `line:column message => mend`, one a fault.
fn lines(faults: &Diagnostics) -> Vec<String> {
    let line = |fault: &PlacedDiagnostic| {
        let help = fault.help.as_deref().unwrap_or("");
        format!("{}:{} {} => {help}", fault.line, fault.column, fault.message)
    };
    faults.list().iter().map(line).collect()
}

/// A file with one monitor that is right, and what a row adds to it, indented like its keys.
fn with_monitor(more: &str) -> String {
    let more: String = more.lines().map(|line| format!("    {line}\n")).collect();
    format!("version: 1\nmonitors:\n  - id: docs\n    url: https://docs.example.org/mcp\n{more}")
}

/// A file with one monitor that is right, and whole sections below it, from line 3 on.
fn with_sections(more: &str) -> String {
    format!("version: 1\nmonitors: [{{ id: docs, url: \"https://docs.example.org/mcp\" }}]\n{more}")
}

#[track_caller]
fn check(sentence: &str, text: &str, expected: &[&str]) {
    assert_eq!(lines(&faults(text)), expected, "{sentence}\n{text}");
}
