//! Charging by volume on a link, at the gateway and in the radio network (catalogue CH-01, CH-02, CH-06).

/// What is billed of the volume that a hop counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charging {
    /// Share of its volume at which data that the transport sends again are billed, 0 to 1.
    pub resent: f64,
}

impl Charging {
    /// Billed bytes of so many bytes, of which so many were sent before.
    pub fn bill(self, bytes: u64, resent: u64) -> f64 {
        bytes as f64 - (1.0 - self.resent) * resent as f64
    }
}
