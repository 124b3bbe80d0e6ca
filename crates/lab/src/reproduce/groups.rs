//! Groups of published experiments: the folders of `experiments/`, found by the build script and compiled in.

use super::experiment::Group;

include!(concat!(env!("OUT_DIR"), "/groups.rs"));
