//! Options of CUBIC (RFC 9438).

use super::*;

/// Options of CUBIC.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CubicConfig {
    /// Variant of the curve.
    pub curve: CubicCurve,
    /// Fast convergence.
    pub fast_convergence: bool,
}

impl Default for CubicConfig {
    /// RFC 9438, with fast convergence.
    fn default() -> Self {
        CubicConfig { curve: CubicCurve::Rfc9438, fast_convergence: true }
    }
}
