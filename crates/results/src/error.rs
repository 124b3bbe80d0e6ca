//! Error type of the result store: I/O, damaged journals, tables that do not fit, other runs, locks.

use std::io;
use std::path::{Path, PathBuf};

/// Result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of this crate, with the path where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Attempted operation, as a verb: `read`, `write`, `lock`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The caller's writer failed.
    #[error("cannot write the table: {0}")]
    Write(#[source] io::Error),
    /// The file does not start with a journal's magic bytes.
    #[error("{} is not a journal of this program", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// A record before the last one fails its checksum or is inconsistent.
    #[error("{} is damaged at byte {offset}: {why}", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Offset of the record in the file, bytes.
        offset: u64,
        /// Cause.
        why: String,
    },
    /// The file belongs to another run.
    #[error("{} holds another run: {field} is {found} there and {wanted} here", path.display())]
    OtherRun {
        /// File with the older header.
        path: PathBuf,
        /// Differing field of the header.
        field: String,
        /// Value in the file.
        found: String,
        /// Value of the caller.
        wanted: String,
    },
    /// A header that cannot be written as a table.
    #[error("the header of the run does not hold together: {0}")]
    Header(String),
    /// A row that does not fit its header.
    #[error("the row of cell {cell}, repetition {repetition}, flow {flow:?} does not fit the run: {why}")]
    Row {
        /// The row's cell.
        cell: u32,
        /// The row's repetition.
        repetition: u64,
        /// The row's flow.
        flow: String,
        /// Cause.
        why: String,
    },
    /// Two rows with equal keys and different values: the repetition was not reproducible.
    #[error("cell {cell}, repetition {repetition}, flow {flow:?} is there twice with different values")]
    Conflict {
        /// Cell of both rows.
        cell: u32,
        /// Repetition of both rows.
        repetition: u64,
        /// Flow of both rows.
        flow: String,
    },
    /// The Parquet library failed to read or write.
    #[error("cannot {action} {}: {source}", path.display())]
    Parquet {
        /// Attempted operation, as a verb.
        action: &'static str,
        /// The table.
        path: PathBuf,
        /// Error of the library.
        source: ::parquet::errors::ParquetError,
    },
    /// A Parquet file that is no table of flows.
    #[error("{} is not a table of flows: {why}", path.display())]
    NotFlows {
        /// The file.
        path: PathBuf,
        /// Cause.
        why: String,
    },
    /// A file that is not valid JSON.
    #[error("{} is not JSON: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Position and cause.
        source: serde_json::Error,
    },
    /// The folder for a new run contains a run already.
    #[error("{} already holds a run ({found}): resume it or choose another folder", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// File that shows the existing run.
        found: &'static str,
    },
    /// Another process writes into the folder.
    #[error("{} is being written by another run", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no finished repetition.
    #[error("{} holds no finished repetition", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Operation out of order for the state of the folder.
    #[error("{}: {why}", path.display())]
    Order {
        /// The folder.
        path: PathBuf,
        /// Operation that must come first.
        why: &'static str,
    },
    /// A paired test of two series with different lengths.
    #[error("a paired test needs series of one length, not {left} and {right}")]
    Pairing {
        /// Length of the first series.
        left: usize,
        /// Length of the second series.
        right: usize,
    },
}

impl Error {
    /// Returns a constructor of [`Error::Io`] for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }

    /// Returns a constructor of [`Error::Parquet`] for `map_err`.
    pub(crate) fn parquet(
        action: &'static str,
        path: &Path,
    ) -> impl Fn(::parquet::errors::ParquetError) -> Error {
        move |source| Error::Parquet { action, path: path.to_owned(), source }
    }

    /// Constructs [`Error::NotFlows`].
    pub(crate) fn not_flows(path: &Path, why: impl Into<String>) -> Error {
        Error::NotFlows { path: path.to_owned(), why: why.into() }
    }
}
