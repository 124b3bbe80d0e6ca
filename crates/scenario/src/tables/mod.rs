//! Tables of the scenario file: keys, value types and checks, by subject.

pub(crate) mod flow;
pub(crate) mod path;
pub(crate) mod run;
pub(crate) mod system;
