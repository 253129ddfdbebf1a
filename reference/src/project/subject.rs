//! What a project is about, in a name and a sentence or two: as it is configured, and as `setup` proposes it.
//!
//! Models read both as part of a tool's description. So they are short, plain and on one line; what is proposed is
//! somebody's README, without its markup and its secrets, written down for the operator to read and edit.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use crate::project::readme;
use crate::remote::plain::one_line;
use crate::text::cleaning::cleaned;

/// Letters of a name.
pub const NAME_CHARS_MAX: usize = 60;
/// Letters of a summary: with the name some seventy tokens, which every listing of the tools costs.
pub const SUMMARY_CHARS_MAX: usize = 240;
/// Bytes of a README or a manifest that are looked at.
const READ_BYTES_MAX: u64 = 64 * 1024;
/// Where a project says what it is about to those who read; the first that is there counts.
const READMES: [&str; 6] = ["README.md", "Readme.md", "readme.md", "README.rst", "README.txt", "README"];
/// Where one says so to its packager, and the tables of a TOML that may.
const MANIFESTS: [&str; 3] = ["package.json", "Cargo.toml", "pyproject.toml"];
const TABLES: [&str; 4] = ["[package]", "[workspace.package]", "[project]", "[tool.poetry]"];

/// What a project is about; empty where that is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence or two.
    pub summary: String,
}

/// Checks what somebody wrote under a key.
///
/// # Errors
/// The limit that is passed.
pub fn check(key: &str, text: &str, chars_max: usize) -> Result<(), String> {
    let letters = text.trim().chars().count();
    if letters > chars_max {
        return Err(format!("`{key}` has {letters} characters, {chars_max} are allowed"));
    }
    if text.trim().chars().any(char::is_control) {
        return Err(format!("`{key}` is one line without control characters"));
    }
    Ok(())
}

impl Subject {
    /// As a tool's description tells it; the folder's name stands for one that is not given.
    pub fn told(&self, folder: &Path) -> String {
        let of_folder = folder.file_name().unwrap_or_default().to_string_lossy();
        let name = if self.name.trim().is_empty() { &*of_folder } else { self.name.as_str() };
        let name = Some(one_line(name, NAME_CHARS_MAX)).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| "this project".to_owned());
        let summary = one_line(&self.summary, SUMMARY_CHARS_MAX);
        let whole = if summary.is_empty() { name } else { format!("{name}: {summary}") };
        whole.trim_end_matches('.').to_owned()
    }

    /// What the files of a folder say of it: its README, or else a manifest.
    pub fn proposed(root: &Path) -> Self {
        let read = READMES.iter().find_map(|name| beginning(&root.join(name)));
        let (heading, prose) = read.map(|text| readme::opening(&text)).unwrap_or_default();
        let declared = MANIFESTS.iter().find_map(|name| {
            let text = beginning(&root.join(name))?;
            let found = if name.ends_with(".json") { of_json(&text) } else { of_toml(&text) };
            Some(found).filter(|found| !found.summary.is_empty())
        });
        let declared = declared.unwrap_or_default();
        let first = |one: String, other: String| if one.is_empty() { other } else { one };
        Self {
            name: shortened(&first(heading, declared.name), NAME_CHARS_MAX),
            summary: shortened(&first(prose, declared.summary), SUMMARY_CHARS_MAX),
        }
    }
}

