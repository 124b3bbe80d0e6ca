//! A scripted peer: a script says what comes in and what must leave, and when; it is played against
//! one sender or receiver in virtual time.
//!
//! The notation is a TOML file (format 1): `[options]` choose the TCP, `[[event]]`s are played in the
//! order of the file. Byte numbers are relative, the first data byte is 0. Times are seconds from the
//! moment the connection is established. A dialogue whose options are not offered is *unsupported*,
//! never passed.

pub mod arithmetic;
pub mod dialogue;
pub mod ladder;
mod matching;
mod observe;
pub mod options;
pub mod player;
pub mod stage;

pub use dialogue::{Dialogue, Unreadable};
pub use ladder::{Look, ladder};
pub use player::{Failure, Reading, Verdict, play};
