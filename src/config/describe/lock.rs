//! monitors.lock as it is written: an entry a monitor, a block a canary, everything in a fixed order and on lines of its
//! own, so that a diff shows a reviewer what moved and nothing else. What it is read back by: `config::check::pinned`.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use crate::config::check::definition::asked;
use crate::config::check::pinned::ANSWERED;
use crate::domain::monitor::Monitor;
use crate::domain::pinned::{Pinned, PinnedCanary};
use crate::domain::quality::score_code::rounded;
use crate::domain::tools::Listing;
use crate::tool_lists::tools::{kept_whole, name_of};

/// How a lock begins that nobody wrote yet.
const HEAD: &str = "# What servers answered when somebody looked and took it for good: `serin pin` writes it, a commit approves it.\n\
                    version: 1\nmonitors:\n";
/// What a person does about a lock that is not written in lines.
const MEND: &str = "it is not as `serin pin` writes it; take it away and pin its monitors again";
/// Blanks before the id of an entry.
const INDENT: &str = "  ";

/// The entry of a monitor.
pub fn entry(monitor: &Monitor, pinned: &Pinned) -> String {
    let Pinned { hash: _, place: _, runs, reached_index, server, scale, sources, relations, canaries, tools } = pinned;
    let mut out = format!("{INDENT}{}:\n    runs: {runs}\n", monitor.id);
    let mut line = |text: String| {
        out.push_str("    ");
        out.push_str(&text);
        out.push('\n');
    };
    let answered = ANSWERED.iter().find(|(_, index)| index == reached_index).map_or("", |(word, _)| *word);
    line(format!("answered: {answered}"));
    if let Some((name, version)) = server {
        line(format!("server: {{ name: {}, version: {} }}", quoted(name), quoted(version)));
    }
    if let Some((lowest, highest)) = scale {
        line(format!("scale: {{ lowest: {}, highest: {} }}", figure(*lowest), figure(*highest)));
    }
    if let Some(sources) = sources {
        line(format!("sources: {sources}"));
    }
    if !relations.is_empty() {
        let held: Vec<&str> = relations.iter().map(|relation| relation.slug()).collect();
        line(format!("relations: [{}]", held.join(", ")));
    }
    if !canaries.is_empty() {
        line("canaries:".to_owned());
    }
    for (id, pin) in canaries {
        if let Some(declared) = monitor.canaries.iter().find(|declared| declared.id == *id) {
            write_canary(&mut out, (id, &asked(&monitor.search, declared)), pin);
        }
    }
    if let Some(listing) = tools {
        write_tools(&mut out, listing);
    }
    out
}

/// The entry of a monitor with these tools in place of the pinned ones; none where nothing is pinned of it, or these
/// cannot be.
pub fn with_tools(monitor: &Monitor, listing: &Arc<Listing>) -> Option<String> {
    let pinned = monitor.pinned.as_deref().filter(|_| can_be_pinned(listing))?;
    Some(entry(monitor, &Pinned { tools: Some(Arc::clone(listing)), ..pinned.clone() }))
}

fn write_canary(out: &mut String, (id, asked): (&str, &str), pin: &PinnedCanary) {
    let PinnedCanary { definition_hash: _, lists, top_score, results, chars, first_chars, text_chars, repeats, sorted } =
        pin;
    let (fewest, most) = results;
    let _ = writeln!(out, "      {id}:\n        asked: \"{asked}\"");
    let _ = writeln!(out, "        results: {{ fewest: {fewest}, most: {most} }}");
    if !lists.is_empty() {
        out.push_str("        lists:\n");
    }
    for list in lists {
        let sources: Vec<String> = list.iter().map(|source| quoted(source)).collect();
        let _ = writeln!(out, "          - [{}]", sources.join(", "));
    }
    if let Some(score) = top_score {
        let (median, mad) = (figure(score.median), figure(score.mad));
        let _ = writeln!(out, "        top_score: {{ median: {median}, mad: {mad} }}");
    }
    if let Some(chars) = chars {
        let _ = writeln!(out, "        chars: {chars}");
    }
    if let Some(chars) = first_chars {
        let _ = writeln!(out, "        first_chars: {chars}");
    }
    if let Some((shortest, longest)) = text_chars {
        let _ = writeln!(out, "        text: {{ shortest: {shortest}, longest: {longest} }}");
    }
    if *repeats {
        let _ = writeln!(out, "        repeats: true");
    }
    let _ = writeln!(out, "        sorted: {sorted}");
}

