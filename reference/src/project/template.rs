//! The configuration that a new project begins with.

use crate::project::subject::Subject;

/// What `serin reference setup` writes: every setting, with its default.
pub const TEMPLATE: &str = r#"# The index of this project: what `serin reference index` reads and `serin reference serve` serves.
version: 1

# What models are told that they search: a name, and a sentence or two, at most 60 and 240 characters. `setup` took
# them from the README or a manifest: edit them. Without a name it is the folder's.
name: ""
summary: ""

# One file beside this one, or a PostgreSQL database with pgvector: `postgres: ${env:DATABASE_URL}`. Or vectors in a
# Chroma server, and a file for the rest: `chroma: {url: "http://127.0.0.1:8000", collection: my-project}`.
store:
  sqlite: index.db

index:
  roots: ["."]                       # folders of the project
  # Patterns as git writes them; nothing else is read. Of HTML the article, of PDF and DOCX the text is indexed.
  allow: ["*.md", "*.txt", "*.rst", "*.html", "*.htm", "*.pdf", "*.docx"]
  deny: ["node_modules/", "target/", "*.min.*", "*.lock"]
  # A document has 4000000 characters of text at most, code and data 200000. PDF and DOCX have 16777216 bytes at most.
  budgets: { files: 20000, bytes: 200000000, file_bytes: 16000000, tokens: 20000000 }
  # What is known of files by their path; the first rule that fits counts. For a codebase:
  #   - { files: "docs/rules/**", source_type: constraints }
  #   - { files: "docs/patterns/**", source_type: patterns }
  #   - { files: "src/**", source_type: code, volatility: changing }
  rules: []

# Where documents are cut: by headings and sentences, code by function, unless a method is named
# (markdown, code, topics, fixed, parent_child). Characters are those of `fixed`.
chunks: { tokens: 200, overlap: 1, characters: 512, character_overlap: 64 }

# `none` searches for words alone. With vectors questions in other words are answered too: weights, which
# `serin reference model get` fetches and sets here, or a server as in
# `http: {url: "http://127.0.0.1:11434/v1", model: nomic-embed-text, dimensions: 768}`, its key in the variable that
# `key_env` names.
embedder: none

search:
  over_fetch: 20                     # candidates of each retriever, 100 at most
  reranker: none                     # or `http: {url, model}`, `folder: {path}`
  weight: 1.0
  priors: { constraints: 0.35, patterns: 0.20, code: 0.0 }
  recency: { weight: 0.0, half_life_days: 30 }
  # What short words stand for, such as `SLA: service level agreement`.
  terms: {}
  split_questions: true
  # A language model may word questions anew, and write a passage whose vector is searched with (HyDE):
  # `writer: {url: "http://127.0.0.1:11434/v1", model: "qwen2.5:3b", rewrite: true, hyde: false}`, with `key_env` if need be.

answers:                             # answers remembered by the very words that were asked
  remember: true

log:
  questions: hashed                  # or `plain`

# Callers who see some collections only, by the token they bring; "*" is all. With tenants, nobody else is let in but by
# the operator's --token:
#   tenants:
#     acme: { token: "${env:ACME_TOKEN}", collections: [acme, shared] }
"#;

/// The template with a name and a summary, on the lines where they are edited.
pub fn filled(subject: &Subject) -> String {
    // A string of JSON is one of YAML, whatever is in it.
    let line = |key: &str, text: &str| format!("\n{key}: {}\n", serde_json::Value::from(text));
    let named = TEMPLATE.replacen("\nname: \"\"\n", &line("name", &subject.name), 1);
    named.replacen("\nsummary: \"\"\n", &line("summary", &subject.summary), 1)
}
