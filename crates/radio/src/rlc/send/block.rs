//! Radio block with its one or two RLC data blocks, as the RLC sender gives it to the MAC (3GPP TS 44.060 section 10).

use super::super::Bsn;
use super::super::receive::BlockPart;
use crate::coding::Scheme;

base::named! {
    /// Reason of a transmission.
    pub enum Reason {
        /// First transmission.
        New = "new",
        /// A report marked the block missing.
        Missing = "missing",
        /// Pre-emptive retransmission: no missing and no new block could be sent.
        Idle = "idle",
    }
}

/// One RLC block of a radio block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Block sequence number.
    pub bsn: Bsn,
    /// Whole block or half.
    pub part: BlockPart,
    /// Reason of the transmission.
    pub reason: Reason,
    /// Number of earlier transmissions of the block.
    pub attempt: u8,
    /// No data follow in the queue: the block carries the final block indicator, or countdown value 0.
    pub last: bool,
    /// Coding scheme of the block's first transmission, which determines its content.
    pub first_scheme: Scheme,
}

/// Content of a radio block: one RLC block, or two with MCS-7 to MCS-9.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RadioBlock {
    /// Coding scheme of the radio block.
    pub scheme: Scheme,
    /// The first RLC block.
    pub first: Unit,
    /// The second RLC block, with MCS-7 to MCS-9.
    pub second: Option<Unit>,
}

impl RadioBlock {
    /// Place for a radio block, before [`super::Sender::next_into`].
    pub const EMPTY: RadioBlock = RadioBlock {
        scheme: Scheme::Mcs1,
        first: Unit {
            bsn: 0,
            part: BlockPart::Whole,
            reason: Reason::New,
            attempt: 0,
            last: false,
            first_scheme: Scheme::Mcs1,
        },
        second: None,
    };

    /// Its RLC blocks.
    #[inline]
    pub fn units(&self) -> impl Iterator<Item = Unit> + use<> {
        let (mut next, mut then) = (Some(self.first), self.second);
        std::iter::from_fn(move || std::mem::replace(&mut next, then.take()))
    }
}
