//! Pictures, charts, tables and pages of results, as self-contained HTML and SVG text.
//!
//! The crate converts data to text. It reads no file and no clock and fetches nothing; a page contains its
//! data, its style and its script, and opens from disk without a network.
//!
//! - [`Picture`] is one flow as a time-sequence picture with the panels below it: the window and the
//!   retransmission timer. [`Picture::caption`] describes it in two or three sentences,
//!   [`Picture::svg`] draws it for a paper.
//! - [`Chart`] is one value over time, or a few that share an axis. [`Layer`]s under either show the events
//!   in lower layers; [`under`] gives those during the wait for a timeout.
//! - [`Figure`] is a figure of a study with its published statements under the curves.
//! - [`Map`] is a radio network with its mobiles, moment by moment.
//! - [`Table`] and [`Bars`] hold published values beside measured ones.
//! - [`Page`] puts them together; [`Page::html`] writes the page.

mod bars;
mod chart;
mod data;
mod decimate;
mod drawing;
mod events;
mod explore;
mod figure;
mod layers;
mod legend;
mod map;
mod model;
mod page;
mod palette;
mod scale;
mod story;
mod strokes;
mod svg;
mod table;
mod text;
mod xplot;

pub use bars::{Bar, BarGroup, Bars};
pub use chart::Chart;
pub use explore::{Axis, Explore, Metric, Variant};
pub use figure::{Curve, Figure, Statement};
pub use layers::{TimeoutOverlap, under};
pub use map::{CellChange, Map, MobileState, Moment};
pub use model::{
    Ack, Drop, FastRetransmit, Ink, Interval, Layer, LayerEvent, Panel, Picture, Received, SegmentKind, Sent,
    Series, Style, Timeout, TimerSample, Truth, WindowSample,
};
pub use page::{Item, Page, Section};
pub use table::{Cell, CellVerdict, ComparisonStrip, Table};
