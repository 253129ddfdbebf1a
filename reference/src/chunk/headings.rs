//! The methods: what is kept together, below which headings, and what is left of it after packing.

use crate::chunk::markdown::{self, BlockKind};
use crate::chunk::pack::{self, Packer, Run};
use crate::chunk::units::{self, Unit};

/// A chunk to be, in bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) section: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Of the heading path and the text.
    pub(crate) tokens: usize,
    /// A parent, not a passage.
    pub(crate) is_section: bool,
    /// The parent's place in the list.
    pub(crate) parent: Option<usize>,
}

/// What stands below one heading.
pub(super) struct Section {
    pub(super) path: String,
    pub(super) units: Vec<Unit>,
}

/// By headings, then by sentences.
pub(crate) fn markdown(text: &str, tokens_max: usize, overlap: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for section in sections(text, tokens_max) {
        let packer = Packer::new(text, &section.path, tokens_max);
        let runs = packer.sentences(&section.units, overlap);
        pieces.extend(runs.iter().map(|run| piece(&section.path, &section.units, run)));
    }
    pieces
}

pub(super) fn piece(path: &str, units: &[Unit], run: &Run) -> Piece {
    let (start, end) = (units[run.first].start, units[run.last].end);
    Piece { section: path.to_owned(), start, end, tokens: run.tokens, is_section: false, parent: None }
}

/// The text by headings; headings with nothing below them leave nothing.
pub(super) fn sections(text: &str, tokens_max: usize) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut titles = Titles::default();
    let mut is_new = true;
    let mut budget = 0;
    for block in markdown::blocks(text) {
        if let BlockKind::Heading(depth, title) = &block.kind {
            titles.enter(*depth, title);
            is_new = true;
            continue;
        }
        if std::mem::take(&mut is_new) {
            let path = pack::path(&titles.all(), tokens_max);
            budget = Packer::new(text, &path, tokens_max).budget();
            sections.push(Section { path, units: Vec::new() });
        }
        if let Some(section) = sections.last_mut() {
            units::push(text, block.start, block.end, block.kind != BlockKind::Code, budget, &mut section.units);
        }
    }
    sections
}

/// The headings that are open, outermost first.
#[derive(Default)]
pub(super) struct Titles(Vec<(usize, String)>);

impl Titles {
    pub(super) fn enter(&mut self, depth: usize, title: &str) {
        self.0.retain(|(above, _)| *above < depth);
        self.0.push((depth, title.to_owned()));
    }

    pub(super) fn all(&self) -> Vec<&str> {
        self.0.iter().map(|(_, title)| title.as_str()).collect()
    }
}
