//! Cuts Markdown into chunks: by headings first, then by sentences, four to six a chunk, one shared
//! with the neighbour.
//!
//! A chunk is a verbatim stretch of its source, so `char_start` and `char_end` can be trusted. It
//! carries the path of headings above it, since a sentence without its heading is often about
//! nothing. Code blocks stay whole.

use unicode_segmentation::UnicodeSegmentation;

/// A stretch of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Headings above it, outermost first, joined by ` > `; empty where there are none.
    pub section: String,
    /// The text as it stands in the source.
    pub content: String,
    /// Where it begins, in characters from the start of the source.
    pub char_start: usize,
    /// Where it ends, exclusive.
    pub char_end: usize,
}

impl Chunk {
    /// What is embedded and what the keyword arm reads: headings and text.
    pub fn searched(&self) -> String {
        format!("{}\n{}", self.section, self.content)
    }
}

/// Sentences in a chunk where the section has that many.
const SENTENCES: usize = 5;
/// The most a chunk takes, so that a section's last sentence is not left alone.
const SENTENCES_MAX: usize = 6;
/// Sentences that neighbours share.
const OVERLAP: usize = 1;
/// The longest unit, in bytes: a longer sentence or code block is cut at a space, for a chunk must
/// stay under the 500 tokens that `health` allows.
const UNIT_BYTES_MAX: usize = 1_200;
/// The longest chunk, in bytes.
const CHUNK_BYTES_MAX: usize = 1_800;
/// What ends in a dot without ending a sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "etc.", "cf.", "vs.", "approx.", "no.", "fig."];

/// Every chunk of a Markdown text, in order. Plain text is Markdown without headings.
pub fn markdown(text: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for section in sections(text) {
        for (start, end) in group(&section.units) {
            let content = text[start..end].trim_end();
            let end = start + content.len();
            if content.is_empty() {
                continue;
            }
            chunks.push(Chunk {
                section: section.path.clone(),
                content: content.to_owned(),
                char_start: text[..start].chars().count(),
                char_end: text[..end].chars().count(),
            });
        }
    }
    chunks
}

struct Section {
    path: String,
    units: Vec<(usize, usize)>,
}

/// Splits a text at its headings, and each section into units: sentences, list items, code blocks.
fn sections(text: &str) -> Vec<Section> {
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut sections = vec![Section { path: String::new(), units: Vec::new() }];
    let mut block: Option<(usize, usize)> = None;
    let mut fence: Option<usize> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let bare = line.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        if let Some(from) = fence {
            if is_fence {
                push_pieces(text, from, end, &mut sections);
                fence = None;
            }
            continue;
        }
        let heading = heading(bare);
        let is_item = is_item(bare);
        if is_fence || heading.is_some() || bare.is_empty() || is_item {
            flush(text, &mut block, &mut sections);
        }
        if is_fence {
            fence = Some(start);
        } else if let Some((depth, title)) = heading {
            path.retain(|(above, _)| *above < depth);
            path.push((depth, title.to_owned()));
            let joined = path.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" > ");
            sections.push(Section { path: joined, units: Vec::new() });
        } else if !bare.is_empty() {
            block = Some((block.map_or(start, |(from, _)| from), end));
        }
    }
    if let Some(from) = fence {
        push_pieces(text, from, text.len(), &mut sections);
    }
    flush(text, &mut block, &mut sections);
    sections
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(depth..)?.strip_prefix(' ')?.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&depth) && !title.is_empty()).then_some((depth, title))
}

fn is_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with('|')
        || (digits > 0 && line[digits..].starts_with(". "))
}

/// Ends the running paragraph: its sentences become units of the last section.
fn flush(text: &str, block: &mut Option<(usize, usize)>, sections: &mut [Section]) {
    let Some((start, end)) = block.take() else { return };
    let mut from: Option<usize> = None;
    for (offset, sentence) in text[start..end].split_sentence_bound_indices() {
        let begin = from.unwrap_or(start + offset);
        let stop = start + offset + sentence.len();
        let last_word = sentence.split_whitespace().next_back().unwrap_or_default().to_lowercase();
        if ABBREVIATIONS.contains(&last_word.as_str()) && stop < end {
            from = Some(begin);
            continue;
        }
        from = None;
        push_pieces(text, begin, stop, sections);
    }
    if let Some(begin) = from {
        push_pieces(text, begin, end, sections);
    }
}

