//! Result store: rows, journal, Parquet, statistics.
//!
//! A run produces [`Row`]s: one per cell of the grid, repetition and flow, with a value per metric. They go
//! first to an append-only [`journal`], so that a kill at any moment loses no finished repetition, and at
//! the end to one Parquet table ([`parquet`]). [`folder`] keeps the two together, [`stats`] and [`cells`]
//! boil the rows down, [`json`] and [`csv`] print them.
//!
//! The crate knows neither engine nor scenario: rows, headers and the time of day are handed in.
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
pub use self::parquet::Table;
pub use self::row::{Cell, Column, Combine, Header, Row};
pub use self::stats::Summary;
