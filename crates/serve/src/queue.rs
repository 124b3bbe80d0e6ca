//! Queue of replication sets (`Queue`): plays one set at a time in a child process; pause, stop, resumption,
//! progress, recovery after a kill of the server.
//!
//! The database has the intended state; the run folder and its lock show the actual state. The process of a set
//! continues after a kill of the server. The next server finds the run folder locked, waits until that process
//! ends, and continues the run if repetitions are missing.

use crate::child::{self, Williwaw};
use crate::error::Problem;
use crate::library::{self, Library};
use crate::store::{New, Set, SetState, Store};
use results::RunFolder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::process::Child;
use tokio::sync::{Notify, watch};

/// Queue of sets with its player.
#[derive(Debug)]
pub(crate) struct Queue {
    store: Arc<Store>,
    library: Arc<Library>,
    williwaw: Arc<Williwaw>,
    /// Signals that a set was queued or a request arrived.
    stirred: Notify,
    /// State that the user requested for a running set, and whether the set's process was interrupted already.
    wanted: Mutex<BTreeMap<i64, (SetState, bool)>>,
    /// Sets as JSON, published at each change.
    told: watch::Sender<Arc<Value>>,
    /// The server ends: no further set is played.
    closing: AtomicBool,
}

/// Time that an interrupted process has to write its results.
const GRACE: Duration = Duration::from_secs(20);
/// Poll interval of processes and progress.
const LOOK: Duration = Duration::from_millis(400);

impl Queue {
    pub(crate) fn new(store: Arc<Store>, library: Arc<Library>, williwaw: Arc<Williwaw>) -> Queue {
        Queue {
            store,
            library,
            williwaw,
            stirred: Notify::new(),
            wanted: Mutex::default(),
            told: watch::channel(Arc::new(json!([]))).0,
            closing: AtomicBool::new(false),
        }
    }

    /// Subscription to the sets at each change.
    pub(crate) fn listen(&self) -> watch::Receiver<Arc<Value>> {
        self.told.subscribe()
    }

    /// Appends a set to the queue; `files` are the files that its scenario names.
    pub(crate) fn add(&self, new: &New, files: &BTreeMap<String, Vec<u8>>) -> Result<i64, Problem> {
        let id = self.store.add(new, |id| {
            let kept = self.keep(id, new, files);
            if kept.is_err() {
                // A later set may get the same id.
                let _ = std::fs::remove_dir_all(self.library.set(id));
            }
            kept
        })?;
        self.stirred.notify_one();
        Ok(id)
    }

