//! Shapes: glyphs, the strip of beats, the bars of hours and days, the chart of percentiles, the heat map of hours, a canary's ranks, a
//! kind's share of right answers, the waterfall of a probe.
//!
//! Geometry is worked out here and written by the templates, which escape every word in it.

pub(crate) mod bars;
pub(crate) mod chart;
pub(crate) mod glyph;
pub(crate) mod heat;
pub(crate) mod ranks;
pub(crate) mod strip;
pub(crate) mod trend;
pub(crate) mod waterfall;
