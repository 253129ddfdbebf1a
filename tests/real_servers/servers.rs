//! The table of servers: how each is started and filled, what watches it, and what is seen when its notes are lost.

use std::fmt;

use serde_json::json;

use crate::notes::{NOTES, Note, TABLE, rows};
use crate::talk::Call;

/// A server that people run. `FOLDER` in its texts is its own folder, `PORT` is its upstream's.
#[derive(Debug)]
pub(crate) struct Server {
    /// Package and version.
    pub(crate) name: &'static str,
    pub(crate) runs: Runs,
    pub(crate) args: &'static [&'static str],
    pub(crate) env: &'static [(&'static str, &'static str)],
    pub(crate) data: Data,
    /// What stands behind `search:`, in a line.
    pub(crate) search: &'static str,
    /// What stands below `canaries:`, in a line each.
    pub(crate) canaries: [&'static str; 3],
    /// Ways in which the notes are lost, one after the other, and the reason for which every canary is then wrong.
    pub(crate) losses: &'static [(Loss, &'static str)],
}

/// What is started.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Runs {
    /// A script of what is installed in one of `packages/`.
    Node(&'static str, &'static str),
    /// A program of what is.
    Python(&'static str, &'static str),
    /// A script that lies here, with the Python of one of `packages/`.
    Script(&'static str, &'static str),
}

/// Where the notes are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Data {
    /// `memory.jsonl`, an entity a line.
    Graph,
    /// `notes/`, a Markdown file each.
    Markdown,
    /// `notes/`, a Python file each.
    Python,
    /// The SQLite file `notes.db`.
    Table,
    /// Behind an upstream, which searches `notes/`.
    Upstream,
    /// Where the server puts what is told by its own tools; it is started with these further arguments for that.
    Told(&'static [&'static str], fn() -> Vec<Call>),
}

/// How the notes are lost.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Loss {
    /// The file is there and holds nothing.
    EmptyFile(&'static str),
    NoFile(&'static str),
    NoFolder(&'static str),
    /// The folder `notes/` is there and holds nothing.
    NoNotes,
    /// The table is there and holds nothing.
    NoRows,
    /// The same, by the server's own tool.
    Told(&'static [&'static str], fn() -> Vec<Call>),
    NoUpstream,
}

impl fmt::Display for Loss {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyFile(name) => write!(to, "{name} is empty"),
            Self::NoFile(name) | Self::NoFolder(name) => write!(to, "{name} is gone"),
            Self::NoNotes => write!(to, "no note is left"),
            Self::NoRows | Self::Told(..) => write!(to, "no row is left"),
            Self::NoUpstream => write!(to, "its upstream is gone"),
        }
    }
}

const EMPTY: &str = "empty_results";
const FAILED: &str = "tool_error";

