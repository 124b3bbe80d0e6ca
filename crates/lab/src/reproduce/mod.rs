//! Reproduction of published experiments: types of results (published and measured values, claims, readings,
//! totals) and settings.
//!
//! A value is inside if it differs by at most max(fixed part, 1.96 s sqrt(1/n + 1/m)). Here s is the measured
//! standard deviation, n the number of repetitions of the published mean, m the number of measured repetitions. The
//! fixed part is 5 % for times and counts, 0.1 for counts below 2, 1 % for numbers of segments, 0.02 for ratios. A
//! published percentile p is inside if it differs by at most the fixed part, or lies between the measured
//! percentiles p -+ 1.96 sqrt(p (1 - p) (1/n + 1/m)), the 95 % interval by chance. A value outside is explained if
//! the file of the experiment gives a reason for it, and the measured value is still the one for which the reason
//! was written (ADR 0036).

pub mod catalogue;
pub mod claim;
pub mod experiment;
mod figure;
mod grid;
mod groups;
pub mod json;
pub mod kernel_comparison;
mod laboratory;
pub mod page;
mod single_pictures;
mod value;
mod verdict;

pub use laboratory::{Laboratory, weights};

use crate::sweep::{Progress, SweepError};
use experiment::{Claim, Experiment, GROUPS, Group};
use report::{Figure, Picture};

/// A published value and the measured one.
#[derive(Clone, Debug)]
pub struct Value {
    /// Labels, joined by slashes.
    pub key: String,
    /// Published value.
    pub published: f64,
    /// Mean of the repetitions.
    pub measured: f64,
    /// 95 % interval of the mean.
    pub ci95: Option<[f64; 2]>,
    /// Unit, empty for counts and ratios.
    pub unit: String,
    /// Largest difference that counts as inside.
    pub tolerance: f64,
    /// True if the value is inside the tolerance.
    pub within: bool,
    /// True if the value is inside by the tolerance before ADR 0036.
    pub former: bool,
    /// Reason that explains a value outside; otherwise `None`.
    pub why: Option<String>,
    /// Value for which a reason was written, if the measured value is outside and no longer near that value.
    pub moved: Option<f64>,
    /// True for a value inside for which the experiment still lists a known difference.
    pub needless: bool,
    /// Value with current Linux kernels on this path, if measured: mean and 95 % interval.
    pub linux: Option<(f64, Option<[f64; 2]>)>,
}

/// A claim and its result.
#[derive(Clone, Debug)]
pub struct ClaimResult {
    /// `C001`.
    pub id: String,
    /// Statement in words.
    pub text: String,
    /// True if the claim holds.
    pub holds: bool,
    /// Result by the rule before ADR 0036, in which `<=` failed only if the opposite was significant.
    pub former: bool,
    /// Difference between the test and the catalogue's test, in words; `equal` if there is none, `None` if they
    /// were not compared.
    pub letter: Option<String>,
    /// The comparisons, as text.
    pub detail: String,
    /// Reason of a failed claim, if every failing comparison is explained.
    pub why: Option<String>,
    /// First repetition in which an existence claim holds.
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

    /// True if the test equals that of the catalogue.
    pub fn is_literal(&self) -> bool {
        self.letter.as_deref() == Some("equal")
    }
}

/// A claim that cannot be tested here.
#[derive(Clone, Debug)]
pub struct Untested {
    /// `C091`.
    pub id: String,
    /// Statement in words.
    pub text: String,
    /// Reason why the claim cannot be tested.
    pub why: String,
}

/// Results with one reading of an open rule.
#[derive(Clone, Debug)]
pub struct ReadingResult {
    /// Short name.
    pub name: String,
    /// True for the reading that the scenario uses.
    pub chosen: bool,
    /// Measured values by key.
    pub measured: Vec<(String, f64)>,
    /// Number of values inside.
    pub within: usize,
    /// Claims of the experiment: id, whether it holds, and its comparisons.
    pub claims: Vec<(String, bool, String)>,
}

