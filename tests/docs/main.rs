//! The documentation says what the program does: lists are the program's own, examples run, links lead somewhere.

mod examples;
mod links;
mod lists;
mod messages;

use std::path::{Path, PathBuf};

use serin_reference::index::documentation::SOURCES;

/// Words of the README at most: it orients a stranger in two minutes, the rest is in `docs/`.
const README_WORDS_MAX: usize = 1_800;

/// Words of docs/paging.md at most: five minutes for somebody who is on call.
const PAGING_WORDS_MAX: usize = 1_200;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file's text, by its path from the root.
fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// The Markdown files of a folder, by their paths from the root, in order.
fn pages(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    found.sort();
    found.iter().map(|path| format!("{folder}/{}", path.file_name().expect("a file").to_string_lossy())).collect()
}

/// The README and the pages it leads to.
fn documentation() -> Vec<String> {
    let pages = pages("docs");
    assert!(pages.len() >= 7, "one page a question: {pages:?}");
    std::iter::once("README.md".to_owned()).chain(pages).collect()
}

#[test]
fn the_readme_takes_two_minutes() {
    let words = text("README.md").split_whitespace().count();
    assert!(words <= README_WORDS_MAX, "{words} words; what is more belongs into a page of docs/");
}

#[test]
fn paging_takes_five_minutes() {
    let words = text("docs/paging.md").split_whitespace().count();
    assert!(words <= PAGING_WORDS_MAX, "{words} words; what is more belongs into docs/paging-details.md");
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = text("README.md");
    for page in pages("docs") {
        assert!(readme.contains(&format!("]({page})")), "README.md does not link {page}");
    }
}

#[test]
fn the_reference_server_serves_the_documentation() {
    for page in documentation() {
        let served = SOURCES.iter().find(|(source, _)| *source == page);
        let (_, served) = served.unwrap_or_else(|| panic!("add {page} to reference/src/index/documentation.rs"));
        assert_eq!(served.lines().next(), text(&page).lines().next(), "{page} is served under its own name");
    }
}
