//! Random scenarios, their captures, and comparison of the analyser's verdicts with the simulator's ground truth.

#![allow(dead_code, unreachable_pub, reason = "tests and the example use parts of it")]

pub mod changes;
pub mod meeting;
pub mod observed;
pub mod scenarios;
