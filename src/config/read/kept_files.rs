//! Files as they are kept, and a source from files that were: whoever asks of the past reads it by what stood in them then.

use std::path::Path;

use crate::config::read::include::{GoldenName, Included};
use crate::config::read::lock_files::LockFile;
use crate::config::read::source::ConfigSource;
use crate::domain::fleet_files::{FleetFile, FleetFileKind, FleetFiles, GoldenPlace};

impl ConfigSource {
    /// Every file that was read, with its text. A lock that could not be read is left out, and so is the file of users:
    /// hashes of passwords are nothing to keep.
    pub fn files(&self) -> FleetFiles {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let first =
            FleetFile { name: self.name.clone(), text: text(&self.bytes), kind: FleetFileKind::Yaml, of: Vec::new() };
        let included = self.included.iter().map(|file| FleetFile {
            name: file.name.clone(),
            text: text(&file.bytes),
            kind: file.kind,
            of: vec![file.by],
        });
        let locks = self.locks.iter().filter(|lock| lock.trouble.is_none()).map(|lock| FleetFile {
            name: lock.name.clone(),
            text: text(&lock.bytes),
            kind: FleetFileKind::Lock,
            of: lock.beside.clone(),
        });
        let golden = self.golden.iter().filter_map(|golden| {
            let place = *golden.found.as_ref().ok()?;
            Some(GoldenPlace { by: golden.by, name: golden.name.clone(), place })
        });
        FleetFiles { files: std::iter::once(first).chain(included).chain(locks).collect(), golden: golden.collect() }
    }

    /// What was read when these files stood in a folder; none where there is not even a first one.
    ///
    /// `of`: the hash of all, and the commit. Reads no disk.
    pub fn of_files(folder: &Path, files: &FleetFiles, of: (&str, Option<&str>)) -> Option<Self> {
        let first = files.files.first()?;
        let mut source = Self {
            path: folder.join(&first.name),
            name: first.name.clone(),
            bytes: first.text.clone().into_bytes(),
            included: Vec::new(),
            golden: Vec::new(),
            findings: Vec::new(),
            locks: Vec::new(),
            users: None,
            hash: of.0.to_owned(),
            declared: of.0.to_owned(),
            commit: of.1.map(str::to_owned),
        };
        for file in &files.files[1..] {
            let (path, name, bytes) = (folder.join(&file.name), file.name.clone(), file.text.clone().into_bytes());
            match file.kind {
                FleetFileKind::Lock => {
                    source.locks.push(LockFile { path, name, bytes, beside: file.of.clone(), trouble: None });
                }
                FleetFileKind::Yaml | FleetFileKind::Discovered | FleetFileKind::Golden => {
                    let (by, kind) = (file.of.first().copied().unwrap_or_default(), file.kind);
                    source.included.push(Included { path, name, bytes, by, kind });
                }
            }
        }
        let golden = files.golden.iter().cloned();
        source.golden =
            golden.map(|GoldenPlace { by, name, place }| GoldenName { by, name, found: Ok(place) }).collect();
        Some(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::config::check::checker::Unset;
    use crate::config::read::source;

    #[test]
    fn what_is_kept_of_the_files_declares_the_same_when_they_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::create_dir_all(folder.path().join("teams/sets")).unwrap();
        let receiver = "receivers: { hook: { webhook: { url: \"https://h.example.org/${env:WHERE}\" } } }";
        write(
            "monitors.yaml",
            &format!("version: 1\ninclude: [teams/*.yaml]\n{receiver}\nroutes: [{{ to: [hook] }}]\n"),
        );
        write(
            "teams/docs.yaml",
            "monitors:\n  - id: docs\n    url: https://docs.example.org/mcp\n    canaries: [{ file: sets/a.jsonl }]\n",
        );
        write("teams/sets/a.jsonl", "{\"id\": \"a\", \"query\": \"how\", \"expect\": [\"a.md\"]}\n");
        write("teams/monitors.lock", "version: 1\nmonitors: {}\n");
        let read = source::read(&folder.path().join("monitors.yaml")).unwrap();
        let env = |name: &str| (name == "WHERE").then(|| "a-secret-of-some-length".to_owned());
        let loaded = config::load(&read, &env, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
        let kept = read.files();
        assert_eq!(kept.files.len(), 4, "{kept:?}");
        assert!(!format!("{kept:?}").contains("a-secret"), "what they refer to is not in them");
        let place = folder.path().to_owned();
        drop(folder);
        let again = ConfigSource::of_files(&place, &kept, (&read.hash, read.commit.as_deref())).unwrap();
        let again = config::load(&again, &env, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(again.fleet, loaded.fleet);
    }
}
