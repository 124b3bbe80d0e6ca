//! Colour palette of pictures, distinct for every common kind of colour vision.
//!
//! Each glyph also has a shape of its own, so that no meaning depends on colour alone.

/// Axes, text and segments sent for the first time.
pub(crate) const INK: &str = "#1b1f24";
/// Secondary text.
pub(crate) const SOFT: &str = "#57606a";
/// Grid lines.
pub(crate) const GRID: &str = "#e3e6ea";
/// Needed retransmissions and genuine timeouts.
pub(crate) const NEEDED: &str = "#0072b2";
/// Unneeded retransmissions and spurious timeouts.
pub(crate) const UNNEEDED: &str = "#d55e00";
/// Retransmissions and timeouts without a verdict.
pub(crate) const UNKNOWN: &str = "#6e7681";
/// Events of lower layers.
pub(crate) const LAYER: &str = "#b9a3d6";
/// Text about events of lower layers.
pub(crate) const LAYER_WORDS: &str = "#54357f";
/// Arrivals at the receiver.
pub(crate) const ARRIVAL: &str = "#3aa583";
/// Acknowledgements.
pub(crate) const ACK: &str = "#8a929b";
/// Lost segments.
pub(crate) const LOST: &str = "#a3307a";
/// Shade of a disturbed interval.
pub(crate) const SPIKE: &str = "#f6e3b4";
/// Text about unneeded retransmissions: darker than the glyphs, for contrast.
pub(crate) const UNNEEDED_WORDS: &str = "#ad4a00";
/// Text about needed retransmissions.
pub(crate) const NEEDED_WORDS: &str = "#005a8f";
/// Text about a disturbed interval.
pub(crate) const SPIKE_WORDS: &str = "#7a5a00";