/// Notes by their names.
const NAMES: [&str; 3] = [
    "{ id: copper, query: copper, expect: [boilers] }",
    "{ id: varroa, query: varroa, expect: [beekeeping] }",
    "{ id: tonnage, query: tonnage, expect: [harbour-dues] }",
];
/// Notes by their files.
const PATHS: [&str; 3] = [
    "{ id: copper, query: copper, expect: [boilers.md] }",
    "{ id: varroa, query: varroa, expect: [beekeeping.md] }",
    "{ id: tonnage, query: tonnage, expect: [harbour-dues.md] }",
];
const SOURCES: [&str; 3] = [
    "{ id: copper, query: copper, expect: [boilers.py] }",
    "{ id: varroa, query: varroa, expect: [beekeeping.py] }",
    "{ id: tonnage, query: tonnage, expect: [harbour-dues.py] }",
];
/// Notes by their titles, in an answer that is text.
const TITLES: [&str; 3] = [
    "{ id: copper, query: copper, contains: [Boiler upkeep] }",
    "{ id: varroa, query: varroa, contains: [Beekeeping] }",
    "{ id: tonnage, query: tonnage, contains: [Harbour dues] }",
];
const ADDRESSES: [&str; 3] = [
    r#"{ id: copper, query: copper, expect: ["https://notes.example.org/boilers"] }"#,
    r#"{ id: varroa, query: varroa, expect: ["https://notes.example.org/beekeeping"] }"#,
    r#"{ id: tonnage, query: tonnage, expect: ["https://notes.example.org/harbour-dues"] }"#,
];
/// Files by patterns of their names, in an answer that is text.
const GLOBS: [&str; 3] = [
    r#"{ id: boil, query: "**/boil*", contains: [boilers.md] }"#,
    r#"{ id: bee, query: "**/bee*", contains: [beekeeping.md] }"#,
    r#"{ id: dues, query: "**/*dues*", contains: [harbour-dues.md] }"#,
];
const PARTS: [&str; 3] = [
    r#"{ id: boil, query: "^boil", contains: [boilers.md] }"#,
    r#"{ id: bee, query: "^bee", contains: [beekeeping.md] }"#,
    r#"{ id: dues, query: "^harbour", contains: [harbour-dues.md] }"#,
];
/// Rows, in an answer that is text.
const SELECTED: [&str; 3] = [
    r#"{ id: copper, query: "SELECT name FROM notes WHERE body LIKE '%copper%'", contains: [boilers] }"#,
    r#"{ id: varroa, query: "SELECT name FROM notes WHERE body LIKE '%varroa%'", contains: [beekeeping] }"#,
    r#"{ id: tonnage, query: "SELECT name FROM notes WHERE body LIKE '%tonnage%'", contains: [harbour-dues] }"#,
];
const SELECTED_LIST: [&str; 3] = [
    r#"{ id: copper, query: "SELECT name FROM notes WHERE body LIKE '%copper%'", expect: [boilers] }"#,
    r#"{ id: varroa, query: "SELECT name FROM notes WHERE body LIKE '%varroa%'", expect: [beekeeping] }"#,
    r#"{ id: tonnage, query: "SELECT name FROM notes WHERE body LIKE '%tonnage%'", expect: [harbour-dues] }"#,
];
/// Words that the file's own SQL takes, in an answer that is text.
const WORDS: [&str; 3] = [
    "{ id: copper, query: copper, contains: [boilers] }",
    "{ id: varroa, query: varroa, contains: [beekeeping] }",
    "{ id: tonnage, query: tonnage, contains: [harbour-dues] }",
];

