//! Statements are texts that SQLite and PostgreSQL read alike; what one of them alone understands stands in one file, and
//! what is about the database's file in a few more.

use std::path::{Path, PathBuf};

/// What PostgreSQL does not know, or reads otherwise.
const SQLITE_ONLY: &[&str] = &[
    "json_each",
    "json_extract",
    "IFNULL",
    "INSERT OR",
    "REPLACE INTO",
    "group_concat",
    "randomblob",
    "hex(",
    "strftime",
    "unixepoch",
    "julianday",
    "rowid",
    "GLOB ",
    "AS BLOB",
    "AUTOINCREMENT",
    "LIMIT -1",
    "INDEXED BY",
    "PRAGMA ",
    "pragma_",
    "sqlite_schema",
    "sqlite_version",
    "changes()",
];

/// What SQLite does not know.
const SERVER_ONLY: &[&str] = &["UNNEST(", "synchronous_commit", "FOR SHARE", "FOR UPDATE", "pg_", "generate_series"];

/// Where they may stand, by file.
const ALLOWED: &[(&str, &[&str])] = &[
    // A server's tables bring a function of that name; a list a column goes to a server alone.
    ("sql/dialect.rs", &["json_each", "UNNEST("]),
    // What a commit waits for.
    ("sql/transaction.rs", &["synchronous_commit"]),
    // How large the file is, and what of it is free; how large the database is on a server.
    ("read/figures.rs", &["pragma_", "sqlite_version", "pg_"]),
    ("write/retain.rs", &["PRAGMA "]),
    // All tables there are, with their columns.
    ("write/moving.rs", &["pragma_", "sqlite_schema", "pg_"]),
    // A database of an earlier version, looked at before anybody opens it.
    ("read/beside.rs", &["sqlite_schema", "pg_"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        match path.is_dir() {
            // Everything about the file itself, or about the server.
            true if path.ends_with("store/file") || path.ends_with("store/server") => {}
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// A source without comments and tests.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a source is text");
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Whether a call has two values: PostgreSQL says LEAST or GREATEST for that.
fn is_of_two(code: &str, call: &str) -> bool {
    code.match_indices(call).any(|(at, _)| {
        let mut depth = 0;
        for c in code[at + call.len()..].chars() {
            match c {
                '(' => depth += 1,
                ')' if depth == 0 => return false,
                ')' => depth -= 1,
                ',' if depth == 0 => return true,
                _ => {}
            }
        }
        false
    })
}

/// Parameters that are a condition by themselves: yes and no are numbers, of which PostgreSQL makes no condition.
fn bare_conditions(code: &str) -> Vec<String> {
    let words: Vec<&str> = code.split([' ', '\n', '(', '"']).filter(|word| !word.is_empty() && *word != "\\").collect();
    let is_parameter = |word: &str| word.strip_prefix('$').is_some_and(|rest| rest.starts_with(char::is_numeric));
    let begins = ["when", "and", "or", "not", "where"];
    let goes_on = |word: &str| ["and", "or", "then"].contains(&word);
    let bare = words.windows(3).filter(|three| {
        begins.contains(&three[0]) && is_parameter(three[1]) && (three[1].ends_with(')') || goes_on(three[2]))
    });
    bare.map(|three| three.join(" ")).collect()
}

#[test]
fn what_one_database_alone_understands_stands_where_the_plan_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut found = Vec::new();
    sources(&root, &mut found);
    let mut wrong = Vec::new();
    let mut used = Vec::new();
    for path in found.iter().filter(|path| !path.ends_with("tests.rs")) {
        let name = path.strip_prefix(&root).expect("it is below").to_string_lossy().replace('\\', "/");
        let code = code(path).to_lowercase();
        for word in SQLITE_ONLY.iter().chain(SERVER_ONLY).filter(|word| code.contains(&word.to_lowercase())) {
            let is_allowed = |(file, words): &&(&str, &[&str])| *file == name && words.contains(word);
            match ALLOWED.iter().find(is_allowed) {
                Some(_) => used.push((name.clone(), *word)),
                None => wrong.push(format!("{name}: {word}")),
            }
        }
        let scalars = ["min(", "max("].into_iter().filter(|call| is_of_two(&code, call));
        wrong.extend(bare_conditions(&code).into_iter().map(|bare| format!("{name}: {bare}")));
        wrong.extend(scalars.map(|call| format!("{name}: {call} of two values")));
    }
    for (file, words) in ALLOWED {
        for word in *words {
            if !used.iter().any(|(name, known)| name == file && known == word) {
                wrong.push(format!("{file}: {word} is not there any more; take it out of the plan"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
