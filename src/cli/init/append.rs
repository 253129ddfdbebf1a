//! A monitor put into a file that people wrote, behind the last or in the place of another: everything else in it stays
//! as it is, byte for byte.
//!
//! The new text is checked as `serin check` does before anything is written, and the file is replaced in one step.

use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::config;
use crate::config::Loaded;
use crate::config::check::checker::Unset;
use crate::config::read::source::ConfigSource;

/// The list under `monitors:`, where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MonitorsList {
    /// Byte at which it ends, and a new item is put in.
    end: usize,
    /// Blanks before the dash of an item.
    indent: usize,
    /// Bytes at which the lines of its dashes start.
    items: Vec<usize>,
}

/// What a person does about a list that is not written in lines.
const MEND: &str = "write `monitors:` alone on its line, its items below it with dashes";

/// A file's text with an item of `monitors:` put in behind the last; `item` gives it by its indentation.
///
/// # Errors
/// Where the file has no such list in block style, with the mend.
pub(crate) fn inserted(text: &str, item: impl Fn(usize) -> String) -> Result<String, String> {
    let MonitorsList { end, indent, .. } = monitors_list(text)?;
    let newline = newline(text);
    let (before, after) = text.split_at(end);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { newline };
    let item = item(indent).replace('\n', newline);
    Ok(format!("{before}{gap}{item}{after}"))
}

/// A file's text with an item of `monitors:` in the place of the one that a line of it, counted from 1, belongs to.
///
/// # Errors
/// Where no item with a dash stands there, with the mend.
pub(crate) fn replaced(text: &str, line: u32, item: impl Fn(usize) -> String) -> Result<String, String> {
    let list = monitors_list(text)?;
    let Range { start, end } =
        list.item_at(text, line).ok_or_else(|| format!("line {line} is not below a dash of `monitors:`; {MEND}"))?;
    let item = item(list.indent).replace('\n', newline(text));
    Ok(format!("{}{item}{}", &text[..start], &text[end..]))
}

impl MonitorsList {
    /// The bytes of the item that a line belongs to, from its dash on.
    ///
    /// Blank lines at its end stay where they are, and so do comments that are not indented as what it says: they
    /// belong to the next item, or to the list.
    fn item_at(&self, text: &str, line: u32) -> Option<Range<usize>> {
        let nth = usize::try_from(line).ok()?.checked_sub(1)?;
        let (at, _) = lines(text).nth(nth).filter(|(at, _)| *at < self.end)?;
        let nth = self.items.partition_point(|start| *start <= at).checked_sub(1)?;
        let start = *self.items.get(nth)?;
        let limit = self.items.get(nth + 1).copied().unwrap_or(self.end);
        let is_own = |line: &str| {
            let bare = line.trim_start();
            !bare.is_empty() && (!bare.starts_with('#') || line.len() - bare.len() > self.indent)
        };
        let own = lines(&text[start..limit]).filter(|(_, line)| is_own(line));
        own.last().map(|(at, line)| start..start + at + line.len())
    }
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
    let (target, beside) = target_and_beside(path);
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

/// Tries out whether [`replace`] can make its file beside this one; nothing stays of it.
///
/// # Errors
/// What the operating system refused, such as a folder that is not there.
pub(crate) fn try_out(path: &Path) -> std::io::Result<()> {
    let (_, beside) = target_and_beside(path);
    std::fs::File::create_new(&beside)?;
    std::fs::remove_file(&beside)
}

/// The file that a path leads to, and one beside it to write into first.
fn target_and_beside(path: &Path) -> (PathBuf, PathBuf) {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    (target, beside)
}

/// It ends behind its last line; blank lines, and comments at the margin, at its end are none of it.
fn monitors_list(text: &str) -> Result<MonitorsList, String> {
    let mut lines = lines(text).skip_while(|(_, line)| !is_key(line, "monitors"));
    let Some((start, head)) = lines.next() else { return Err(format!("the file has no `monitors:`; {MEND}")) };
    let rest = head["monitors".len()..].trim_start().strip_prefix(':').unwrap_or_default();
    if !rest.split(" #").next().unwrap_or_default().trim().is_empty() && !rest.trim_start().starts_with('#') {
        return Err(format!("`monitors:` is not a list with dashes; {MEND}"));
    }
    let mut list = MonitorsList { end: start + head.len(), indent: 2, items: Vec::new() };
    for (at, line) in lines {
        let bare = line.trim_end();
        let at_margin = !bare.is_empty() && !line.starts_with(' ');
        let ends = bare == "---" || bare == "..." || bare.starts_with("--- ");
        if ends || (at_margin && !bare.starts_with(['-', '#'])) {
            break;
        }
        let blank = bare.is_empty() || (at_margin && bare.starts_with('#'));
        let (indent, is_item) = (bare.len() - bare.trim_start().len(), is_item(bare));
        if is_item && list.items.is_empty() {
            list.indent = indent;
        }
        if is_item && indent == list.indent {
            list.items.push(at);
        }
        if !blank {
            list.end = at + line.len();
        }
    }
    Ok(list)
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    line.trim_start().strip_prefix('-').is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
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
    use super::{inserted, replace, replaced};

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
    fn an_item_takes_the_place_of_another_and_nothing_else_moves() {
        const FILE: &str = "version: 1
monitors:
  # the first
  - id: a
    url: http://a/
    canaries:
      - { id: c }
    # LOOK: of the first

  # the second
  -
    id: b

  # - { id: c }
x: 1
";
        const NEW: &str = "  - id: new\n    url: http://h/\n";
        let first = "  - id: a\n    url: http://a/\n    canaries:\n      - { id: c }\n    # LOOK: of the first\n";
        let (second, crlf) = ("  -\n    id: b\n", FILE.replace('\n', "\r\n"));
        type Row<'r> = (&'r str, u32, Option<String>, &'r str);
        let rows: [Row<'_>; 9] = [
            (FILE, 4, Some(FILE.replace(first, NEW)), "the first, with what is indented as it is"),
            (FILE, 7, Some(FILE.replace(first, NEW)), "by a line within it"),
            (FILE, 12, Some(FILE.replace(second, NEW)), "the last, whose dash stands above its line"),
            (&*crlf, 4, Some(FILE.replace(first, NEW).replace('\n', "\r\n")), "line breaks of the other kind"),
            ("monitors:\n- {id: a}", 2, Some("monitors:\n- id: new\n  url: http://h/\n".to_owned()), "at the margin"),
            (FILE, 1, None, "above the list"),
            (FILE, 15, None, "below it"),
            (FILE, 99, None, "of another file"),
            ("monitors: [{ id: a }]\n", 1, None, "not in lines"),
        ];
        for (text, line, expected, sentence) in rows {
            let found = replaced(text, line, item);
            match expected {
                Some(expected) => assert_eq!(found, Ok(expected), "{sentence}"),
                None => assert!(found.is_err_and(|why| why.contains("with dashes")), "{sentence}"),
            }
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
