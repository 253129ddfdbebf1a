//! Golden sets: canaries in a file of their own, one a line, and which place a fault names.

use std::path::Path;

use serin::config::check::checker::Unset;
use serin::config::describe::plan::plan;
use serin::config::load;
use serin::config::read::diagnostic::PlacedDiagnostic;
use serin::config::read::source::SourceReader;
use serin::domain::monitor::CanaryKind;

use crate::included::{check, folder, loaded, source, with, write};
use crate::secrets;

const FIRST: &str = "version: 1\nmonitors:\n  - id: docs\n    url: https://docs.example.org/mcp\n    search: { per_beat: 2 }\n    canaries: { file: golden/docs.jsonl }\n";
const DOCS: &str = r#"{"id":"err","kind":"keyword","query":"ERR-4417","expected":[{"source":"errors/4417.md","grade":2},{"source":"errors/4418.md","grade":1}]}

{"id": "life", "query": "when does it end", "expect": ["a.md"], "within": 3}
{"id":"none","kind":"negative","query":"how are pans seasoned","expected":[]}
"#;

#[test]
fn a_golden_set_is_canaries_like_others() {
    let fleet = loaded(&with(FIRST, &[("golden/docs.jsonl", DOCS)])).fleet;
    let canaries = &fleet.monitors[0].canaries;
    let said: Vec<_> = canaries.iter().map(|one| (&*one.id, one.kind, one.expect.join(" "), one.within)).collect();
    let expected = [
        ("err", CanaryKind::Keyword, "errors/4417.md".to_owned(), 5),
        ("life", CanaryKind::Mixed, "a.md".to_owned(), 3),
        ("none", CanaryKind::Negative, String::new(), 5),
    ];
    assert_eq!(said, expected, "sources of the best grade are right");
    let places: Vec<_> = canaries.iter().map(|one| fleet.provenance.shown(one.line)).collect();
    assert_eq!(places, ["golden/docs.jsonl:1", "golden/docs.jsonl:3", "golden/docs.jsonl:4"]);
    let listed = FIRST.replace(
        "{ file: golden/docs.jsonl }",
        "[{ id: err, kind: keyword, query: ERR-4417, expect: [errors/4417.md] }, { id: life, query: when does it end, \
         expect: [a.md], within: 3 }, { id: none, kind: negative, query: how are pans seasoned }]",
    );
    let listed = loaded(&[("monitors.yaml", &listed)]).fleet;
    assert_eq!(
        fleet.monitors[0].definition_hash, listed.monitors[0].definition_hash,
        "history does not tell where a canary is written"
    );
}

#[test]
fn golden_sets_stand_beside_a_list_and_belong_to_whoever_names_them() {
    let both = "monitors:\n  - id: team\n    url: https://team.example.org/mcp\n    canaries:\n      - { id: own, query: q, expect: [b.md] }\n      - { file: ../golden/docs.jsonl }\n";
    let first = format!("include: teams/a.yaml\n{FIRST}");
    let fleet = loaded(&with(&first, &[("golden/docs.jsonl", DOCS), ("teams/a.yaml", both)])).fleet;
    let team: Vec<&str> = fleet.monitors[1].canaries.iter().map(|one| &*one.id).collect();
    assert_eq!(team, ["own", "err", "life", "none"], "in the order of the file");
    assert_eq!(fleet.monitors[0].canaries[..], fleet.monitors[1].canaries[1..], "one file is read once");
    assert_eq!(fleet.provenance.shown(fleet.monitors[1].canaries[0].line), "teams/a.yaml:5");
    let files: Vec<&str> = fleet.provenance.included.iter().map(|file| &*file.file).collect();
    assert_eq!(files, ["teams/a.yaml", "golden/docs.jsonl"]);
    let anchored = "version: 1\nx-a: &a { file: docs.jsonl }\nmonitors:\n  - { id: a, url: \"https://h/\", canaries: *a }\n  - { id: b, url: \"https://h/b\", canaries: [*a] }\n";
    let fleet = loaded(&with(anchored, &[("docs.jsonl", DOCS)])).fleet;
    assert_eq!(fleet.monitors[0].canaries, fleet.monitors[1].canaries, "by an alias");
}

#[test]
fn our_own_golden_set_is_one() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/golden/documentation.jsonl");
    let text = FIRST.replace("golden/docs.jsonl", own.to_str().expect("a path"));
    let fleet = loaded(&[("monitors.yaml", &text)]).fleet;
    assert_eq!(fleet.monitors[0].canaries.len(), 91);
}

