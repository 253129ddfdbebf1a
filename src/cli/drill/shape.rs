//! The shapes of server that are drilled: what a fault looks like depends on what the server's scores are.

use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::project::template::TEMPLATE;

/// A shape of search server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// Both arms, merged by reciprocal ranks, which are the scores.
    Fused,
    /// Vectors alone, scored by cosine.
    Cosine,
    /// Both arms, then a reranker, whose scores are shown.
    Reranked,
    /// Both arms, merged; answers hold no scores.
    Scoreless,
}

impl Shape {
    /// Every shape, in the order of the matrix.
    pub(crate) const ALL: [Self; 4] = [Self::Fused, Self::Cosine, Self::Reranked, Self::Scoreless];

    /// The word on the command line and in the matrix.
    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::Fused => "fused",
            Self::Cosine => "cosine",
            Self::Reranked => "reranked",
            Self::Scoreless => "scoreless",
        }
    }

    /// The configuration of its server's project.
    pub(crate) fn config(self, remembers: bool) -> String {
        let reranker = if self == Self::Reranked { "builtin" } else { "none" };
        TEMPLATE
            .replacen("\nembedder: none", "\nembedder: builtin", 1)
            .replacen("  reranker: none", &format!("  reranker: {reranker}"), 1)
            .replacen("  remember: true", &format!("  remember: {remembers}"), 1)
    }

    /// What makes the reference server one of this shape, beside its configuration; on from the start, and never off.
    pub(crate) fn made_by(self) -> Option<(Fault, Dose)> {
        let fault = match self {
            Self::Cosine => Fault::KeywordArmOff,
            Self::Scoreless => Fault::ScoresHidden,
            Self::Fused | Self::Reranked => return None,
        };
        Some((fault, Dose::of(fault)))
    }

    /// Where one result holds the score that is watched; none where it holds none.
    pub(crate) const fn score(self) -> Option<&'static str> {
        match self {
            Self::Fused | Self::Reranked => Some("/final_score"),
            Self::Cosine => Some("/score"),
            Self::Scoreless => None,
        }
    }
}