/// Robustness of the verdicts: share of values inside over several seeds, with the paper's number of
/// repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Number of seeds.
    pub seeds: u32,
    /// Repetitions per seed.
    pub repetitions: u32,
    /// Values inside, over all seeds.
    pub within: usize,
    /// Number of values, over all seeds.
    pub of: usize,
}

/// An experiment with its results.
pub struct Reproduced {
    /// Description of the experiment.
    pub experiment: Experiment,
    /// Published and measured values.
    pub values: Vec<Value>,
    /// Results of its claims.
    pub claims: Vec<ClaimResult>,
    /// Claims that cannot be tested here, with reasons.
    pub untested: Vec<Untested>,
    /// Results of the readings of open rules.
    pub readings: Vec<ReadingResult>,
    /// Share of values inside over several seeds.
    pub share: Option<Share>,
    /// Redrawn figures.
    pub figures: Vec<Figure>,
    /// Pictures with their headings.
    pub pictures: Vec<(String, Picture)>,
    /// Number of runs, including those shared with other experiments.
    pub runs: u64,
    /// Comparison with current Linux kernels, if requested and possible.
    pub kernels: Option<kernel_comparison::KernelComparison>,
}

/// Error of a reproduction.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReproduceError {
    /// No experiment has this id.
    Unknown(String),
    /// Fault in the experiment's data, which are compiled in.
    Data(String),
    /// The sweep failed.
    Sweep(SweepError),
    /// The caller set the stop flag.
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

/// Seeds, repetitions and optional parts of a reproduction.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Seed of the evaluated runs; the rules prescribe 1.
    pub seed: u64,
    /// Number of repetitions in place of each experiment's own.
    pub repetitions: Option<u32>,
    /// Number of seeds for the share inside; 0 for none.
    pub seeds: u32,
    /// Repetitions for each reading of an open rule; 0 for none.
    pub reading_repetitions: u32,
    /// Draw pictures.
    pub pictures: bool,
    /// Upper bound of repetitions with current kernels; 0 for none.
    pub kernels: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { seed: 1, repetitions: None, seeds: 0, reading_repetitions: 0, pictures: true, kernels: 0 }
    }
}

impl Settings {
    /// Number of repetitions of an experiment. A larger number than the experiment's own applies only to experiments
    /// with at least 100: others are single runs, or take too long.
    pub fn of(&self, experiment: &Experiment) -> u32 {
        match (self.repetitions, experiment.repetitions) {
            (Some(n), own) if own >= 100 || n < own => n,
            (_, own) => own,
        }
    }
}

/// Id and title of every experiment, by group.
pub fn list() -> Result<Vec<(String, String)>, ReproduceError> {
    let mut all = Vec::new();
    for group in GROUPS {
        for e in group.experiments()? {
            all.push((e.id, e.title));
        }
    }
    Ok(all)
}

/// Scenario file of an experiment.
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

/// Totals over several experiments.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Published values.
    pub values: usize,
    /// Values inside.
    pub within: usize,
    /// Values outside that a reason explains.
    pub explained: usize,
    /// Values inside by the band before ADR 0036.
    pub former_within: usize,
    /// Number of claims.
    pub claims: usize,
    /// Claims that hold.
    pub hold: usize,
    /// Claims that fail, with reasons for all failing comparisons.
    pub claims_explained: usize,
    /// Claims that held by the rule before ADR 0036.
    pub former_hold: usize,
    /// Claims whose test equals the catalogue's.
    pub literal: usize,
    /// Claims of `literal` that hold.
    pub literal_hold: usize,
    /// Claims that cannot be tested here; `claims` does not include them.
    pub untested: usize,
}

impl Totals {
    /// Totals over these experiments.
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

    /// True if every value is inside or explained, and every claim holds or is explained.
    pub fn good(&self) -> bool {
        self.within + self.explained == self.values && self.hold + self.claims_explained == self.claims
    }
}

/// Progress callback that does nothing.
pub fn quiet(_: Progress) {}
