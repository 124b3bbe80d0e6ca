//! Store of simulation results: rows, journal, run folder, Parquet, CSV and JSON, statistics over
//! repetitions, paired comparison.
//!
//! A run produces [`Row`]s: one per cell of the grid, repetition and flow, with a value per metric. They are
//! appended to a [`journal`], so that a kill at any moment loses no finished repetition, and finally written
//! to one Parquet table ([`parquet`]). [`folder`] manages both files, [`stats`] and [`cells`] summarise the
//! rows, [`json`] and [`csv`] write them.
//!
//! The crate depends on neither engine nor scenario: the caller supplies rows, headers and the time of day.
//!
//! ```
//! use results::{Cell, Column, Combine, Header, Row};
//!
//! let header = Header::new(
//!     "4f1c",
//!     1,
//!     "0.1.0",
//!     vec![Cell::new(0, [("recovery", "reno")])],
//!     vec![Column::new("download_time_s", "s", Combine::Mean)],
//! )?;
//! let rows = [Row::new(0, 0, "download", [31.5]), Row::new(0, 1, "download", [32.5])];
//! let document = results::json::run_document("handover.toml", &header, &rows)?;
//! assert_eq!(document["cells"][0]["metrics"]["download_time_s"]["mean"], 32.0);
//! # Ok::<(), results::Error>(())
//! ```

pub mod cells;
pub mod csv;
mod durable;
mod error;
pub mod folder;
pub mod grid;
pub mod journal;
pub mod json;
mod merged;
pub mod names;
pub mod numbers;
pub mod pairs;
pub mod parquet;
pub mod row;
pub mod source;
pub mod stats;
mod student;

pub use self::error::{Error, Result};
pub use self::folder::RunFolder;
pub use self::grid::Grid;
pub use self::journal::Journal;
pub use self::merged::Merged;
pub use self::parquet::Table;
pub use self::row::{Cell, Column, Combine, Header, Row};
pub use self::stats::Summary;
