//! Reproduction of published experiments: every published value beside the measured one, every claim as a test.
//!
//! A value is inside if it is off by at most max(a fixed part, 1.96 s sqrt(1/n + 1/m)): s the measured standard
//! deviation, n the repetitions behind the published mean, m ours. The fixed part is 5 % for times and counts, 0.1 for
//! counts below 2, 1 % for numbers of segments, 0.02 for ratios. A published percentile p is inside if it is off by no
//! more than the fixed part, or lies between our percentiles p -+ 1.96 sqrt(p (1 - p) (1/n + 1/m)), where 19 of 20
//! samples of n have theirs. A value outside is explained if its cell has a reason and still has the value that the
//! reason names (ADR 0036).

pub mod catalogue;
pub mod claim;
pub mod experiment;
mod figure;
mod grid;
mod groups;
pub mod json;
mod laboratory;
pub mod page;
mod scene;
pub mod today;
mod value;
mod verdict;

pub use laboratory::{Laboratory, weights};

use crate::sweep::{Progress, SweepError};
use experiment::{Claim, Experiment, GROUPS, Group};
use report::{Figure, Picture};

/// One published value beside what was measured.
#[derive(Clone, Debug)]
pub struct Value {
    /// Labels joined with slashes.
    pub key: String,
    /// As printed in the group.
    pub published: f64,
    /// Mean of our repetitions.
    pub measured: f64,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Unit, empty for counts and ratios.
    pub unit: String,
    /// How far off it may be.
    pub tolerance: f64,
    /// It is no farther off.
    pub within: bool,
    /// It is no farther off than the band until ADR 0036 allowed.
    pub former: bool,
    /// Outside, and the value that a reason explains.
    pub why: Option<String>,
    /// Outside, and no longer the value that a reason explains, which is this one.
    pub moved: Option<f64>,
    /// Inside, and there is a reason for a difference.
    pub needless: bool,
    /// What kernels of today make of the same path, if they were asked: mean and its 95 % interval.
    pub linux: Option<(f64, Option<[f64; 2]>)>,
}

/// A claim and what came of it.
#[derive(Clone, Debug)]
pub struct ClaimResult {
    /// `C001`.
    pub id: String,
    /// In words.
    pub text: String,
    /// It holds.
    pub holds: bool,
    /// It held by the judgement until ADR 0036, in which `<=` failed only where the opposite was significant.
    pub former: bool,
    /// How the test departs from the catalogue's; `equal` if it does not, nothing if they were not compared.
    pub letter: Option<String>,
    /// What was compared.
    pub detail: String,
    /// It does not hold, and each comparison that fails has the values that a reason explains.
    pub why: Option<String>,
    /// For a claim that something exists: the first repetition in which it does.
    pub witness: Option<u64>,
}

impl ClaimResult {
    fn new(claim: &Claim, holds: bool) -> Self {
        ClaimResult {
            id: claim.id.clone(),
            text: claim.text.clone(),
            holds,
            former: holds,
            letter: claim.letter.clone(),
            detail: String::new(),
            why: None,
            witness: None,
        }
    }

    /// Its test is the catalogue's.
    pub fn is_literal(&self) -> bool {
        self.letter.as_deref() == Some("equal")
    }
}

/// A claim that cannot be tested here.
#[derive(Clone, Debug)]
pub struct Untested {
    /// `C091`.
    pub id: String,
    /// In words.
    pub text: String,
    /// Why not.
    pub why: String,
}

/// How many values one reading of an open rule puts inside.
#[derive(Clone, Debug)]
pub struct ReadingResult {
    /// In a few words.
    pub name: String,
    /// It is the one the scenario uses.
    pub chosen: bool,
    /// Values by key, measured.
    pub measured: Vec<(String, f64)>,
    /// How many are inside.
    pub within: usize,
    /// The experiment's claims: id, whether it holds, and the comparisons.
    pub claims: Vec<(String, bool, String)>,
}

/// How robust the verdicts are: the share inside over several seeds at the paper's own repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Seeds tried.
    pub seeds: u32,
    /// Repetitions each.
    pub repetitions: u32,
    /// Values inside, over all seeds.
    pub within: usize,
    /// Values in all.
    pub of: usize,
}

/// An experiment that was run.
pub struct Reproduced {
    /// What it is.
    pub experiment: Experiment,
    /// Published beside measured.
    pub values: Vec<Value>,
    /// Claims.
    pub claims: Vec<ClaimResult>,
    /// Claims that cannot be tested here, with the reason.
    pub untested: Vec<Untested>,
    /// Readings of open rules.
    pub readings: Vec<ReadingResult>,
    /// Over several seeds.
    pub share: Option<Share>,
    /// Figures drawn anew.
    pub figures: Vec<Figure>,
    /// Pictures with their headings.
    pub pictures: Vec<(String, Picture)>,
    /// Runs that were made for it alone or shared with others.
    pub runs: u64,
    /// Beside kernels of today, if they were asked and can.
    pub today: Option<today::Today>,
}

