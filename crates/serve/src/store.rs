//! Database of the control tool's queue (SQLite): replication sets with state and order, hashes of scenarios with
//! confirmed commands.
//!
//! Every change is durable before the response (`synchronous = FULL`), so that no set is lost if the server or the
//! machine stops. Results are in the run folders of the sets.

use crate::error::Problem;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Clock of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Clock {
    /// Virtual time: `williwaw run`.
    Virtual,
    /// Real time: `williwaw emulate`.
    Real,
}

/// State of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SetState {
    /// The set waits in the queue.
    Queued,
    /// A process plays the set.
    Running,
    /// Interrupted by the user; the set keeps its place and continues on request.
    Paused,
    /// Ended by the user; finished repetitions are kept.
    Stopped,
    /// All repetitions are finished.
    Done,
    /// The process failed.
    Failed,
}

impl SetState {
    fn name(self) -> &'static str {
        match self {
            SetState::Queued => "queued",
            SetState::Running => "running",
            SetState::Paused => "paused",
            SetState::Stopped => "stopped",
            SetState::Done => "done",
            SetState::Failed => "failed",
        }
    }

    fn of(name: &str) -> SetState {
        let all = [SetState::Queued, SetState::Running, SetState::Paused, SetState::Stopped, SetState::Done];
        all.into_iter().find(|state| state.name() == name).unwrap_or(SetState::Failed)
    }
}

/// Replication set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Set {
    pub(crate) id: i64,
    /// Name of the scenario.
    pub(crate) name: String,
    /// Title of the scenario.
    pub(crate) title: String,
    /// Text of the scenario.
    #[serde(skip)]
    pub(crate) text: String,
    pub(crate) clock: Clock,
    /// Repetitions per cell of the grid.
    pub(crate) repetitions: u32,
    /// Number of cells of the grid.
    pub(crate) cells: u64,
    pub(crate) state: SetState,
    /// Error, or remark on the end of the set.
    pub(crate) message: String,
    /// Date of queueing, UTC.
    pub(crate) created: String,
    /// Date of the end, UTC; `None` before.
    pub(crate) ended: Option<String>,
    /// Id of the process that plays the set.
    #[serde(skip)]
    pub(crate) process: Option<u32>,
}

/// Set to be queued.
#[derive(Clone, Debug)]
pub(crate) struct New {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) clock: Clock,
    pub(crate) repetitions: u32,
    pub(crate) cells: u64,
}

/// Connection to the database.
#[derive(Debug)]
pub(crate) struct Store(Mutex<Connection>);

const TABLES: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS sets (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, clock TEXT NOT NULL,
        repetitions INTEGER NOT NULL, cells INTEGER NOT NULL,
        state TEXT NOT NULL, message TEXT NOT NULL DEFAULT '', place INTEGER NOT NULL,
        created TEXT NOT NULL DEFAULT (datetime('now')), ended TEXT, process INTEGER
    ) STRICT;
    CREATE TABLE IF NOT EXISTS confirmed (
        hash TEXT PRIMARY KEY, at TEXT NOT NULL DEFAULT (datetime('now'))
    ) STRICT;
    PRAGMA user_version = 1;
";

const COLUMNS: &str =
    "id, name, title, text, clock, repetitions, cells, state, message, created, ended, process";

impl Store {
    pub(crate) fn open(path: &Path) -> Result<Store, Problem> {
        let connection = Connection::open(path)?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version > 1 {
            return Err(Problem::wrong(
                format!("`{}` was written by a newer williwaw", path.display()),
                "use that version, or another folder with --dir",
            ));
        }
        connection.execute_batch(TABLES)?;
        Ok(Store(Mutex::new(connection)))
    }

    fn open_connection(&self) -> MutexGuard<'_, Connection> {
        // After a panic of a lock holder, the database has the state of the last statement.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds a set in one transaction, in which `keep` writes the set's files. If the server ends before the
    /// transaction does, the database has no row of the set.
    pub(crate) fn add(
        &self,
        new: &New,
        keep: impl FnOnce(i64) -> Result<(), Problem>,
    ) -> Result<i64, Problem> {
        let mut db = self.open_connection();
        let db = db.transaction()?;
        db.execute(
            "INSERT INTO sets (name, title, text, clock, repetitions, cells, state, place)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', (SELECT coalesce(max(place), 0) + 1 FROM sets))",
            params![new.name, new.title, new.text, clock(new.clock), new.repetitions, new.cells as i64],
        )?;
        let id = db.last_insert_rowid();
        keep(id)?;
        db.commit()?;
        Ok(id)
    }

    /// All sets, in order of the queue.
    pub(crate) fn all(&self) -> Result<Vec<Set>, Problem> {
        let db = self.open_connection();
        let mut query = db.prepare_cached(&format!("SELECT {COLUMNS} FROM sets ORDER BY place, id"))?;
        let sets = query.query_map([], set)?.collect::<rusqlite::Result<Vec<Set>>>()?;
        Ok(sets)
    }