fn write_tools(out: &mut String, listing: &Listing) {
    let said = listing.server_instructions.as_deref().unwrap_or_default();
    if !said.is_empty() {
        out.push_str("    instructions:\n");
        said.split('\n').for_each(|line| *out += &format!("      - {}\n", quoted(line)));
    }
    let Some(tools) = kept_whole(&listing.json) else { return };
    out.push_str(if tools.is_empty() { "    tools: {}\n" } else { "    tools:\n" });
    for tool in &tools {
        let name = name_of(tool);
        let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let name = if is_plain { name.to_owned() } else { quoted(name) };
        let _ = writeln!(out, "      {name}: |-");
        json_text(tool).lines().for_each(|line| *out += &format!("        {line}\n"));
    }
}

/// Whether a list of tools can be pinned: it was kept whole, and each name stands for one tool.
pub fn can_be_pinned(listing: &Listing) -> bool {
    let Some(tools) = kept_whole(&listing.json) else { return false };
    let mut names: Vec<&str> = tools.iter().map(name_of).collect();
    names.sort_unstable();
    // `<<` would bring in other keys.
    names.windows(2).all(|pair| pair[0] != pair[1]) && !names.contains(&"<<")
}

/// A tool on lines of its own; what cannot be seen is escaped.
fn json_text(tool: &Value) -> String {
    let text = serde_json::to_string_pretty(tool).unwrap_or_default();
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_unseen(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A text in double quotes; what cannot be seen is escaped, so that nothing hides in a review.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_unseen(c) => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Control characters, marks that turn the direction of writing, characters without width, and what is none.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{1fffe}'..='\u{1ffff}' | '\u{e0000}'..='\u{10ffff}'
        )
}

/// The shortest decimal that is judged as this number is.
fn figure(number: f64) -> String {
    let short = (0..17).filter_map(|digits| format!("{number:.digits$e}").parse::<f64>().ok());
    let mut short = short.filter(|short| rounded(*short).to_bits() == rounded(number).to_bits());
    short.next().unwrap_or(number).to_string()
}

/// A lock's text with this entry of a monitor in it: in place of the one it has, else by its id among the others, which
/// all stay as they are, byte for byte.
///
/// # Errors
/// Where the lock is not written in lines, with the mend.
pub fn with_entry(lock: &str, id: &str, entry: &str) -> Result<String, String> {
    if lock.trim().is_empty() {
        return Ok(format!("{HEAD}{entry}"));
    }
    let mut lock = lock.replace("\r\n", "\n");
    if !lock.ends_with('\n') {
        lock.push('\n');
    }
    let entries = entries(&lock).ok_or_else(|| MEND.to_owned())?;
    let (from, until) = match entries.iter().find(|(known, ..)| known == id) {
        Some((_, from, until)) => (*from, *until),
        None => {
            let behind = entries.iter().find(|(known, ..)| known.as_str() > id).map(|(_, from, _)| *from);
            let at = behind.map_or(lock.len(), |at| above_comments(&lock, at));
            (at, at)
        }
    };
    Ok(format!("{}{entry}{}", &lock[..from], &lock[until..]))
}

