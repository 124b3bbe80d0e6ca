//! Cache of shadow fading fields, shared by networks of cells with equal seed, name and shadowing parameters.

use crate::config::Config;
use crate::geometry::Layout;
use crate::shadow::Shadow;
use base::rng::{Seed, fnv1a};
use std::sync::{Arc, Mutex, PoisonError};

/// Key of the cache: all parameters that determine the fields.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Key {
    seed: Seed,
    /// Hash of the network's name.
    name: u64,
    /// Sites along one side of the torus.
    side: u32,
    /// Bits of deviation, decorrelation distance, site correlation and site distance.
    numbers: [u64; 4],
}

/// The last generated fields, oldest first. Their generation takes as long as the simulation of one minute of a small
/// network.
static LATELY: Mutex<Vec<(Key, Arc<Shadow>)>> = Mutex::new(Vec::new());
/// Maximum number of cached entries: the usual number of repetitions of a figure, whose variants use equal fields. An
/// entry for 75 cells takes 7 MB.
const KEPT: usize = 10;

/// Shadow fading fields of a configuration, from the cache or generated; `name` keys their random stream.
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
