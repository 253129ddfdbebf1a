//! The tools for codebases, and the pools that keep code from crowding out its rules.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::served::{Served, hits, sources};

const RULES: &str = r#"  rules:
    - { files: "rules/**", source_type: constraints }
    - { files: "patterns/**", source_type: patterns }
    - { files: "src/**", source_type: code }"#;
const LEDGER: &str = "pub struct Ledger;\n\nimpl Ledger {\n    pub fn append_entry(&mut self, entry: Entry) {\n        \
    self.entries.push(entry);\n    }\n}\n";
const CASHIER: &str = "pub fn close_day(ledger: &mut Ledger) {\n    ledger.append_entry(Entry::total());\n}\n";
const SHOP: &str = "pub fn lock_door(ledger: &mut Ledger) {\n    close_day(ledger);\n}\n";
const SIGN: &str = "pub fn paint_sign() {\n    brush(\"append_entry_form\");\n}\n";

/// A project of these files, indexed and served.
fn project(folder: &Path, files: &[(String, String)]) -> Served {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let run = |command: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_serin"));
        let output = program.args(["reference", command]).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("setup");
    let path = folder.join(".serin-reference/config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    let config = config.replace("  rules: []", RULES).replace(r#""*.txt","#, r#""*.txt", "*.rs","#);
    std::fs::write(path, config).unwrap();
    run("index");
    Served::with([Path::new("--project"), folder])
}

fn shop() -> Vec<(String, String)> {
    let files = [
        ("rules/ledger.md", "# Ledger\nEntries of the ledger are appended and never changed or removed.\n"),
        ("rules/money.md", "# Money\nAmounts of money are whole cents, never floating point numbers.\n"),
        ("patterns/closing.md", "# Closing\nA day of the ledger is closed by one entry with its total.\n"),
        ("src/ledger.rs", LEDGER),
        ("src/cashier.rs", CASHIER),
        ("src/shop.rs", SHOP),
        ("src/sign.rs", SIGN),
        ("notes/tea.md", "# Tea\nGreen tea is brewed at seventy degrees.\n"),
    ];
    files.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec()
}

#[tokio::test]
async fn a_change_is_checked_before_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let server = project(folder.path(), &shop());
    let applying = async |arguments: Value| {
        let envelope = server.call("check_constraints", arguments).await;
        assert_eq!(envelope["status"], "ok", "{envelope}");
        let constraints = envelope["data"]["constraints"].as_array().unwrap().clone();
        assert_eq!(envelope["data"]["total"], constraints.len(), "{envelope}");
        assert!(constraints.iter().all(|constraint| constraint["source_type"] == "constraints"), "{envelope}");
        constraints.iter().map(|constraint| constraint["source"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let remove = "Let the cashier remove entries of the ledger that are wrong";
    assert_eq!(applying(json!({"change": remove, "max_rank": 1})).await, ["rules/ledger.md"]);
    assert_eq!(applying(json!({"change": "Store amounts of money as floating point"})).await[0], "rules/money.md");
    assert_eq!(applying(json!({"change": remove, "min_score": 0.99})).await, [""; 0], "none is that near");
    let far = applying(json!({"change": "brew the green tea cooler"})).await;
    assert_eq!(far, [""; 0], "a change that no rule speaks of");
    for (says, arguments) in [
        ("no change", json!({"change": " "})),
        ("no rank", json!({"change": remove, "max_rank": 0})),
        ("a rank beyond the candidates", json!({"change": remove, "max_rank": 13})),
        ("a score beyond", json!({"change": remove, "min_score": 1.5})),
    ] {
        assert_eq!(server.call("check_constraints", arguments).await["error_code"], "INVALID_ARGUMENT", "{says}");
    }
}

#[tokio::test]
async fn the_reach_of_a_change_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let server = project(folder.path(), &shop());
    let reach = async |symbol: &str, depth: u32| {
        let envelope = server.call("query_impact", json!({"symbol": symbol, "depth": depth})).await;
        assert_eq!(envelope["status"], "ok", "{envelope}");
        let data = &envelope["data"];
        let notes = data["sources"].as_array().unwrap();
        let direct = notes.iter().filter(|note| note["distance"] == 1).count();
        assert_eq!((&data["direct"], &data["indirect"]), (&json!(direct), &json!(notes.len() - direct)), "{envelope}");
        let shown = |note: &Value| format!("{} {}", note["distance"], note["source"].as_str().unwrap());
        let mut shown: Vec<String> = notes.iter().map(shown).collect();
        shown.sort_unstable();
        shown
    };
    assert_eq!(reach("append_entry", 1).await, ["1 src/cashier.rs", "1 src/ledger.rs"], "not what is only named alike");
    let two = reach("append_entry", 2).await;
    assert_eq!(two, ["1 src/cashier.rs", "1 src/ledger.rs", "2 src/shop.rs"], "through close_day");
    assert_eq!(reach("paint_sign", 3).await, ["1 src/sign.rs"]);
    assert_eq!(reach("nowhere_at_all", 3).await, [""; 0]);
    let refused = server.call("query_impact", json!({"symbol": "append_entry", "depth": 4})).await;
    assert_eq!(refused["error_code"], "INVALID_ARGUMENT");
}

#[tokio::test]
async fn twelve_candidates_come_from_three_pools() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for number in 0..9 {
        let name = ["north", "south", "east", "west", "left", "right", "upper", "lower", "inner"][number];
        let about = format!("The {name} gate of the lock opens when the water is level.");
        files.push((format!("rules/{name}.md"), format!("# Rule {name}\n{about}\n")));
        files.push((format!("patterns/{name}.md"), format!("# Pattern {name}\n{about}\n")));
        files.push((format!("src/{name}.rs"), format!("/// {about}\npub fn open_{name}_gate() {{}}\n")));
    }
    let server = project(folder.path(), &files);
    let count = async |filter: Value| {
        let mut asked = json!({"query": "when does the gate of the lock open", "top_k": 20});
        asked.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        let found = server.search(asked).await;
        let of = |kind: &str| hits(&found).iter().filter(|hit| hit["source_type"] == kind).count();
        assert_eq!(sources(&found).len(), hits(&found).len(), "each is of another source");
        let ranks: Vec<&Value> = hits(&found).iter().map(|hit| &hit["rank"]).collect();
        assert_eq!(json!(ranks), json!((1..=ranks.len()).collect::<Vec<_>>()), "one merged list");
        [of("constraints"), of("patterns"), of("code")]
    };
    assert_eq!(count(json!({})).await, [3, 3, 6], "twelve in all");
    assert_eq!(count(json!({"source_types": ["code"]})).await, [0, 0, 9], "who asks for a kind has all of it");
    assert_eq!(count(json!({"source_types": ["code", "patterns"]})).await, [0, 9, 9]);
    assert_eq!(count(json!({"source": "rules/"})).await, [3, 0, 0], "a pool is a pool in a folder too");
}
