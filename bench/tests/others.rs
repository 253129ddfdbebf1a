//! The server finds in documents of others what plain BM25 finds, at least: two corpora of the six, some chunks of each.
use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "needs the packages that bench/others/install.sh fetches"]
fn documents_of_others_are_found_as_well_as_by_the_better_baseline() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("others");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_serin-bench"));
    bench.arg("others").arg(here.join("packages")).arg("--questions").arg(&here).args(["--chunks", "400", "--held"]);
    let ended = bench.args(["--corpus", "code", "--corpus", "lint"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    for corpus in ["| code (", "| lint (", "| **all** (50) |"] {
        assert!(said.contains(corpus), "{corpus} is missing: {said}");
    }
}
