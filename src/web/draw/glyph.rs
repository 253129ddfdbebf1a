//! A shape and a word for every state: colour never stands alone.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::domain::outcome::Verdict;
use crate::domain::reason::Severity;
use crate::domain::signal::Phase;
use crate::live::monitor_view::RollUp;

/// A shape by name, out of the page's sheet of symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Template)]
#[template(path = "part/glyph.html")]
pub(crate) struct Glyph {
    /// The symbol's and the class's name.
    pub name: &'static str,
}

impl HtmlSafe for Glyph {}

/// A roll-up's shape; the name is its class as well.
pub(crate) const fn of_roll_up(roll_up: RollUp) -> Glyph {
    let name = match roll_up {
        RollUp::Down => "down",
        RollUp::NoAccess => "no-access",
        RollUp::Degraded => "degraded",
        RollUp::Recovering => "recovering",
        RollUp::Waiting => "waiting",
        RollUp::Unknown => "unknown",
        RollUp::Up => "up",
    };
    Glyph { name }
}

pub(crate) const fn of_phase(phase: Phase) -> Glyph {
    let name = match phase {
        Phase::Quiet => "quiet",
        Phase::Pending => "pending",
        Phase::Open => "open",
        Phase::Clearing => "recovering",
    };
    Glyph { name }
}

pub(crate) const fn of_severity(severity: Severity) -> Glyph {
    let name = match severity {
        Severity::Page => "page",
        Severity::Ticket => "ticket",
        Severity::Notice => "notice",
    };
    Glyph { name }
}

pub(crate) const fn of_verdict(verdict: Verdict) -> Glyph {
    let name = match verdict {
        Verdict::Good => "up",
        Verdict::Degraded => "degraded",
        Verdict::Down => "down",
        Verdict::Unknown => "unknown",
    };
    Glyph { name }
}
