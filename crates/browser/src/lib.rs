//! Scenarios and repetitions in virtual time for a web page, by requests and answers in JSON.
//!
//! It answers the control tool's page (`crates/serve/page`) where that has no server. [`answer`] is the whole interface. In WebAssembly (`wasm32-unknown-unknown`) the exports of `exports.rs` carry it over
//! one buffer; the page's worker (`page/worker.js`) calls them. Built natively the same function serves the tests.
//!
//! A browser has no files and one thread: a scenario that names files is refused at its line, and repetitions run one
//! after the other. Numbers are those of `williwaw run` to the bit (`tests/native.rs`, `page/test.mjs`).

#[cfg(target_arch = "wasm32")]
mod exports;
mod request;

pub use request::{Page, answer};
