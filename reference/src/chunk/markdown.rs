//! Reads Markdown as a list of blocks: headings, sentences, rows and code, which together cover all
//! that is not white space. Plain text is Markdown without headings.
//!
//! The rules are those of CommonMark (0.31) for what decides where a chunk may end: ATX and setext
//! headings, fences, paragraphs. Lists and quotes stay as they are written. The headings of reStructuredText, AsciiDoc
//! and pod are headings too: titles underlined with other signs, `== Title`, `=head2 Title`.

use crate::chunk::sentences;

/// What a block is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A heading of this depth, 1 to 6, and its title.
    Heading(usize, String),
    /// A sentence, or an item of a list without one.
    Sentence,
    /// A row of a table.
    Row,
    /// A fenced code block with its fences, or the front matter.
    Code,
}

/// A stretch of the text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The longest line that is a heading; a longer one is text that happens to begin with a hash.
const HEADING_BYTES_MAX: usize = 200;
/// Lines within which front matter must end.
const FRONT_MATTER_LINES_MAX: usize = 100;
/// Spaces from which on a line is code and no heading.
const INDENT_OF_CODE: usize = 4;

/// Every block, in order.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader { text, blocks: Vec::new(), paragraph: None, fence: None, rule: "" };
    let mut at = front_matter(text);
    if at > 0 {
        reader.push(BlockKind::Code, 0, at);
    }
    for line in text[at..].split_inclusive('\n') {
        reader.line(at, line);
        at += line.len();
    }
    reader.close_fence(text.len());
    reader.close_paragraph();
    reader.blocks
}

struct Reader<'a> {
    text: &'a str,
    blocks: Vec<Block>,
    /// Where the running paragraph began and ends.
    paragraph: Option<(usize, usize)>,
    /// Where the open code block began, and the fence that opened it.
    fence: Option<(usize, &'a str)>,
    /// The last line of nothing but one sign that stood above a text: a title's, or the begin of a listing.
    rule: &'a str,
}

impl<'a> Reader<'a> {
    fn line(&mut self, start: usize, line: &'a str) {
        let end = start + line.len();
        let bare = line.trim();
        if let Some((_, opening)) = self.fence {
            if closes(bare, opening) {
                self.close_fence(end);
            }
            return;
        }
        let depth = underline(line).filter(|_| self.is_title_over(bare));
        if let Some(depth) = depth {
            let (from, _) = self.paragraph.take().unwrap_or((start, start));
            let title = self.text[from..start].trim().to_owned();
            self.push(BlockKind::Heading(depth, title), from, end);
        } else if let Some(fence) = opening(bare) {
            self.close_paragraph();
            self.fence = Some((start, fence));
        } else if bare.is_empty() {
            self.close_paragraph();
        } else if let Some((depth, title)) = heading(line) {
            self.close_paragraph();
            self.push(BlockKind::Heading(depth, title.to_owned()), start, end);
        } else if bare.starts_with('|') || (bare.len() > 3 && underline(line).is_some()) {
            self.rule = if self.rule == bare { "" } else { bare };
            self.close_paragraph();
            self.push(BlockKind::Row, start, end);
        } else {
            if is_item(bare) {
                self.close_paragraph();
            }
            let from = self.paragraph.map_or(start, |(from, _)| from);
            self.paragraph = Some((from, end));
        }
    }

    /// A heading that is underlined has one line here; several are a paragraph and a rule. What CommonMark does not
    /// underline with is as long as the title at least. One line between two of dashes is a listing.
    fn is_title_over(&self, bare: &str) -> bool {
        self.paragraph.is_some_and(|(start, end)| {
            let line = &self.text[start..end];
            let is_underlined =
                bare.starts_with(['=', '-']) || bare.chars().count() >= line.trim().chars().count().max(4);
            let is_listing = bare.len() > 3 && bare.starts_with('-') && self.rule == bare;
            let is_one = line.len() <= HEADING_BYTES_MAX && line.matches('\n').count() == 1 && !is_item(line.trim());
            is_one && is_underlined && !is_listing
        })
    }

    fn push(&mut self, kind: BlockKind, start: usize, end: usize) {
        self.blocks.push(Block { kind, start, end });
    }

    fn close_fence(&mut self, end: usize) {
        if let Some((start, _)) = self.fence.take() {
            self.push(BlockKind::Code, start, end);
        }
    }

    fn close_paragraph(&mut self) {
        if let Some((start, end)) = self.paragraph.take() {
            for (start, end) in sentences::split(self.text, start, end) {
                self.push(BlockKind::Sentence, start, end);
            }
        }
    }
}

/// The length of the metadata between two lines of three dashes that some documents begin with.
fn front_matter(text: &str) -> usize {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').take(FRONT_MATTER_LINES_MAX).enumerate() {
        at += line.len();
        match (number, line.trim_end()) {
            (0, "---") => {}
            (0, _) => return 0,
            (_, "---") => return at,
            _ => {}
        }
    }
    0
}

fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count() + if line.starts_with('\t') { INDENT_OF_CODE } else { 0 }
}

