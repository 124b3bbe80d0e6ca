//! Simulator inside of a web page: checks, edits and runs of scenarios in virtual time, by requests and
//! responses in JSON.
//!
//! It serves the control tool's page (`crates/serve/page`) without a server. [`answer`] is the only function.
//! In WebAssembly (`wasm32-unknown-unknown`) `exports.rs` passes requests and responses through one buffer;
//! the page's worker (`page/worker.js`) calls it. Built natively, the same function serves the tests.
//!
//! A browser has no files and one thread: a scenario that names files is refused at its line, and repetitions
//! run one after the other. Numbers equal those of `williwaw run` to the bit (`tests/native.rs`,
//! `page/test.mjs`).

#[cfg(target_arch = "wasm32")]
mod exports;
mod request;

pub use request::{Page, answer};
