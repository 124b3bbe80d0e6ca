//! Groups of published experiments: the folders of `experiments/`, which the build script finds and compiles
//! in.

use super::experiment::Group;

include!(concat!(env!("OUT_DIR"), "/groups.rs"));
