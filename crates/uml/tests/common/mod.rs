//! Helpers of tests with kernels: finding a kernel, running a scenario with it, and recordings of native ones.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

pub mod beside;

use scenario::{Model, NoFiles};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use uml::{KernelOutcome, Kernels, Options, kernel};

/// Scenario of a download over a slow link with an outage of ten seconds.
pub const SPIKE: &str = include_str!("../data/spike.toml");

/// Scenario of a flow between phone and server over 1 Mbit/s with a delay of 100 ms: further keys of the hop,
/// transport, application.
pub fn talk(hop: &str, transport: &str, app: &str) -> String {
    format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "1 Mbit/s"
        delay = "100 ms"
        {hop}
        [[flow]]
        name = "talk"
        from = "phone"
        to = "server"
        start = "1 s"
        transport = {transport}
        app = {app}
        [run]
        limit = "10 min"
        "#
    )
}

#[allow(clippy::disallowed_methods, reason = "a test that says where its kernel is")]
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Kernel and guest programs; `None` without a kernel, with a message.
pub fn kernels() -> Option<Kernels> {
    let cache =
        variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?.join("williwaw");
    let kernel = variable("WILLIWAW_LINUX").unwrap_or_else(|| kernel::place(&cache, "default"));
    if !kernel.is_file() {
        eprintln!("skipped: no kernel for virtual time; `williwaw linux build` makes one");
        return None;
    }
    let (init, chance) = kernel::guest_programs(&cache).expect("the program of a guest");
    let named = cache.join("kernels");
    let patience = Duration::from_secs(60);
    let folder = PathBuf::from("/");
    Some(Kernels { kernel, named, init, chance, place: std::env::temp_dir(), patience, folder })
}

/// First cell of a scenario, with `set` laid over it.
pub fn model(text: &str, set: &[&str]) -> Model {
    testkit::model(text, set)
}

pub fn play(kernels: &Kernels, model: &Model, repetition: u64) -> KernelOutcome {
    let options = Options { capture: true, ..Options::default() };
    uml::once(model, repetition, kernels, &options, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"))
}

/// [`kernels`], if the kernel can run programs.
pub fn kernels_for_programs() -> Option<Kernels> {
    let kernels = kernels()?;
    if let Err(lack) = kernel::has_overlays(&kernels.kernel) {
        eprintln!("skipped: {lack}");
        return None;
    }
    Some(kernels)
}

/// Whether guests find this program in the root of the host.
pub fn has(program: &str) -> bool {
    let there = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|place| std::path::Path::new(place).join(program).is_file());
    if !there {
        eprintln!("skipped: there is no {program} here");
    }
    there
}

/// Recorded counters of native kernels.
#[derive(serde::Deserialize)]
pub struct Recorded {
    scenario: String,
    /// Names of the counters.
    pub counters: Vec<String>,
    pub situation: Vec<Situation>,
}

#[derive(serde::Deserialize)]
pub struct Situation {
    pub name: String,
    pub text: String,
    pub set: Vec<String>,
    pub cell: Vec<Cell>,
}

#[derive(Clone, serde::Deserialize)]
pub struct Cell {
    pub sack: u8,
    pub frto: u8,
    pub timestamps: u8,
    /// Reason why counters differ in virtual time.
    pub differs: Option<String>,
    /// Counters of each run.
    pub runs: Vec<Vec<u64>>,
}

impl Cell {
    pub fn name(&self, situation: &Situation) -> String {
        format!("{}, sack {}, frto {}, timestamps {}", situation.name, self.sack, self.frto, self.timestamps)
    }
}

pub fn recorded() -> Recorded {
    toml::from_str(include_str!("../data/spurious.toml")).expect("the recorded runs")
}

impl Recorded {
    /// Scenario of a cell, without the grid.
    pub fn model(&self, situation: &Situation, cell: &Cell) -> Model {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = std::fs::read_to_string(root.join(&self.scenario)).expect("the scenario");
        let (text, _) = text.split_once("[grid]").expect("a grid");
        let own = [("tcp_sack", cell.sack), ("tcp_frto", cell.frto), ("tcp_timestamps", cell.timestamps)]
            .map(|(name, value)| format!("flow.download.transport.linux.sysctl.{name}={value}"));
        let set: Vec<String> = situation.set.iter().cloned().chain(own).collect();
        match scenario::read_with(&self.scenario, text.as_bytes(), &NoFiles, &set) {
            Ok(scenario) => scenario.first().clone(),
            Err(diagnostics) => panic!("{}", diagnostics.render(scenario::Style::default())),
        }
    }
}
