//! Decision on the RLC blocks of a radio block: header, soft bits of earlier transmissions, delivery to the receiver.

use crate::air::Medium;
use crate::direction::DirectionState;
use crate::geometry::Layout;
use crate::link::{Link, Soft};
use crate::tick::{BlockOnAir, Bursts, Reception};
use base::packet::Packet;
use radio::coding::Scheme;
use radio::rlc::receive::BlockPart;
use radio::rlc::send::Unit;
use radio::tdma::Tick;

/// Inputs of the decisions on the RLC blocks of a radio block.
pub(crate) struct Law<'a> {
    pub(crate) link: &'a Link,
    pub(crate) medium: &'a Medium,
    pub(crate) layout: &'a Layout,
    pub(crate) now: Tick,
    pub(crate) on: &'a BlockOnAir,
    pub(crate) met: &'a Reception,
    /// `None` with average curves.
    pub(crate) bursts: Option<&'a Bursts>,
    /// Random draws of the radio block.
    pub(crate) hash: u64,
}

impl Law<'_> {
    /// Whether the header is decoded; always with average curves.
    #[inline(always)]
    pub(crate) fn header(&self) -> bool {
        match self.bursts {
            Some(b) => self.link.header(&b.air, self.on.block.scheme, self.met.quality(), self.hash),
            None => true,
        }
    }

    /// Decides whether an RLC block is decoded, and passes it to the receiver. Returns 1 or 0 for decoded, and 1 or
    /// 0 for decoded for the first time. `second`: it is the second RLC block of the radio block; `heard`: the
    /// header is decoded.
    #[inline(always)]
    pub(crate) fn take<const WAY: usize>(
        &self,
        w: &mut DirectionState,
        delivered: &mut Vec<(u32, usize, Packet)>,
        rlc: &Unit,
        second: bool,
        heard: bool,
    ) -> (u64, u64) {
        if !heard {
            // The receiver does not know of the block. Its place may still have soft bits of an older block.
            if rlc.attempt == 0 {
                w.soft[place(w, rlc)] = Soft::default();
            }
            return (0, 0);
        }
        if !self.decodes(w, rlc, second) {
            return (0, 0);
        }
        let taken = w.receiver.take(rlc.bsn, rlc.part, rlc.last);
        if taken.duplicate {
            return (1, 0);
        }
        if w.sender.feed.is_due(taken.complete) {
            w.sender.feed.deliver(taken.complete, |packet| delivered.push((self.on.mobile, WAY, packet)));
        }
        (1, 1)
    }

    /// Whether an RLC block is decoded, given the header. A half of a resegmented block is not combined with earlier
    /// transmissions.
    #[inline(always)]
    fn decodes(&self, w: &mut DirectionState, rlc: &Unit, second: bool) -> bool {
        let scheme = self.on.block.scheme;
        if rlc.part != BlockPart::Whole {
            return self.decoded(scheme, &mut Soft::default(), second);
        }
        let at = place(w, rlc);
        // Soft bits of a new block are written and not read: no wait for the cache.
        let mut soft = if rlc.attempt == 0 { Soft::default() } else { w.soft[at] };
        let decoded = self.decoded(rlc.first_scheme, &mut soft, second);
        w.soft[at] = soft;
        decoded
    }

    /// Whether an RLC block is decoded, with the stored soft bits; `first` is the scheme of its first transmission.
    #[inline(always)]
    fn decoded(&self, first: Scheme, soft: &mut Soft, second: bool) -> bool {
        let hash = self.hash >> if second { 24 } else { 12 };
        let (scheme, met) = (self.on.block.scheme, self.met);
        if let Some(Bursts { air, heard }) = self.bursts {
            return self.link.data(air, heard, scheme, second, first, soft, hash);
        }
        let (m, cell) = (self.on.mobile as usize, self.on.cell as usize);
        let draw = self.medium.draw(self.layout, m, cell, self.now, hash << 28);
        self.link.data_average((met.mean(), met.ci()), scheme, first, soft, draw)
    }
}

/// Index of a block's soft bits.
#[inline(always)]
fn place(w: &DirectionState, rlc: &Unit) -> usize {
    rlc.bsn as usize & (w.soft.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptation::Chooser;
    use crate::config::Config;
    use crate::curve::Curves;
    use crate::direction::DOWN;
    use crate::link::Air;
    use radio::rlc::send::RadioBlock;

    /// EG-08: soft bits after transmissions of block `bsn` in MCS-9 whose headers are decoded as given, over bursts at
    /// `sinr`. The place has the soft bits of an older block.
    fn soft_after(bsn: u32, sinr: f32, headers: &[bool]) -> Soft {
        let config = Config::default();
        let layout = Layout::new(config.side, &config.radio, config.reuse);
        let (medium, link) = (Medium::new(&config, &layout, 1), Link::new(&config, &Curves::built_in()));
        let mut w = DirectionState::new(&config, DOWN, &Chooser::new(&config, &link));
        let places = w.soft.len() as u32;
        let air = Air { sinr: [sinr; 4] };
        let bursts = Bursts { air, heard: link.heard(&air) };
        let met = Reception::default();
        let mut send = |bsn: u32, attempt: usize, heard: bool| {
            let mut on = BlockOnAir::EMPTY;
            let first = Unit { bsn, attempt: attempt as u8, first_scheme: Scheme::Mcs9, ..on.block.first };
            on.block = RadioBlock { scheme: Scheme::Mcs9, first, second: None };
            let (on, met, bursts) = (&on, &met, Some(&bursts));
            let (link, medium, layout) = (&link, &medium, &layout);
            let law = Law { link, medium, layout, now: 0, on, met, bursts, hash: 1 };
            law.take::<DOWN>(&mut w, &mut Vec::new(), &on.block.first, false, heard);
        };
        (0..3).for_each(|attempt| send(bsn, attempt, true));
        headers.iter().enumerate().for_each(|(attempt, heard)| send(bsn + places, attempt, *heard));
        w.soft[(bsn % places) as usize]
    }

    /// EG-08: a block whose first header is lost combines its repeat with nothing: neither with that transmission nor
    /// with an older block. A header lost later keeps what was there.
    #[test]
    fn eg_08_a_lost_header_leaves_no_soft_bits_of_an_older_block() {
        let once = soft_after(7, 0.5, &[true]);
        assert_ne!(once, soft_after(7, 0.5, &[true, true]));
        assert_eq!(soft_after(7, 0.5, &[false]), Soft::default());
        assert_eq!(soft_after(7, 0.5, &[false, true]), once);
        assert_eq!(soft_after(7, 0.5, &[false, false, true]), once);
        assert_eq!(soft_after(7, 0.5, &[true, false]), once);
    }
}