/// The beginning of a file of the folder itself; a link may lead anywhere.
fn beginning(path: &Path) -> Option<String> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(READ_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text on one line, without secrets, that ends with a word.
fn shortened(text: &str, chars_max: usize) -> String {
    let line = one_line(&cleaned(text).0, usize::MAX);
    if line.chars().count() <= chars_max {
        return line;
    }
    let cut: String = line.chars().take(chars_max - 1).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{}…", cut.trim_end_matches([',', ';', ':', ' ']))
}

fn of_json(text: &str) -> Subject {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let said = |key: &str| manifest[key].as_str().unwrap_or_default().to_owned();
    Subject { name: said("name"), summary: said("description") }
}

/// Reads the lines `name = "…"` and `description = "…"` of a package's table; other ways to write them are not known.
fn of_toml(text: &str) -> Subject {
    let (mut found, mut is_ours) = (Subject::default(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_ours = TABLES.contains(&line);
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_ours) else { continue };
        let text = value.trim();
        let literal = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let text = literal.map(str::to_owned).or_else(|| serde_json::from_str::<String>(text).ok());
        match (key.trim(), text) {
            ("name", Some(text)) => found.name = text,
            ("description", Some(text)) => found.summary = text,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_proposed(says: &str, files: &[(&str, &str)], name: &str, summary: &str) {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let expected = Subject { name: name.to_owned(), summary: summary.to_owned() };
        assert_eq!(Subject::proposed(folder.path()), expected, "{says}");
    }

    #[test]
    fn a_folder_says_what_it_is_about() {
        let readme = ("README.md", "# Pump\n\nKeeps the tank full. Day and night. Or so.\n");
        let cargo = ("Cargo.toml", "[package]\nname = \"pumpd\"\ndescription = \"A daemon for pumps.\"\n");
        check_proposed("nothing", &[], "", "");
        check_proposed("a README", &[readme, cargo], "Pump", "Keeps the tank full. Day and night.");
        check_proposed("a heading alone", &[("README.md", "# Pump\n"), cargo], "Pump", "A daemon for pumps.");
        check_proposed("a crate", &[cargo], "pumpd", "A daemon for pumps.");
        let package = ("package.json", r#"{"name": "@pump/ui", "description": "Dials\nand levers."}"#);
        check_proposed("a package, on one line", &[package], "@pump/ui", "Dials and levers.");
        let python = "[build-system]\nname = \"x\"\n[project]\nname = 'pumpy'\ndescription = 'Pumps \"in\" Python.'\n";
        check_proposed("a project of Python", &[("pyproject.toml", python)], "pumpy", "Pumps \"in\" Python.");
        let inherited = "[package]\nname = \"a\"\ndescription.workspace = true\n";
        check_proposed("what is written elsewhere", &[("Cargo.toml", inherited)], "", "");
        check_proposed("no JSON", &[("package.json", "{")], "", "");
        let long = format!("# {}\n\n{}\n", "name ".repeat(40), "word, ".repeat(100));
        let (name, summary) = (format!("{}name…", "name ".repeat(10)), format!("{}word…", "word, ".repeat(38)));
        check_proposed("a long one ends with a word", &[("README.md", &long)], &name, &summary);
        let key = format!("AKIA{}", "Q3EGWZ7NPLKX5M2T");
        let secret = format!("# Pump\n\nCall it with the key {key} and it runs forever.\n");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("README.md"), secret).unwrap();
        let proposed = Subject::proposed(folder.path());
        assert!(!proposed.summary.contains(&key), "a secret: {proposed:?}");
    }

    #[test]
    fn a_link_is_not_followed() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(other.path().join("secret.md"), "# Vault\n\nThe password is in the clock.\n").unwrap();
        std::os::unix::fs::symlink(other.path().join("secret.md"), folder.path().join("README.md")).unwrap();
        assert_eq!(Subject::proposed(folder.path()), Subject::default());
    }

    #[test]
    fn a_subject_is_told_in_one_line() {
        let check = |says: &str, name: &str, summary: &str, expected: &str| {
            let subject = Subject { name: name.to_owned(), summary: summary.to_owned() };
            assert_eq!(subject.told(Path::new("/some/folder")), expected, "{says}");
        };
        check("nothing is set", "", "", "folder");
        check("a name", "Pump", "", "Pump");
        check("both, and the sentence goes on", "Pump", "Keeps the tank full.", "Pump: Keeps the tank full");
        check("a summary alone", " ", "Keeps the tank full", "folder: Keeps the tank full");
        check("marks that hide text", "Pu\u{202e}mp", "", "Pu mp");
        assert_eq!(Subject::default().told(Path::new("/")), "this project", "the folder of all folders");
    }
}