pub(crate) static OF_FILES: [Server; 9] = [
    Server {
        name: "@modelcontextprotocol/server-memory 2026.8.31",
        runs: Runs::Node("memory", "@modelcontextprotocol/server-memory/dist/index.js"),
        args: &[],
        env: &[("MEMORY_FILE_PATH", "FOLDER/memory.jsonl")],
        data: Data::Graph,
        search: "{ tool: search_nodes, results: /entities, fields: { source: /name } }",
        canaries: NAMES,
        losses: &[(Loss::EmptyFile("memory.jsonl"), EMPTY), (Loss::NoFile("memory.jsonl"), EMPTY)],
    },
    Server {
        name: "@itseasy21/mcp-knowledge-graph 1.0.7",
        runs: Runs::Node("knowledge-graph", "@itseasy21/mcp-knowledge-graph/dist/index.js"),
        args: &["--memory-path", "FOLDER/memory.jsonl"],
        env: &[],
        data: Data::Graph,
        search: "{ tool: search_nodes, results: /entities, fields: { source: /name } }",
        canaries: NAMES,
        losses: &[(Loss::EmptyFile("memory.jsonl"), EMPTY), (Loss::NoFile("memory.jsonl"), EMPTY)],
    },
    Server {
        name: "mcp-memory-libsql 0.0.17",
        runs: Runs::Node("libsql", "mcp-memory-libsql/dist/index.js"),
        args: &[],
        env: &[("LIBSQL_URL", "file:FOLDER/memory.db")],
        data: Data::Told(&[], entities),
        search: "{ tool: search_nodes, results: /entities, fields: { source: /name } }",
        canaries: NAMES,
        losses: &[(Loss::NoFile("memory.db"), EMPTY)],
    },
    Server {
        name: "@bitbonsai/mcpvault 0.16.0",
        runs: Runs::Node("mcpvault", "@bitbonsai/mcpvault/dist/server.js"),
        args: &["FOLDER/notes"],
        env: &[],
        data: Data::Markdown,
        search: "{ tool: search_notes, fields: { source: /p, content: /ex } }",
        canaries: PATHS,
        losses: &[(Loss::NoNotes, EMPTY), (Loss::NoFolder("notes"), EMPTY)],
    },
    Server {
        name: "@modelcontextprotocol/server-filesystem 2026.8.31",
        runs: Runs::Node("filesystem", "@modelcontextprotocol/server-filesystem/dist/index.js"),
        args: &["FOLDER/notes"],
        env: &[],
        data: Data::Markdown,
        search: r#"{ tool: search_files, query: pattern, arguments: { path: FOLDER/notes }, empty: "^No matches" }"#,
        canaries: GLOBS,
        losses: &[(Loss::NoNotes, EMPTY)],
    },
    Server {
        name: "mcp-obsidian 1.0.0",
        runs: Runs::Node("obsidian", "mcp-obsidian/dist/index.js"),
        args: &["FOLDER/notes"],
        env: &[],
        data: Data::Markdown,
        search: r#"{ tool: search_notes, empty: "^No matches" }"#,
        canaries: PARTS,
        losses: &[(Loss::NoNotes, EMPTY)],
    },
    Server {
        name: "code-index-mcp 2.17.1",
        runs: Runs::Python("code-index", "code-index-mcp"),
        args: &["--project-path", "FOLDER/notes"],
        env: &[],
        data: Data::Python,
        search: "{ tool: search_code_advanced, query: pattern }",
        canaries: SOURCES,
        losses: &[(Loss::NoNotes, EMPTY)],
    },
    Server {
        name: "mcp-server-tree-sitter 0.7.0",
        runs: Runs::Script("tree-sitter", "registered.py"),
        args: &["FOLDER/notes"],
        env: &[],
        data: Data::Python,
        search: "{ tool: find_text, query: pattern, arguments: { project: notes } }",
        canaries: SOURCES,
        losses: &[(Loss::NoNotes, EMPTY)],
    },
    Server {
        name: "basic-memory 0.23.2",
        runs: Runs::Python("basic-memory", "basic-memory"),
        args: &["mcp"],
        env: &[
            ("BASIC_MEMORY_HOME", "FOLDER/memory/notes"),
            ("BASIC_MEMORY_CONFIG_DIR", "FOLDER/memory/config"),
            ("BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED", "false"),
            ("BASIC_MEMORY_AUTO_UPDATE", "false"),
        ],
        data: Data::Told(&[], written),
        search: r#"{ tool: search_notes, empty: "^No results found" }"#,
        canaries: TITLES,
        losses: &[(Loss::NoFolder("memory"), EMPTY)],
    },
];

