//! The shadowing fields of a repetition, shared by the cells of a grid that have the same weather.

use crate::config::Config;
use crate::geometry::Layout;
use crate::shadow::Shadow;
use base::rng::{Seed, fnv1a};
use std::sync::{Arc, Mutex, PoisonError};

/// What the fields depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Key {
    seed: Seed,
    name: u64,
    side: u32,
    numbers: [u64; 4],
}

/// Fields in use lately. Making them costs as much as a minute of a small network.
static LATELY: Mutex<Vec<(Key, Arc<Shadow>)>> = Mutex::new(Vec::new());
/// How many are kept: a figure's repetitions: its variants meet them one after the other. A field of 75 cells takes 7 MB.
const KEPT: usize = 10;

/// The fields for a configuration; equal to newly made ones.
pub(crate) fn shadow(config: &Config, layout: &Layout, name: &str, seed: Seed) -> Arc<Shadow> {
    let r = &config.radio;
    let numbers = [r.shadow_db, r.shadow_distance, r.shadow_sites, r.site_distance].map(f64::to_bits);
    let key = Key { seed, name: fnv1a(name), side: config.side, numbers };
    let lately = || LATELY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, shadow)) = lately().iter().find(|(k, _)| *k == key) {
        return shadow.clone();
    }
    let stream = seed.stream(name, "shadowing");
    let made = Arc::new(Shadow::new(layout, r.shadow_db, r.shadow_distance, r.shadow_sites, stream));
    let mut kept = lately();
    if kept.len() >= KEPT {
        kept.remove(0);
    }
    kept.push((key, made.clone()));
    made
}