#[test]
fn faults_of_a_golden_set_name_its_own_place() {
    let line = |text: &str, expected: &[&str], sentence: &str| {
        check(sentence, &with(FIRST, &[("golden/docs.jsonl", &format!("{DOCS}{text}\n"))]), expected);
    };
    let json = "one JSON object a line, its keys and texts in double quotes";
    line("{\"id\": }", &[&format!("golden/docs.jsonl:5:8 this is not JSON: expected value => {json}")], "no JSON");
    line("7", &["golden/docs.jsonl:5:1 this line holds no JSON object => one canary a line, in `{ }`"], "no object");
    line(
        "{\"id\":\"x\",\"qury\":\"q\",\"expect\":[\"a\"]}",
        &[
            "golden/docs.jsonl:5:1 canary 'x' has no 'query' => the question it asks",
            "golden/docs.jsonl:5:11 canary 'x' has no key 'qury' => did you mean 'query'?",
        ],
        "a key that is misspelled",
    );
    line(
        "{\"id\":\"err\",\"query\":\"q\",\"expect\":[\"a\"]}",
        &["golden/docs.jsonl:5:1 canary 'err' is declared twice in monitor 'docs' => give each its own id"],
        "an id twice",
    );
    line(
        "{\"id\":\"x\",\"query\":\"q\",\"expected\":[{\"sorce\":\"a\",\"grade\":0}]}",
        &[
            "golden/docs.jsonl:5:35 an expected source has no 'source' => its name, as answers give it",
            "golden/docs.jsonl:5:36 an expected source has no key 'sorce' => did you mean 'source'?",
            "golden/docs.jsonl:5:56 'grade' is out of its range: '0' => between 1 and 255",
        ],
        "what is expected",
    );
    line(
        "{\"id\":\"x\",\"query\":\"q\",\"expect\":[\"a\"],\"expected\":[{\"source\":\"a\"}]}",
        &["golden/docs.jsonl:5:38 canary 'x' has both 'expect' and 'expected' => keep one of the two"],
        "both words",
    );
    line(
        "{\"id\":\"x\",\"query\":\"q\",\"expected\":[]}",
        &["golden/docs.jsonl:5:34 'expected' of canary 'x' names 0 sources => one to 50, none where it is negative"],
        "nothing is expected",
    );
    line(
        "{\"id\":\"x\",\"kind\":\"negative\",\"query\":\"q\",\"expected\":[{\"source\":\"a\"}]}",
        &[
            "golden/docs.jsonl:5:41 canary 'x' is negative: nothing may be found, and 'expected' says otherwise => leave 'expected' out, or change 'kind'",
        ],
        "a negative one that expects",
    );
    line(
        "{\"id\":\"x\",\"query\":\"q\",\"expect\":[\"a\"],\"file\":\"b.jsonl\"}",
        &["golden/docs.jsonl:5:38 a golden set names no other one => name both in the YAML file, an item each"],
        "a golden set in a golden set",
    );
}

#[test]
fn names_of_golden_sets_that_lead_nowhere() {
    let refused = |canaries: &str, more: &[(&str, &str)], expected: &str| {
        let first = FIRST.replace("{ file: golden/docs.jsonl }", canaries);
        let found = load(&source(&folder(&with(&first, more))), &secrets, Unset::Refuse).expect_err(canaries);
        assert!(found.to_string().contains(expected), "{canaries}: {found}");
        let is_there = |fault: &PlacedDiagnostic| (&*fault.file, fault.line) == ("monitors.yaml", 6);
        assert!(found.list().iter().any(is_there), "{canaries}: {found}");
    };
    refused("{ file: no.jsonl }", &[], "no.jsonl: No such file");
    refused("{ file: docs.json }", &[("docs.json", DOCS)], "its name ends with .jsonl");
    refused("{ file: docs.jsonl, id: a }", &[("docs.jsonl", DOCS)], "takes a list, and this is a map");
    refused("[{ file: docs.jsonl, within: 2 }]", &[("docs.jsonl", DOCS)], "'within' stands beside 'file'");
    refused("{ fiel: docs.jsonl }", &[("docs.jsonl", DOCS)], "did you mean 'file'?");
    let line = |at: usize| format!("{{\"id\":\"c{at}\",\"query\":\"q\",\"expect\":[\"a\"]}}\n");
    let many: String = (0..501).map(line).collect();
    refused("{ file: many.jsonl }", &[("many.jsonl", &many)], "monitor 'docs' has 501 canaries");
    let large = line(0).repeat(30_000);
    refused("{ file: large.jsonl }", &[("large.jsonl", &large)], "is larger than 1 MiB");
}

#[test]
fn a_golden_set_is_watched_and_planned() {
    let folder = folder(&with(FIRST, &[("golden/docs.jsonl", DOCS)]));
    let mut reader = SourceReader::new(&folder.path().join("monitors.yaml"));
    let mut hash = || reader.read().expect("it can be read").hash;
    let first = hash();
    assert_eq!(first, hash(), "nothing changed");
    let before = load(&source(&folder), &secrets, Unset::Refuse).expect("right");
    write(folder.path(), "golden/docs.jsonl", &DOCS.replace("ERR-4417", "ERR-4418"));
    assert_ne!(first, hash(), "another question");
    let after = load(&source(&folder), &secrets, Unset::Refuse).expect("right");
    let changed = plan(&before, &after).changed;
    let changed: Vec<_> = changed.iter().map(|(id, keys)| (id.as_str(), keys.join(" "))).collect();
    assert_eq!(changed, [("docs", "canaries.err.query".to_owned())]);
    std::fs::remove_file(folder.path().join("golden/docs.jsonl")).expect("removed");
    assert!(
        load(&source(&folder), &secrets, Unset::Refuse).is_err(),
        "one that vanished stops what would come into force"
    );
}
