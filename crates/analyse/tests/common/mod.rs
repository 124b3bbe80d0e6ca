//! Random scenarios, their captures, and the simulator's truth beside the analyser's verdicts.

#![allow(dead_code, unreachable_pub, reason = "tests and the example use parts of it")]

pub mod changes;
pub mod meeting;
pub mod observed;
pub mod scenarios;