/// Depth and title of a heading that says itself that it is one.
fn heading(line: &str) -> Option<(usize, &str)> {
    if line.len() > HEADING_BYTES_MAX || indent(line) >= INDENT_OF_CODE {
        return None;
    }
    let line = line.trim();
    if let Some(pod) = line.strip_prefix("=head") {
        let (depth, title) = pod.split_once(' ')?;
        return Some((depth.parse().ok().filter(|depth| (1..=6).contains(depth))?, title.trim()));
    }
    let sign = line.chars().next().filter(|c| matches!(c, '#' | '='))?;
    let depth = line.chars().take_while(|c| *c == sign).count();
    let title = line.get(depth..)?.strip_prefix([' ', '\t'])?.trim().trim_end_matches(sign).trim();
    ((1..=6).contains(&depth) && !title.is_empty()).then_some((depth, title))
}

/// The depth that an underline gives to the line above it.
fn underline(line: &str) -> Option<usize> {
    let bare = line.trim();
    if indent(line) >= INDENT_OF_CODE || bare.is_empty() {
        return None;
    }
    let sign = bare.as_bytes()[0];
    let depth = match sign {
        b'=' => 1,
        b'-' if bare.len() > 1 => 2,
        b'#' | b'*' if bare.len() > 3 => 1,
        b'~' if bare.len() > 3 => 3,
        b'^' if bare.len() > 3 => 4,
        b'"' | b'+' if bare.len() > 3 => 5,
        _ => return None,
    };
    bare.bytes().all(|byte| byte == sign).then_some(depth)
}

/// The run of backticks or tildes that opens a code block.
fn opening(bare: &str) -> Option<&str> {
    let sign = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let fence = &bare[..bare.len() - bare.trim_start_matches(sign).len()];
    let is_inline = sign == '`' && bare[fence.len()..].contains('`');
    (fence.len() >= 3 && !is_inline).then_some(fence)
}

/// Whether a line ends the block that this fence opened: the same sign, as long at least, alone.
fn closes(bare: &str, fence: &str) -> bool {
    bare.len() >= fence.len() && bare.trim_start_matches(&fence[..1]).is_empty()
}

fn is_item(bare: &str) -> bool {
    let digits = bare.bytes().take(10).take_while(u8::is_ascii_digit).count();
    bare.starts_with("- ")
        || bare.starts_with("* ")
        || bare.starts_with("+ ")
        || (digits > 0 && (bare[digits..].starts_with(". ") || bare[digits..].starts_with(") ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, expected: &[(&str, &str)]) {
        let blocks = blocks(text);
        let got: Vec<(String, &str)> = blocks
            .iter()
            .map(|block| {
                let name = match &block.kind {
                    BlockKind::Heading(depth, title) => format!("{depth} {title}"),
                    BlockKind::Sentence => "sentence".to_owned(),
                    BlockKind::Row => "row".to_owned(),
                    BlockKind::Code => "code".to_owned(),
                };
                (name, text[block.start..block.end].trim())
            })
            .collect();
        let got: Vec<(&str, &str)> = got.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn blocks_are_those_of_markdown() {
        check("nothing", "", &[]);
        check("a heading", "## A b ##\n", &[("2 A b", "## A b ##")]);
        check("a heading needs its space", "#tag\n", &[("sentence", "#tag")]);
        check("an underlined title", "Title\n=====\nText.\n", &[("1 Title", "Title\n====="), ("sentence", "Text.")]);
        check("underlined otherwise", "Title\n~~~~~\nText.\n", &[("3 Title", "Title\n~~~~~"), ("sentence", "Text.")]);
        check(
            "a short line is no underline",
            "A longer line\n^^^^\n",
            &[("sentence", "A longer line"), ("row", "^^^^")],
        );
        check(
            "lines above and below a title",
            "=====\nTitle\n=====\n",
            &[("row", "====="), ("1 Title", "Title\n=====")],
        );
        check("a listing", "----\nls\n----\n", &[("row", "----"), ("sentence", "ls"), ("row", "----")]);
        check("of AsciiDoc", "== A b\n", &[("2 A b", "== A b")]);
        check("of pod", "=head2 A b\n\n=cut\n", &[("2 A b", "=head2 A b"), ("sentence", "=cut")]);
        check("a rule after a paragraph is none", "\n---\n", &[("sentence", "---")]);
        check("a hash in indented code is no heading", "    # x\n", &[("sentence", "# x")]);
        check("a list", "- One.\n- Two.\n", &[("sentence", "- One."), ("sentence", "- Two.")]);
        check("a table", "| a. b |\n| c |\n", &[("row", "| a. b |"), ("row", "| c |")]);
        check("a fence holds hashes", "```\n# x\n```\n", &[("code", "```\n# x\n```")]);
        check(
            "a longer fence holds a shorter",
            "````\n```\n````\nX\n",
            &[("code", "````\n```\n````"), ("sentence", "X")],
        );
        check("an open fence goes to the end", "~~~\n# x", &[("code", "~~~\n# x")]);
        check("front matter is no title", "---\na: 1\n---\nX\n", &[("code", "---\na: 1\n---"), ("sentence", "X")]);
        check("inline code opens nothing", "```a```\n# B\n", &[("sentence", "```a```"), ("1 B", "# B")]);
    }

    #[test]
    fn a_line_without_end_is_no_heading() {
        let line = format!("# {}", "x ".repeat(500));
        assert!(blocks(&line).iter().all(|block| block.kind == BlockKind::Sentence));
    }
}
