//! What a monitor's page can be asked to show, and the links that change one choice and keep the others.

use serde::Deserialize;

use crate::web::canary_past::BoardCut;
use crate::web::format::Query;
use crate::web::past::HeatDays;
use crate::web::ranges::Range;

/// What the address may ask for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct MonitorQuery {
    range: Option<String>,
    heat: Option<String>,
    board: Option<String>,
    pub said: Option<String>,
    pub at: Option<i64>,
}

/// What is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices {
    /// Of durations; none: the one that suits the monitor.
    pub range: Option<Range>,
    pub heat: HeatDays,
    /// Of canaries; none: the one that suits the monitor.
    pub board: Option<Range>,
}

/// A link to another choice.
#[derive(Debug)]
pub(crate) struct ChoiceLink {
    pub name: &'static str,
    pub href: String,
    pub chosen: bool,
}

impl Choices {
    /// What an address asks for; what it does not name, or names wrongly, is as always.
    pub(crate) fn of(asked: &MonitorQuery) -> Self {
        Self {
            range: asked.range.as_deref().and_then(Range::from_slug),
            heat: asked.heat.as_deref().and_then(HeatDays::from_slug).unwrap_or_default(),
            board: asked.board.as_deref().and_then(BoardCut::range),
        }
    }

    /// `shown`: the range that is drawn.
    pub(crate) fn ranges(self, shown: Range) -> Vec<ChoiceLink> {
        let link = |range: Range| Self { range: Some(range), ..self }.link("latency", range.slug(), range == shown);
        Range::ALL.map(link).into()
    }

    pub(crate) fn heats(self) -> Vec<ChoiceLink> {
        let link = |heat: HeatDays| Self { heat, ..self }.link("heat", heat.slug(), heat == self.heat);
        [HeatDays::Week, HeatDays::Kept].map(link).into()
    }

    /// `shown`: the range that is drawn.
    pub(crate) fn boards(self, shown: Range) -> Vec<ChoiceLink> {
        let link = |board: Range| Self { board: Some(board), ..self }.link("canaries", board.slug(), board == shown);
        BoardCut::RANGES.map(link).into()
    }

    /// What is as always stays out of the address.
    fn link(self, part: &str, name: &'static str, chosen: bool) -> ChoiceLink {
        let heat = if self.heat == HeatDays::default() { "" } else { self.heat.slug() };
        let board = self.board.map_or("", Range::slug);
        let range = self.range.map_or("", Range::slug);
        let query = Query(&[("range", range), ("heat", heat), ("board", board)]);
        ChoiceLink { name, href: format!("?{query}#{part}"), chosen }
    }
}