    /// Writes the scenario of a set and the files that it names into the set's folder.
    fn keep(&self, id: i64, new: &New, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Problem> {
        let folder = self.library.set(id);
        let make = |path: &Path| {
            std::fs::create_dir_all(path)
                .map_err(|error| Problem::machine(format!("`{}` cannot be made: {error}", path.display())))
        };
        make(&folder)?;
        for (name, bytes) in files.iter().filter(|(name, _)| library::inside(name)) {
            let path = folder.join(name);
            path.parent().map_or(Ok(()), make)?;
            library::write(&path, bytes)?;
        }
        library::write(&folder.join("scenario.toml"), new.text.as_bytes())
    }

    /// Executes a user's request on a set: pause, stop, resume, first, delete.
    pub(crate) fn ask(&self, id: i64, what: &str) -> Result<(), Problem> {
        let set = self.store.get(id)?;
        let running = set.state == SetState::Running;
        match (what, set.state) {
            ("pause" | "stop", SetState::Running) => {
                let state = if what == "pause" { SetState::Paused } else { SetState::Stopped };
                self.wanted().insert(id, (state, false));
                self.interrupt(id, set.process);
            }
            ("pause", SetState::Queued) => self.store.set_state(id, SetState::Paused, "")?,
            ("stop", SetState::Queued | SetState::Paused) => {
                self.store.set_state(id, SetState::Stopped, "")?
            }
            ("resume", SetState::Paused | SetState::Stopped | SetState::Failed) => {
                self.store.set_state(id, SetState::Queued, "")?;
            }
            ("first", SetState::Queued) => self.store.first(id)?,
            ("delete", _) if !running => {
                self.store.remove(id)?;
                // A remaining folder is harmless, since ids of committed sets are not reused.
                let _ = std::fs::remove_dir_all(self.library.set(id));
            }
            _ => {
                return Err(Problem::wrong(
                    format!(
                        "a set that is {} does not accept {what}",
                        json!(set.state).as_str().unwrap_or("?")
                    ),
                    "",
                ));
            }
        }
        self.stirred.notify_one();
        Ok(())
    }

    fn wanted(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, (SetState, bool)>> {
        self.wanted.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Interrupts the process of a set once, if a state was requested for the set. A process that does not play the
    /// run folder yet is interrupted at the next poll.
    fn interrupt(&self, id: i64, process: Option<u32>) {
        let run = self.library.run(id);
        if let (Some((_, interrupted @ false)), Some(process)) = (self.wanted().get_mut(&id), process)
            && child::plays(process, &run)
        {
            child::interrupt(process);
            *interrupted = true;
        }
    }

    /// Plays the sets of the queue one after the other, for ever.
    pub(crate) async fn play(self: Arc<Queue>) {
        loop {
            let next = self.store.next().ok().flatten().filter(|_| !self.closing.load(Ordering::Relaxed));
            let Some(set) = next else {
                let _ = tokio::time::timeout(Duration::from_secs(5), self.stirred.notified()).await;
                continue;
            };
            if let Err(problem) = self.play_one(&set).await {
                let _ = self.store.set_state(set.id, SetState::Failed, &problem.to_string());
            }
        }
    }

    /// Plays one set, or waits for a process of an earlier server that plays it.
    async fn play_one(&self, set: &Set) -> Result<(), Problem> {
        let run = self.library.run(set.id);
        if locked(&run) {
            self.store.set_state(set.id, SetState::Running, "")?;
            self.store.set_process(set.id, set.process)?;
            while locked(&run) {
                tokio::time::sleep(LOOK).await;
            }
            return self.settle(set, None);
        }
        if set.state == SetState::Running && complete(&run) {
            return self.settle(set, None);
        }
        let mut child = self.williwaw.play(set, &self.library)?;
        self.store.set_state(set.id, SetState::Running, "")?;
        self.store.set_process(set.id, child.id())?;
        let status = self.end_of(set, &mut child).await?;
        if self.closing.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.settle(set, status)
    }

    /// Exit status of the set's process. A process that does not end within [`GRACE`] after an interrupt is killed.
    async fn end_of(&self, set: &Set, child: &mut Child) -> Result<Option<i32>, Problem> {
        let lost =
            |error: std::io::Error| Problem::machine(format!("the process of the set is lost: {error}"));
        let mut asked = Duration::ZERO;
        loop {
            if let Ok(ended) = tokio::time::timeout(LOOK, child.wait()).await {
                return Ok(ended.map_err(lost)?.code());
            }
            if self.closing.load(Ordering::Relaxed) || self.wanted().contains_key(&set.id) {
                asked += LOOK;
                self.interrupt(set.id, child.id());
            }
            if asked > GRACE {
                child.start_kill().map_err(lost)?;
            }
        }
    }

    /// Stores the state of a set whose process has ended with exit status `status`; `None` for a process of an
    /// earlier server, or one ended by a signal.
    fn settle(&self, set: &Set, status: Option<i32>) -> Result<(), Problem> {
        let wanted = self.wanted().remove(&set.id);
        let run = self.library.run(set.id);
        let (state, message) = match (status, wanted) {
            (Some(0), _) => (SetState::Done, String::new()),
            (Some(1), _) => (SetState::Done, "an expectation or a command failed".to_owned()),
            (Some(4), _) => (SetState::Done, "not faithful: packets left too late too often".to_owned()),
            (_, Some((wanted, _))) => (wanted, String::new()),
            (None, None) if complete(&run) => (SetState::Done, String::new()),
            // The process was ended from outside: the set is queued again.
            (None | Some(130), None) => (SetState::Queued, String::new()),
            (Some(_), None) => (SetState::Failed, self.log(set.id)),
        };
        self.store.set_state(set.id, state, &message)
    }

    /// Last part of the log of the set's process.
    fn log(&self, id: i64) -> String {
        let text = std::fs::read(self.library.set(id).join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(2000)..]).into_owned();
        text.trim().trim_start_matches("error: ").to_owned()
    }

    /// Publishes the sets and their progress at each change, for ever.
    pub(crate) async fn watch(self: Arc<Queue>) {
        let mut seen = BTreeMap::new();
        loop {
            let queue = self.clone();
            let looked = tokio::task::spawn_blocking(move || {
                let sets = queue.described(&mut seen);
                (sets, seen)
            });
            let Ok((sets, kept)) = looked.await else { return };
            seen = kept;
            if let Ok(sets) = sets {
                self.told.send_if_modified(|told| {
                    let changed = **told != sets;
                    if changed {
                        *told = Arc::new(sets);
                    }
                    changed
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Sets with their progress; `seen` caches the size of each set's results and the progress read from them.
    fn described(&self, seen: &mut BTreeMap<i64, (u64, u64)>) -> Result<Value, Problem> {
        let one = |set: &Set| {
            let total = set.cells * u64::from(set.repetitions);
            let done = match set.state {
                SetState::Done => total,
                _ => self.progress(set, seen).min(total),
            };
            let mut value = json!(set);
            value["done"] = json!(done);
            value["total"] = json!(total);
            value
        };
        Ok(self.store.all()?.iter().map(one).collect())
    }

    /// Number of finished repetitions, counted again only if the results have grown.
    fn progress(&self, set: &Set, seen: &mut BTreeMap<i64, (u64, u64)>) -> u64 {
        let run = self.library.run(set.id);
        let size = |name: &str| std::fs::metadata(run.join(name)).map_or(0, |m| m.len());
        let size = size(results::folder::JOURNAL) + size(results::folder::TABLE);
        if let Some((_, done)) = seen.get(&set.id).filter(|(before, _)| *before == size) {
            return *done;
        }
        let rows = results::folder::read(&run).map(|(_, rows)| rows);
        let done = rows.map_or(0, |rows| results::row::finished(&rows).len() as u64);
        seen.insert(set.id, (size, done));
        done
    }

    /// Interrupts the running set and waits for its process; the set stays in the queue.
    pub(crate) async fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        let sets = self.store.all().unwrap_or_default();
        let running: Vec<&Set> = sets.iter().filter(|set| set.state == SetState::Running).collect();
        for set in &running {
            let run = self.library.run(set.id);
            if let Some(process) = set.process.filter(|process| child::plays(*process, &run)) {
                child::interrupt(process);
                let mut left = GRACE;
                while locked(&run) && left > LOOK {
                    tokio::time::sleep(LOOK).await;
                    left -= LOOK;
                }
                if locked(&run) {
                    child::kill(process);
                }
            }
        }
    }
}

/// Whether a process has locked the run folder.
fn locked(run: &Path) -> bool {
    run.is_dir() && matches!(RunFolder::open(run), Err(results::Error::Locked { .. }))
}

/// Whether the run folder has all repetitions of the run.
fn complete(run: &Path) -> bool {
    results::folder::read_run(run).is_ok_and(|record| record["complete"] == json!(true))
}
