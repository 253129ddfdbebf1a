//! The methods beyond prose by its headings, and summaries of long documents.

use crate::chunk::chunkers::code::outline;
use crate::chunk::chunkers::{summary as sentences, topics as turns};
use crate::chunk::chunks::{Chunk, Role};
use crate::chunk::headings::{Piece, Titles, piece, sections};
use crate::chunk::markdown::{self, BlockKind};
use crate::chunk::method::Method;
use crate::chunk::pack::{self, Packer};
use crate::chunk::units::{self, Unit};
use crate::text::tokens;

/// A text of more characters than this also gets a summary.
pub(crate) const SUMMARY_CHARS_MIN: usize = 50_000;

/// The longest parent: with four hits expanded, an answer still fits its budget of 2,000 tokens.
const PARENT_TOKENS_MAX: usize = 500;

/// As `markdown`, each section before its passages; one that is too long is several parents.
pub(crate) fn parent_child(text: &str, tokens_max: usize, overlap: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for section in sections(text, tokens_max) {
        let parents = Packer::new(text, &section.path, PARENT_TOKENS_MAX.max(tokens_max));
        let packer = Packer::new(text, &section.path, tokens_max);
        for parent in parents.full(&section.units) {
            let at = pieces.len();
            pieces.push(Piece { is_section: true, ..piece(&section.path, &section.units, &parent) });
            let units = &section.units[parent.first..=parent.last];
            let children = packer.sentences(units, overlap);
            pieces.extend(children.iter().map(|run| Piece { parent: Some(at), ..piece(&section.path, units, run) }));
        }
    }
    pieces
}

/// By topic: headings are text like any other here, and each chunk has the path it begins under.
pub(crate) fn topics(text: &str, tokens_max: usize) -> Vec<Piece> {
    let mut units: Vec<Unit> = Vec::new();
    let mut paths: Vec<(usize, String)> = Vec::new();
    let mut titles = Titles::default();
    let mut budget = Packer::new(text, "", tokens_max).budget();
    for block in markdown::blocks(text) {
        if let BlockKind::Heading(depth, title) = &block.kind {
            titles.enter(*depth, title);
            let path = pack::path(&titles.all(), tokens_max);
            budget = Packer::new(text, &path, tokens_max).budget();
            paths.push((units.len(), path));
        }
        units::push(text, block.start, block.end, block.kind != BlockKind::Code, budget, &mut units);
    }
    let sentences: Vec<&str> = units.iter().map(|unit| &text[unit.start..unit.end]).collect();
    let ends = turns::turns(&sentences).into_iter().chain([units.len()]);
    let mut pieces = Vec::new();
    let mut first = 0;
    for end in ends {
        while first < end {
            let known = paths.partition_point(|(from, _)| *from <= first);
            let path = known.checked_sub(1).map_or("", |at| paths[at].1.as_str());
            let run = Packer::new(text, path, tokens_max).next(&units[first..end]);
            pieces.push(piece(path, &units[first..end], &run));
            first += run.last + 1;
        }
    }
    pieces
}

/// By function.
pub(crate) fn code(text: &str, tokens_max: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for part in outline::parts(text) {
        let titles: Vec<&str> = part.titles.iter().map(String::as_str).collect();
        let path = pack::path(&titles, tokens_max);
        let packer = Packer::new(text, &path, tokens_max);
        let mut units = Vec::new();
        if part.is_function {
            units::push(text, part.start, part.end, false, packer.budget(), &mut units);
        } else {
            for (start, end) in paragraphs(text, part.start, part.end) {
                units::push(text, start, end, false, packer.budget(), &mut units);
            }
        }
        pieces.extend(packer.full(&units).iter().map(|run| piece(&path, &units, run)));
    }
    pieces
}

/// The summary of a text.
pub(crate) fn summary(method: Method, text: &str, tokens_max: usize, length: usize) -> Option<Chunk> {
    let (section, units) = statements(text, tokens_max, method == Method::Code);
    let budget = tokens_max.saturating_sub(tokens::count(&section) + 1);
    let fits = |content: &str| Some(tokens::count(&pack::searched(&section, content))).filter(|sum| *sum <= tokens_max);
    let (content, tokens) = sentences::extract(text, &units, budget, fits)?;
    Some(Chunk { section, content, char_start: 0, char_end: length, tokens, role: Role::Summary, parent: None })
}

/// What a summary may be made of, and the first heading: sentences, else lines, as of code. None has
/// more than half the tokens, so that there is room for two.
pub(crate) fn statements(text: &str, tokens_max: usize, is_code: bool) -> (String, Vec<Unit>) {
    let budget = tokens_max / 2;
    let mut units = Vec::new();
    let mut title = None;
    let blocks = if is_code { Vec::new() } else { markdown::blocks(text) };
    for block in blocks {
        match block.kind {
            BlockKind::Heading(_, first) => {
                title.get_or_insert(first);
            }
            BlockKind::Sentence => units::push(text, block.start, block.end, true, budget, &mut units),
            BlockKind::Row | BlockKind::Code => {}
        }
    }
    if units.is_empty() {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            units::push(text, at, at + line.len(), true, budget, &mut units);
            at += line.len();
        }
    }
    (pack::path(&title.iter().map(String::as_str).collect::<Vec<_>>(), tokens_max), units)
}

/// Stretches between empty lines.
fn paragraphs(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut from, mut at) = (start, start);
    for line in text[start..end].split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() {
            found.push((from, at));
            from = at;
        }
    }
    found.push((from, at));
    found
}
