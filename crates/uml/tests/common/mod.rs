//! What tests with kernels have in common: where a kernel is, and how a scenario is played with it.

#![allow(unreachable_pub, dead_code, reason = "several tests include this file, and none needs all of it")]

use scenario::{Model, NoFiles};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use uml::{Kernels, Options, Outcome, kernel};

#[allow(clippy::disallowed_methods, reason = "a test that says where its kernel is")]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where a kernel is; none, and a word about it, where there is none.
pub fn kernels() -> Option<Kernels> {
    let cache =
        variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?.join("williwaw");
    let kernel = variable("WILLIWAW_LINUX").unwrap_or_else(|| kernel::place(&cache, "default"));
    if !kernel.is_file() {
        eprintln!("skipped: no kernel for virtual time; `williwaw linux build` makes one");
        return None;
    }
    let (init, chance) = kernel::guest_programs(&cache).expect("what runs in a guest");
    let named = cache.join("kernels");
    let patience = Duration::from_secs(60);
    let folder = PathBuf::from("/");
    Some(Kernels { kernel, named, init, chance, place: std::env::temp_dir(), patience, folder })
}

pub fn model(text: &str, set: &[&str]) -> Model {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    match scenario::read_with("test.toml", text.as_bytes(), &NoFiles, &set) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}", diagnostics.render(scenario::Style::default())),
    }
}

pub fn play(kernels: &Kernels, model: &Model, repetition: u64) -> Outcome {
    let options = Options { capture: true, ..Options::default() };
    uml::once(model, repetition, kernels, &options, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"))
}

/// The same, of a kernel that can run programs.
pub fn kernels_for_programs() -> Option<Kernels> {
    let kernels = kernels()?;
    if let Err(lack) = kernel::has_overlays(&kernels.kernel) {
        eprintln!("skipped: {lack}");
        return None;
    }
    Some(kernels)
}

/// Whether a program is where programs in a guest find it.
pub fn has(program: &str) -> bool {
    let there = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|place| std::path::Path::new(place).join(program).is_file());
    if !there {
        eprintln!("skipped: there is no {program} here");
    }
    there
}
