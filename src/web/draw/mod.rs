//! Shapes: glyphs, the strip of beats, the chart of percentiles, the heat map of hours, the waterfall of a probe.
//!
//! Geometry is worked out here and written by the templates, which escape every word in it.

pub mod chart;
pub mod glyph;
pub mod heat;
pub mod strip;
pub mod waterfall;
