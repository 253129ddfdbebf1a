//! What was asked of a corpus and what each arm brought.

use crate::corpus::Asked;

/// Sources among a question's hits that are looked at.
pub(crate) const SOURCES: usize = 5;

/// What ranks sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    /// The server, as it is shipped.
    Server,
    Bm25,
    TfIdf,
    /// The server's vectors and nothing else.
    Vectors,
}

impl Arm {
    pub(crate) const ALL: [(Self, &'static str); 4] =
        [(Self::Server, "server"), (Self::Bm25, "BM25"), (Self::TfIdf, "TF-IDF"), (Self::Vectors, "vectors alone")];
}

/// What is measured of a corpus.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) sources: usize,
    pub(crate) chunks: usize,
    pub(crate) answers: Vec<Answered>,
}

/// A question with what each arm brought.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) asked: Asked,
    /// The rank of the first source that answers, by arm; `None` where it is not among the first five.
    pub(crate) ranks: Vec<(Arm, Option<usize>)>,
    /// The server's score of each of its first sources, and whether that one answers.
    pub(crate) scores: Vec<(f64, bool)>,
}
