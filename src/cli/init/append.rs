//! A monitor put into a file that people wrote: everything else in it stays as it is, byte for byte.
//!
//! The new text is checked as `serin check` does before anything is written, and the file is replaced in one step.

use std::io::Write as _;
use std::path::Path;

use crate::config;
use crate::config::Loaded;
use crate::config::check::checker::Unset;
use crate::config::read::source::ConfigSource;

/// Where the item goes, and how far it is indented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InsertionPoint {
    /// Byte at which it is put in.
    at: usize,
    /// Blanks before its dash.
    indent: usize,
}

/// A file's text with an item of `monitors:` put in behind the last; `item` gives it by its indentation.
///
/// # Errors
/// Where the file has no such list in block style, with the mend.
pub(crate) fn inserted(text: &str, item: impl Fn(usize) -> String) -> Result<String, String> {
    let InsertionPoint { at, indent } = place(text)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (before, after) = text.split_at(at);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { newline };
    let item = item(indent).replace('\n', newline);
    Ok(format!("{before}{gap}{item}{after}"))
}

/// Checks a whole file as `serin check` does. Variables that `known` names count as set.
///
/// # Errors
/// Every fault, as `serin check` prints them.
pub(crate) fn checked(path: &Path, text: &str, known: &[(String, String)]) -> Result<Loaded, String> {
    let source = ConfigSource::new(path, text.as_bytes().to_vec(), None);
    let env = |name: &str| {
        let ours = known.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        ours.or_else(|| std::env::var(name).ok())
    };
    config::load(&source, &env, Unset::Warn).map_err(|faults| faults.to_string())
}

/// Replaces a file in one step, its permissions kept; through a symbolic link, the file it leads to.
///
/// # Errors
/// What the operating system refused; the file is then as it was.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        if let Ok(kept) = std::fs::metadata(&target) {
            file.set_permissions(kept.permissions())?;
        }
        file.sync_all()?;
        std::fs::rename(&beside, &target)
    })();
    if written.is_err() {
        // Half a file beside the whole one helps nobody; the error that is reported is the first one.
        let _gone = std::fs::remove_file(&beside);
    }
    written
}

/// Behind the last line of the block under `monitors:`; blank lines and comments at its end stay behind the item.
fn place(text: &str) -> Result<InsertionPoint, String> {
    const MEND: &str = "write `monitors:` alone on its line, its items below it with dashes";
    let mut lines = lines(text).skip_while(|(_, line)| !is_key(line, "monitors"));
    let Some((start, head)) = lines.next() else { return Err(format!("the file has no `monitors:`; {MEND}")) };
    let rest = head["monitors".len()..].trim_start().strip_prefix(':').unwrap_or_default();
    if !rest.split(" #").next().unwrap_or_default().trim().is_empty() && !rest.trim_start().starts_with('#') {
        return Err(format!("`monitors:` is not a list with dashes; {MEND}"));
    }
    let mut place = InsertionPoint { at: start + head.len(), indent: 2 };
    let mut first = true;
    for (at, line) in lines {
        let bare = line.trim_end();
        let at_margin = !bare.is_empty() && !line.starts_with(' ');
        let ends = bare == "---" || bare == "..." || bare.starts_with("--- ");
        if ends || (at_margin && !bare.starts_with(['-', '#'])) {
            break;
        }
        let blank = bare.is_empty() || (at_margin && bare.starts_with('#'));
        if first && bare.trim_start().starts_with('-') {
            place.indent = bare.len() - bare.trim_start().len();
            first = false;
        }
        if !blank {
            place.at = at + line.len();
        }
    }
    Ok(place)
}

/// Each line with its line break, and where it starts.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

fn is_key(line: &str, key: &str) -> bool {
    line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::{inserted, replace};

    fn item(indent: usize) -> String {
        let pad = " ".repeat(indent);
        format!("{pad}- id: new\n{pad}  url: http://h/\n")
    }

    fn check(sentence: &str, text: &str, expected: &str) {
        assert_eq!(inserted(text, item).as_deref(), Ok(expected), "{sentence}");
    }

    #[test]
    fn an_item_goes_behind_the_last_and_nothing_else_moves() {
        check(
            "at the end",
            "version: 1\nmonitors:\n  - id: a\n    url: http://h/\n",
            "version: 1\nmonitors:\n  - id: a\n    url: http://h/\n  - id: new\n    url: http://h/\n",
        );
        check("no line break at the end", "monitors:\n- id: a", "monitors:\n- id: a\n- id: new\n  url: http://h/\n");
        check(
            "before what follows, with its comment",
            "monitors: # ours\n    - id: a\n\n# who hears of it\nroutes: []\n",
            "monitors: # ours\n    - id: a\n    - id: new\n      url: http://h/\n\n# who hears of it\nroutes: []\n",
        );
        check(
            "line breaks of the other kind",
            "monitors:\r\n  - id: a\r\nx: 1\r\n",
            "monitors:\r\n  - id: a\r\n  - id: new\r\n    url: http://h/\r\nx: 1\r\n",
        );
        check("an end mark", "monitors:\n- id: a\n...\n", "monitors:\n- id: a\n- id: new\n  url: http://h/\n...\n");
        check("an empty list", "monitors:\n", "monitors:\n  - id: new\n    url: http://h/\n");
        for text in ["version: 1\n", "monitors: []\n", "monitors: [{ id: a }]\n", "x: { monitors: }\n"] {
            assert!(inserted(text, item).is_err_and(|why| why.contains("with dashes")), "{text}");
        }
    }

    #[test]
    fn a_file_is_replaced_whole_and_its_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real.yaml"), folder.path().join("link.yaml"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside them");
    }
}