/// Why an experiment could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReproduceError {
    /// There is no such experiment.
    Unknown(String),
    /// Its data are not right: a fault of ours.
    Data(String),
    /// It could not be run.
    Sweep(SweepError),
    /// It was interrupted.
    Stopped,
}

impl From<experiment::DataError> for ReproduceError {
    fn from(error: experiment::DataError) -> Self {
        ReproduceError::Data(error.to_string())
    }
}

impl From<SweepError> for ReproduceError {
    fn from(error: SweepError) -> Self {
        ReproduceError::Sweep(error)
    }
}

/// Which seeds and how many repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of the judged runs; the rules say 1.
    pub seed: u64,
    /// Repetitions instead of each experiment's own.
    pub repetitions: Option<u32>,
    /// Seeds for the share inside; 0: none.
    pub seeds: u32,
    /// Repetitions for each reading of an open rule; 0: none.
    pub reading_repetitions: u32,
    /// Draw pictures.
    pub pictures: bool,
    /// Most repetitions that kernels of today play beside the study's senders; 0: none.
    pub today: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { seed: 1, repetitions: None, seeds: 0, reading_repetitions: 0, pictures: true, today: 0 }
    }
}

impl Settings {
    /// Repetitions of an experiment. Single runs stay single, and what was made small because it takes long stays small.
    pub fn of(&self, experiment: &Experiment) -> u32 {
        match (self.repetitions, experiment.repetitions) {
            (Some(n), own) if own >= 100 || n < own => n,
            (_, own) => own,
        }
    }
}

/// Every experiment's id and title, by group.
pub fn list() -> Result<Vec<(String, String)>, ReproduceError> {
    let mut all = Vec::new();
    for group in GROUPS {
        for e in group.experiments()? {
            all.push((e.id, e.title));
        }
    }
    Ok(all)
}

/// The scenario file behind an experiment.
pub fn scenario_text(id: &str) -> Option<&'static str> {
    let (group, experiment) = find(id).ok()?;
    group.file(&format!("{}.scenario.toml", experiment.scenario?))
}

fn find(id: &str) -> Result<(&'static Group, Experiment), ReproduceError> {
    for group in GROUPS {
        let experiments = group.experiments()?;
        if let Some(e) = experiments.into_iter().find(|e| e.id == id) {
            return Ok((group, e));
        }
    }
    Err(ReproduceError::Unknown(id.to_owned()))
}

/// Adds up several experiments.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Published values.
    pub values: usize,
    /// Those inside.
    pub within: usize,
    /// Those outside that a reason explains.
    pub explained: usize,
    /// Those inside by the band until ADR 0036.
    pub former_within: usize,
    /// Claims.
    pub claims: usize,
    /// Those that hold.
    pub hold: usize,
    /// Those that do not, and whose failing comparisons are explained.
    pub claims_explained: usize,
    /// Those that held by the judgement until ADR 0036.
    pub former_hold: usize,
    /// Claims whose test is the catalogue's.
    pub literal: usize,
    /// Those of them that hold.
    pub literal_hold: usize,
    /// Claims that cannot be tested here, not counted above.
    pub untested: usize,
}

impl Totals {
    /// Over experiments that were run.
    pub fn of(all: &[Reproduced]) -> Totals {
        let mut t = Totals::default();
        for r in all {
            let values = |wanted: fn(&Value) -> bool| r.values.iter().filter(|v| wanted(v)).count();
            let claims = |wanted: fn(&ClaimResult) -> bool| r.claims.iter().filter(|c| wanted(c)).count();
            t.values += r.values.len();
            t.within += values(|v| v.within);
            t.explained += values(|v| v.why.is_some());
            t.former_within += values(|v| v.former);
            t.claims += r.claims.len();
            t.untested += r.untested.len();
            t.hold += claims(|c| c.holds);
            t.literal += claims(ClaimResult::is_literal);
            t.literal_hold += claims(|c| c.holds && c.is_literal());
            t.claims_explained += claims(|c| c.why.is_some());
            t.former_hold += claims(|c| c.former);
        }
        t
    }

    /// Everything is as published, or explained.
    pub fn good(&self) -> bool {
        self.within + self.explained == self.values && self.hold + self.claims_explained == self.claims
    }
}

/// A progress report that says nothing.
pub fn quiet(_: Progress) {}
