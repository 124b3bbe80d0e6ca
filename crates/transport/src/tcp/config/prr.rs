//! Options of proportional rate reduction (RFC 6937).

use super::*;

/// Options of proportional rate reduction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PrrConfig {
    /// Bound on sending below the target.
    pub bound: PrrBound,
    /// Unit of counting.
    pub unit: PrrUnit,
}

impl Default for PrrConfig {
    /// Slow start reduction bound, in bytes.
    fn default() -> Self {
        PrrConfig { bound: PrrBound::Ssrb, unit: PrrUnit::Bytes }
    }
}