/// The bytes of each entry, by its id; none where they do not stand in lines of their own.
fn entries(lock: &str) -> Option<Vec<(String, usize, usize)>> {
    let (mut at, mut found, mut is_inside) = (0, Vec::<(String, usize, usize)>::new(), false);
    for line in lock.split_inclusive('\n') {
        let (bare, end) = (line.trim_end(), at + line.len());
        let word = bare.trim_start();
        let is_comment = word.starts_with('#');
        match bare.len() - word.len() {
            // A blank line is inside an entry where more of it follows.
            _ if word.is_empty() => {}
            0 if !is_comment => {
                is_inside = bare == "monitors:";
                if bare.starts_with("monitors") && !is_inside {
                    return None;
                }
            }
            1 if is_inside && !is_comment => return None,
            2 if is_inside && !is_comment => found.push((word.strip_suffix(':')?.to_owned(), at, end)),
            3.. if is_inside => found.last_mut()?.2 = end,
            // Comments on the margin belong to what follows them.
            _ => {}
        }
        at = end;
    }
    Some(found)
}

/// Where the comments begin that stand right above a line.
fn above_comments(lock: &str, mut at: usize) -> usize {
    while let Some(line) = lock[..at].trim_end_matches('\n').rsplit('\n').next() {
        if !lock[..at].ends_with('\n') || !line.trim_start().starts_with('#') || !line.starts_with(INDENT) {
            break;
        }
        at -= line.len() + 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_short_as_they_are_judged() {
        for (number, expected) in
            [(0.5, "0.5"), (rounded(0.81), "0.81"), (rounded(1.0 / 61.0), "0.016396"), (0.0, "0"), (-3.0, "-3")]
        {
            let written = figure(number);
            assert_eq!(written, expected);
            assert_eq!(rounded(written.parse().unwrap()).to_bits(), rounded(number).to_bits(), "{number} is read back");
        }
    }

    #[test]
    fn nothing_hides_in_a_review() {
        let rows = [
            ("auth/tokens.md", r#""auth/tokens.md""#, "a usual name"),
            ("a \"b\" \\c", r#""a \"b\" \\c""#, "quotes and strokes"),
            ("a\u{202e}b\u{7}", r#""a\U0000202eb\U00000007""#, "what cannot be seen"),
            ("über 文", "\"über 文\"", "letters of any language"),
        ];
        for (text, expected, sentence) in rows {
            assert_eq!(quoted(text), expected, "{sentence}");
        }
        let tool = serde_json::json!({ "name": "a\u{200b}\u{e0041}\n" });
        assert_eq!(json_text(&tool), "{\n  \"name\": \"a\\u200b\\udb40\\udc41\\n\"\n}");
        assert_eq!(serde_json::from_str::<Value>(&json_text(&tool)).unwrap(), tool, "and it is the same tool");
    }

    #[test]
    fn an_entry_takes_its_place_and_the_others_stay() {
        let lock = "# ours\nversion: 1\nmonitors:\n  # of the docs team\n  docs:\n    runs: 20\n\n  # new model\n  wiki:\n    runs: 20\n    tools:\n      a: |-\n        {\n\n        }\n# end\n";
        let rows = [
            ("docs", lock.replacen("    runs: 20\n", "    runs: 3\n", 1), "in place of the one it has"),
            ("wiki", "# ours\nversion: 1\nmonitors:\n  # of the docs team\n  docs:\n    runs: 20\n\n  # new model\n  wiki:\n    runs: 3\n# end\n".to_owned(), "the last"),
            ("a", lock.replace("  # of the docs", "  a:\n    runs: 3\n  # of the docs"), "before the first, and its comment"),
            ("faq", lock.replace("  # new", "  faq:\n    runs: 3\n  # new"), "between two"),
        ];
        for (id, expected, sentence) in rows {
            let entry = format!("  {id}:\n    runs: 3\n");
            assert_eq!(with_entry(lock, id, &entry), Ok(expected), "{sentence}");
        }
        assert_eq!(with_entry("", "docs", "  docs:\n"), Ok(format!("{HEAD}  docs:\n")), "a new lock");
        assert_eq!(with_entry(HEAD, "docs", "  docs:\n"), Ok(format!("{HEAD}  docs:\n")), "one without an entry");
        for other in ["version: 1\nmonitors: { docs: { runs: 1 } }\n", "version: 1\nmonitors:\n docs:\n  runs: 1\n"] {
            assert_eq!(with_entry(other, "docs", "  docs:\n"), Err(MEND.to_owned()), "{other}");
        }
    }
}
