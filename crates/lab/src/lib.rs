//! The virtual clock: runs, grids, repetitions, reproduced experiments.
