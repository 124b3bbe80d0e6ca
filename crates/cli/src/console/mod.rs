//! Terminal side of the command: argument grammar, standard streams, signals, exit codes.

pub(crate) mod args;
pub(crate) mod clock;
pub(crate) mod environment;
pub(crate) mod exit;
pub(crate) mod interrupt;
pub(crate) mod lateness;
pub(crate) mod progress;
pub(crate) mod streams;
