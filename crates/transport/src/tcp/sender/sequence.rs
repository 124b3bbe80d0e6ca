//! Send sequence space: una, nxt, the highest byte sent, and the recovery point.
//!
//! Stream offsets of 64 bits (RFC 9293 section 3.3.1, without wrap-around): the SYN is 0, data start at 1, a FIN
//! follows the data.

/// The send sequence space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// SND.UNA: oldest byte not acknowledged.
    pub(super) una: u64,
    /// SND.NXT: next byte to send; below `max` after a go-back.
    pub(super) nxt: u64,
    /// One past the highest byte sent.
    pub(super) max: u64,
    /// One past the last byte that the application wrote.
    pub(super) end: u64,
    /// Recovery point: one past the highest byte sent when recovery or a timeout began.
    pub(super) recover: u64,
    /// The application has closed the stream.
    pub(super) closed: bool,
    /// A FIN takes a sequence number; a one-way connection has none.
    pub(super) fin: bool,
}

impl Sequence {
    /// State before the SYN. `fin`: the connection ends with a FIN.
    pub(super) fn new(fin: bool) -> Self {
        Sequence { una: 0, nxt: 0, max: 0, end: 1, recover: 0, closed: false, fin }
    }

    /// Bytes outstanding.
    pub(super) fn flight(&self) -> u64 {
        self.max - self.una
    }

    /// One past the last byte to be sent, the FIN included.
    pub(super) fn fin_end(&self) -> u64 {
        self.end + u64::from(self.closed && self.fin)
    }

    /// The stream is closed, and all data and the FIN were acknowledged.
    pub(super) fn done(&self) -> bool {
        self.closed && self.una >= self.fin_end()
    }
}