    pub(crate) fn get(&self, id: i64) -> Result<Set, Problem> {
        let db = self.open_connection();
        let found =
            db.query_row(&format!("SELECT {COLUMNS} FROM sets WHERE id = ?1"), [id], set).optional()?;
        found.ok_or_else(|| Problem::missing(format!("set {id}")))
    }

    /// Next set to play: a set that was running when the server ended, otherwise the first queued one.
    pub(crate) fn next(&self) -> Result<Option<Set>, Problem> {
        let db = self.open_connection();
        let sql = format!(
            "SELECT {COLUMNS} FROM sets WHERE state IN ('running', 'queued')
             ORDER BY state = 'running' DESC, place, id LIMIT 1"
        );
        Ok(db.query_row(&sql, [], set).optional()?)
    }

    /// Sets the state of a set and clears its process id; a final state sets the date of the end.
    pub(crate) fn set_state(&self, id: i64, state: SetState, message: &str) -> Result<(), Problem> {
        let over = matches!(state, SetState::Done | SetState::Failed | SetState::Stopped);
        self.open_connection().execute(
            "UPDATE sets SET state = ?2, message = ?3, process = NULL,
             ended = CASE WHEN ?4 THEN datetime('now') END WHERE id = ?1",
            params![id, state.name(), message, over],
        )?;
        Ok(())
    }

    pub(crate) fn set_process(&self, id: i64, process: Option<u32>) -> Result<(), Problem> {
        self.open_connection().execute("UPDATE sets SET process = ?2 WHERE id = ?1", params![id, process])?;
        Ok(())
    }

    /// Moves a set to the front of the queue.
    pub(crate) fn first(&self, id: i64) -> Result<(), Problem> {
        self.open_connection().execute(
            "UPDATE sets SET place = (SELECT coalesce(min(place), 0) - 1 FROM sets) WHERE id = ?1",
            [id],
        )?;
        Ok(())
    }

    pub(crate) fn remove(&self, id: i64) -> Result<(), Problem> {
        self.open_connection().execute("DELETE FROM sets WHERE id = ?1", [id])?;
        Ok(())
    }

    /// Whether the user has confirmed the commands of the scenario with this hash.
    pub(crate) fn is_confirmed(&self, hash: &str) -> Result<bool, Problem> {
        let db = self.open_connection();
        let found = db.query_row("SELECT 1 FROM confirmed WHERE hash = ?1", [hash], |_| Ok(())).optional()?;
        Ok(found.is_some())
    }

    /// Records that the user has confirmed the commands of the scenario with this hash.
    pub(crate) fn confirm(&self, hash: &str) -> Result<(), Problem> {
        self.open_connection().execute("INSERT OR IGNORE INTO confirmed (hash) VALUES (?1)", [hash])?;
        Ok(())
    }
}

fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Virtual => "virtual",
        Clock::Real => "real",
    }
}

fn set(row: &Row<'_>) -> rusqlite::Result<Set> {
    let clock: String = row.get(4)?;
    let state: String = row.get(7)?;
    Ok(Set {
        id: row.get(0)?,
        name: row.get(1)?,
        title: row.get(2)?,
        text: row.get(3)?,
        clock: if clock == "real" { Clock::Real } else { Clock::Virtual },
        repetitions: row.get(5)?,
        cells: row.get::<_, i64>(6)?.max(0) as u64,
        state: SetState::of(&state),
        message: row.get(8)?,
        created: row.get(9)?,
        ended: row.get(10)?,
        process: row.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str) -> New {
        let text = format!("# {name}");
        New { name: name.into(), title: "<b>".into(), text, clock: Clock::Virtual, repetitions: 3, cells: 2 }
    }

    #[test]
    fn the_queue_outlives_its_connection_and_keeps_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue.sqlite");
        let [a, b, c] = {
            let store = Store::open(&path).unwrap();
            let ids = ["a", "b", "c"].map(|name| store.add(&new(name), |_| Ok(())).unwrap());
            store.set_state(ids[1], SetState::Running, "").unwrap();
            store.set_process(ids[1], Some(7)).unwrap();
            store.confirm("4f").unwrap();
            ids
        };
        let store = Store::open(&path).unwrap();
        // Sets that were running when the server ended come first.
        assert_eq!(store.next().unwrap().unwrap().id, b);
        assert_eq!(store.get(b).unwrap().process, Some(7));
        store.set_state(b, SetState::Done, "").unwrap();
        assert!(store.get(b).unwrap().ended.is_some() && store.get(b).unwrap().process.is_none());
        store.first(c).unwrap();
        assert_eq!(store.next().unwrap().unwrap().id, c);
        let order: Vec<i64> = store.all().unwrap().into_iter().map(|set| set.id).collect();
        assert_eq!(order, [c, a, b]);
        // A set whose files cannot be written is not added.
        assert!(store.add(&new("d"), |_| Err(Problem::machine("full".to_owned()))).is_err());
        assert_eq!(store.all().unwrap().len(), 3);
        store.remove(c).unwrap();
        assert_eq!(store.next().unwrap().unwrap().text, "# a");
        assert!(store.get(c).is_err());
        assert!(store.is_confirmed("4f").unwrap() && !store.is_confirmed("4e").unwrap());
    }
}
