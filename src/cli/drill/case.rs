//! One row of the matrix: what happens to a server, and what Serin should tell of it.

use serin_reference::lab::kinds::{Dose, Fault};

use crate::cli::drill::shape::Shape;
use crate::domain::reason::FailureReason as R;

/// What happens beside the switches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Deed {
    /// Nothing.
    None,
    /// The server crashes and comes back.
    Crash,
    /// So many percent of documents come in.
    Grow(usize),
    /// Documents get another sentence.
    Edit,
    /// What canaries expect comes in once more, under other names.
    Twin,
    /// Each document is written again, and its chunks get other numbers.
    Renumber,
    /// Scores move a little, each beat anew.
    Jitter,
    /// Everything is cut and embedded again.
    Reindex,
    /// Every remembered answer is forgotten.
    Flush,
    /// Every question is asked and remembered while another model embeds it.
    OtherModel,
    /// The watch goes on over sessions.
    Sessions,
}

/// One row of the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// The fault's name, with its mode where it has one.
    pub(super) name: &'static str,
    /// What is switched on.
    pub(super) faults: &'static [(Fault, Dose)],
    pub(super) deed: Deed,
    /// The reason it should be told as; others after it mean the same to somebody outside. Empty: nobody may be woken.
    pub(super) told: &'static [R],
    /// The same for a server whose vectors are all it has.
    pub(super) on_cosine: Option<&'static [R]>,
    /// The shapes that can have it.
    pub(super) shapes: &'static [Shape],
    /// Whether it needs answers that are remembered.
    pub(super) needs_cache: bool,
    /// Whether the seed decides what is struck.
    pub(super) is_drawn: bool,
    /// Whether it is one of the nine faults of retrieval that an answer cache once hid.
    pub(super) is_of_nine: bool,
    /// Whether the file limits what an answer may take of a model's context.
    pub(super) limits_answers: bool,
    /// Beats after which nothing more is waited for.
    pub(super) beats_max: u32,
    /// What would make it visible, or what nobody outside can know of it.
    pub(super) note: &'static str,
}

impl Case {
    /// What it should be told as on a shape of server, the best word first; empty where nobody may be woken.
    pub(super) fn expected(&self, shape: Shape) -> &'static [R] {
        match self.on_cosine {
            Some(reasons) if shape == Shape::Cosine => reasons,
            _ => self.told,
        }
    }

    /// Whether nothing is broken.
    pub(super) const fn is_benign(&self) -> bool {
        self.told.is_empty()
    }

    /// What is switched on with this seed.
    pub(super) fn faults(&self, seed: u64) -> Vec<(Fault, Dose)> {
        self.faults.iter().map(|(fault, dose)| (*fault, dose.seed(seed))).collect()
    }
}
