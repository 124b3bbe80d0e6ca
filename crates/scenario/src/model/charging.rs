//! Charging by volume on a link, at the gateway and in the radio network (catalogue CH-01, CH-02, CH-06).

/// Charging rule of a hop's volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charging {
    /// Billed share of retransmitted data, 0 to 1.
    pub resent: f64,
}

impl Charging {
    /// Billed bytes out of `bytes`, of which `resent` are retransmissions.
    pub fn bill(self, bytes: u64, resent: u64) -> f64 {
        bytes as f64 - (1.0 - self.resent) * resent as f64
    }
}
