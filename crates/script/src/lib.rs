//! A scripted peer: a dialogue says what comes in and what must leave, and when; it is played against
//! one sender or receiver in virtual time.
//!
//! The notation is a TOML file (format 1): `[options]` choose the TCP, `[[event]]`s are played in the
//! order of the file. Byte numbers are relative, the first data byte is 0. Times are seconds from the
//! moment the connection is established. A dialogue whose options are not offered is *unsupported*,
//! never passed.

pub mod dialogue;
pub mod options;
pub mod player;

pub use dialogue::Dialogue;
pub use player::{Verdict, play};
