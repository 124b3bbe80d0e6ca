//! Cache of shadow fading fields, shared by networks of cells with equal seed, name and shadowing parameters.

use crate::config::Config;
use crate::geometry::Layout;
use crate::shadow::Shadow;
use base::rng::{Seed, fnv1a};
use std::sync::{Arc, Mutex, PoisonError};

/// Key of the cache: all parameters of the fields.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Key {
    seed: Seed,
    name: u64,
    side: u32,
    numbers: [u64; 4],
}

/// Recently used fields. Generating them costs as much as a minute of a small network.
static LATELY: Mutex<Vec<(Key, Arc<Shadow>)>> = Mutex::new(Vec::new());
/// Number of cached fields: the repetitions of a figure, whose variants use them in turn. The fields of 75
/// cells take 7 MB.
const KEPT: usize = 10;

/// Fields of a configuration; cached fields equal generated ones.
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
