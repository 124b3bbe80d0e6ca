//! Options of segmentation at the sender: PSH flags, deferred groups, FIN, send buffer.

use super::*;

/// Options of segmentation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SegmentationConfig {
    /// Which data segments carry the flag PSH.
    pub push: Push,
    /// Deferral of a group smaller than the TSO size goal (`tcp_tso_should_defer`).
    pub defer: bool,
    /// Whether the FIN is sent with the last data.
    pub fin_with_data: bool,
    /// With `defer`: send buffer of Linux.
    pub send_buffer: SendBuffer,
}

impl Default for SegmentationConfig {
    /// Segments leave as soon as the windows permit, and without PSH.
    fn default() -> Self {
        SegmentationConfig {
            push: Push::None,
            defer: false,
            fin_with_data: false,
            send_buffer: SendBuffer { portion: 896, segment: 4352, most: 4 << 20 },
        }
    }
}