pub(crate) static OF_DATABASES: [Server; 4] = [
    Server {
        name: "mcp-server-sqlite 2025.4.25",
        runs: Runs::Python("sqlite", "mcp-server-sqlite"),
        args: &["--db-path", "FOLDER/notes.db"],
        env: &[],
        data: Data::Table,
        search: r#"{ tool: read_query, error: "^(Database error|Error): " }"#,
        canaries: SELECTED,
        losses: &[(Loss::NoRows, EMPTY), (Loss::NoFile("notes.db"), FAILED)],
    },
    Server {
        name: "mcp-server-motherduck 1.1.0",
        runs: Runs::Python("motherduck", "mcp-server-motherduck"),
        args: &["--db-path", "FOLDER/notes.duckdb"],
        env: &[],
        data: Data::Told(&["--read-write"], executed),
        search: "{ tool: execute_query, query: sql, results: /rows, fields: { source: /0 } }",
        canaries: SELECTED_LIST,
        losses: &[(Loss::Told(&["--read-write"], unexecuted), EMPTY), (Loss::NoFile("notes.duckdb"), FAILED)],
    },
    Server {
        name: "mcp-server-duckdb 1.1.0",
        runs: Runs::Python("duckdb", "mcp-server-duckdb"),
        args: &["--db-path", "FOLDER/notes.duckdb"],
        env: &[],
        data: Data::Told(&[], queried),
        search: r#"{ tool: query, error: "^(Database error|Error): " }"#,
        canaries: SELECTED,
        losses: &[(Loss::Told(&[], unqueried), EMPTY), (Loss::NoFile("notes.duckdb"), FAILED)],
    },
    Server {
        name: "mcp-alchemy 2026.10.15.202659",
        runs: Runs::Python("alchemy", "mcp-alchemy"),
        args: &[],
        env: &[("DB_URL", "sqlite:///FOLDER/notes.db")],
        data: Data::Table,
        search: r#"{ tool: execute_query, query: /params/word, arguments: { query: "SELECT name FROM notes WHERE body LIKE '%' || :word || '%'" }, error: "^Error: ", empty: "^No rows" }"#,
        canaries: WORDS,
        losses: &[(Loss::NoRows, EMPTY), (Loss::NoFile("notes.db"), FAILED)],
    },
];

pub(crate) static BEFORE_UPSTREAMS: [Server; 3] = [
    Server {
        name: "mcp-searxng 1.16.0",
        runs: Runs::Node("searxng", "mcp-searxng/dist/cli.js"),
        args: &[],
        env: &[("SEARXNG_URL", "http://127.0.0.1:PORT")],
        data: Data::Upstream,
        search: "{ tool: searxng_web_search, arguments: { response_format: json } }",
        canaries: ADDRESSES,
        losses: &[(Loss::NoNotes, EMPTY), (Loss::NoUpstream, FAILED)],
    },
    Server {
        name: "meilisearch-mcp 0.7.0",
        runs: Runs::Python("meilisearch", "meilisearch-mcp"),
        args: &[],
        env: &[("MEILI_HTTP_ADDR", "http://127.0.0.1:PORT")],
        data: Data::Upstream,
        search: "{ tool: search, arguments: { indexUid: notes } }",
        canaries: PATHS,
        losses: &[(Loss::NoNotes, EMPTY), (Loss::NoUpstream, FAILED)],
    },
    Server {
        name: "elasticsearch-mcp-server 2.1.6",
        runs: Runs::Python("elasticsearch", "elasticsearch-mcp-server"),
        args: &[],
        env: &[("ELASTICSEARCH_HOSTS", "http://127.0.0.1:PORT")],
        data: Data::Upstream,
        search: r#"{ tool: search_documents, query: /body/query/match/text, arguments: { index: notes }, results: /hits/hits, fields: { source: /_source/path } }"#,
        canaries: PATHS,
        losses: &[(Loss::NoNotes, EMPTY), (Loss::NoUpstream, FAILED)],
    },
];

fn entities() -> Vec<Call> {
    vec![("create_entities", json!({"entities": NOTES.map(|note| note.entity())}))]
}

fn written() -> Vec<Call> {
    let write = |note: Note| json!({"title": note.title, "content": note.body(), "directory": "notes"});
    NOTES.map(|note| ("write_note", write(note))).to_vec()
}

fn executed() -> Vec<Call> {
    vec![("execute_query", json!({"sql": TABLE})), ("execute_query", json!({"sql": rows()}))]
}

fn unexecuted() -> Vec<Call> {
    vec![("execute_query", json!({"sql": "DELETE FROM notes"}))]
}

fn queried() -> Vec<Call> {
    vec![("query", json!({"query": TABLE})), ("query", json!({"query": rows()}))]
}

fn unqueried() -> Vec<Call> {
    vec![("query", json!({"query": "DELETE FROM notes"}))]
}
