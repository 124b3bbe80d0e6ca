//! Errors of the result store.

use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way to fail, with the path where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused an operation on a file.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: `read`, `write`, `lock`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A writer that the caller gave refused to take the table.
    #[error("cannot write the table: {0}")]
    Write(#[source] io::Error),
    /// The file does not begin as a journal does.
    #[error("{} is not a journal of this program", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// A record that is not the last one fails its check, or says something impossible.
    #[error("{} is damaged at byte {offset}: {why}", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Bytes from the start of the file to the record that fails.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The file holds another run than the one that wants to go on.
    #[error("{} holds another run: {field} is {found} there and {wanted} here", path.display())]
    OtherRun {
        /// The file with the older header.
        path: PathBuf,
        /// The part of the header that differs.
        field: String,
        /// What the file says.
        found: String,
        /// What the caller says.
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
        /// What does not fit.
        why: String,
    },
    /// Two rows with the same key and different values: the repetition was not repeatable.
    #[error("cell {cell}, repetition {repetition}, flow {flow:?} is there twice with different values")]
    Conflict {
        /// The cell of both.
        cell: u32,
        /// The repetition of both.
        repetition: u64,
        /// The flow of both.
        flow: String,
    },
    /// The Parquet library refused to read or write.
    #[error("cannot {action} {}: {source}", path.display())]
    Parquet {
        /// What was tried, as a verb.
        action: &'static str,
        /// The table.
        path: PathBuf,
        /// The library's answer.
        source: ::parquet::errors::ParquetError,
    },
    /// A Parquet file that is not a table of flows.
    #[error("{} is not a table of flows: {why}", path.display())]
    NotFlows {
        /// The file.
        path: PathBuf,
        /// What is missing or out of place.
        why: String,
    },
    /// A JSON file that is not JSON.
    #[error("{} is not JSON: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A new run was to be put where one already is.
    #[error("{} already holds a run ({found}): resume it or choose another folder", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// The file that gives it away.
        found: &'static str,
    },
    /// Another process writes into the folder.
    #[error("{} is being written by another run", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// No repetition has finished in the folder.
    #[error("{} holds no finished repetition", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// The folder was asked for something that comes before or after its present step.
    #[error("{}: {why}", path.display())]
    Order {
        /// The folder.
        path: PathBuf,
        /// What should have happened first.
        why: &'static str,
    },
    /// A paired test of two series that do not pair.
    #[error("a paired test needs series of one length, not {left} and {right}")]
    Pairing {
        /// Length of the first series.
        left: usize,
        /// Length of the second series.
        right: usize,
    },
}

impl Error {
    /// An [`Error::Io`] maker for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }

    /// An [`Error::Parquet`] maker for `map_err`.
    pub(crate) fn parquet(
        action: &'static str,
        path: &Path,
    ) -> impl Fn(::parquet::errors::ParquetError) -> Error {
        move |source| Error::Parquet { action, path: path.to_owned(), source }
    }

    /// An [`Error::NotFlows`].
    pub(crate) fn not_flows(path: &Path, why: impl Into<String>) -> Error {
        Error::NotFlows { path: path.to_owned(), why: why.into() }
    }
}