/// Adds a unit, cut at spaces where it is longer than a unit may be.
fn push_pieces(text: &str, start: usize, end: usize, sections: &mut [Section]) {
    let Some(section) = sections.last_mut() else { return };
    let mut start = start;
    while end - start > UNIT_BYTES_MAX {
        let mut limit = start + UNIT_BYTES_MAX;
        while !text.is_char_boundary(limit) {
            limit -= 1;
        }
        let cut = text[start..limit].rfind(char::is_whitespace).map_or(limit, |space| start + space + 1);
        // A space that is wider than a byte: step to its end.
        let cut = (cut..=limit).find(|at| text.is_char_boundary(*at)).unwrap_or(limit);
        section.units.push((start, cut));
        start = cut;
    }
    if !text[start..end].trim().is_empty() {
        section.units.push((start, end));
    }
}

/// Joins units into chunks; gives byte ranges.
fn group(units: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut first = 0;
    while first < units.len() {
        let left = units.len() - first;
        let wanted = if left <= SENTENCES_MAX { left } else { SENTENCES };
        let mut last = first;
        while last + 1 < first + wanted && units[last + 1].1 - units[first].0 <= CHUNK_BYTES_MAX {
            last += 1;
        }
        ranges.push((units[first].0, units[last].1));
        if last + 1 >= units.len() {
            break;
        }
        // One sentence is shared, but never so that nothing new is said.
        first = if last > first { last + 1 - OVERLAP } else { last + 1 };
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(count: usize) -> String {
        (1..=count).map(|number| format!("This is sentence {number}. ")).collect()
    }

    fn check(says: &str, text: &str, expected: &[(&str, &str)]) {
        let chunks = markdown(text);
        let got: Vec<(&str, &str)> = chunks.iter().map(|c| (c.section.as_str(), c.content.as_str())).collect();
        assert_eq!(got, expected, "{says}");
        for chunk in &chunks {
            let letters: String = text.chars().skip(chunk.char_start).take(chunk.char_end - chunk.char_start).collect();
            assert_eq!(letters, chunk.content, "{says}: offsets point at the very text");
        }
    }

    #[test]
    fn chunks_follow_headings_and_sentences() {
        check("nothing gives nothing", "", &[]);
        check("a heading alone gives nothing", "# Title\n", &[]);
        check("plain text is one section without a path", "Hello there. Bye.", &[("", "Hello there. Bye.")]);
        check(
            "a heading stays with its text, under its parents",
            "# A\nOne é.\n## B\nTwo.\n# C\nThree.\n",
            &[("A", "One é."), ("A > B", "Two."), ("C", "Three.")],
        );
        check(
            "code stays whole, its hashes are no headings",
            "# A\nBefore.\n```\n# not a heading. Nor this.\n```\n",
            &[("A", "Before.\n```\n# not a heading. Nor this.\n```")],
        );
        check("an abbreviation ends no sentence", "See e.g. This one. Yes.", &[("", "See e.g. This one. Yes.")]);
    }

    #[test]
    fn neighbours_share_one_sentence() {
        let chunks = markdown(&sentences(9));
        assert_eq!(chunks.len(), 2);
        assert!(chunks[0].content.ends_with("sentence 5."));
        assert!(chunks[1].content.starts_with("This is sentence 5."));
        assert!(chunks[1].content.ends_with("sentence 9."));
        assert_eq!(markdown(&sentences(6)).len(), 1, "six fit one chunk");
    }

    #[test]
    fn nothing_is_longer_than_a_chunk_may_be() {
        for hostile in
            ["x".repeat(9_000), "é ".repeat(5_000), "```\n".to_owned() + &"y\n".repeat(4_000), "\u{3000}".repeat(5_000)]
        {
            let chunks = markdown(&hostile);
            assert!(chunks.iter().all(|chunk| chunk.content.len() <= CHUNK_BYTES_MAX));
        }
    }
}
