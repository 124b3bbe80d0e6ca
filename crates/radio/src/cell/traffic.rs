//! Traffic classes of a mobile: TBFs kept by class, RLC retransmission by class (non-persistent mode).
//!
//! A packet belongs to the first class whose rule matches. A TBF is kept for the longest time that any class
//! asks of those carried since it was last idle. A missing block with frames of unretransmitted classes only
//! is abandoned: both ends treat it as received, and its frames are lost.

use super::config::UserConfig;
use super::frames::FrameId;
use super::user::User;
use super::{Direction, Side};
use crate::rlc::receive::BlockPart;
use base::packet::Packet;
use base::{Span, Time};

/// Whether TBFs of each direction may be kept.
pub(super) fn keeps(config: &UserConfig) -> [bool; 2] {
    let usual = [config.tbf.hold_down, config.tbf.hold_up];
    [0, 1].map(|way: usize| {
        let mut all = config.traffic.iter().filter_map(|t| t.hold[way]).chain([usual[way]]);
        config.tbf.permanent || all.any(|hold| !hold.is_zero())
    })
}

impl User {
    /// The traffic class of a packet.
    pub(super) fn traffic_of(&self, packet: &Packet) -> u8 {
        let class = self.traffic.iter().position(|t| t.rule.holds(packet));
        class.map_or(u8::MAX, |i| i as u8)
    }

    /// A frame joins RLC: its class sets the time for which the TBF is kept.
    pub(super) fn ask_hold(&mut self, direction: Direction, id: FrameId) {
        let way = usize::from(direction == Direction::Up);
        let class = self.traffic.get(usize::from(self.frames.get(id).traffic));
        let hold = class.and_then(|t| t.hold[way]).unwrap_or(self.usual_hold(direction));
        self.hold[way] = self.hold[way].max(hold);
    }

    fn usual_hold(&self, direction: Direction) -> Span {
        if direction == Direction::Up { self.tbf.hold_up } else { self.tbf.hold_down }
    }

    /// Abandons missing blocks without frames to be retransmitted. The last block of all is retransmitted,
    /// because it carries the end of the TBF.
    pub(super) fn forgive(&mut self, direction: Direction, t: Time, side: &mut Side) {
        if !self.forgives {
            return;
        }
        let User { frames, traffic, down, up, .. } = self;
        let flow = if direction == Direction::Up { up } else { down };
        let repeats =
            |id: FrameId| traffic.get(usize::from(frames.get(id).traffic)).is_none_or(|class| class.repeats);
        let mut given_up = Vec::new();
        let mut from = 0;
        while let Some(bsn) = flow.sender.missing_from(from) {
            from = bsn + 1;
            let mut inside = flow.sender.feed.in_block(bsn).peekable();
            if inside.peek().is_some() && from < flow.sender.vs() && !inside.any(|p| repeats(p.token)) {
                given_up.push(bsn);
            }
        }
        if given_up.is_empty() {
            return;
        }
        let mut complete = flow.receiver.vq();
        for bsn in given_up {
            let hit: Vec<FrameId> =
                flow.sender.feed.in_block(bsn).filter(|p| !p.delivered).map(|p| p.token).collect();
            hit.into_iter().for_each(|id| frames.get_mut(id).spoiled = true);
            flow.sender.give_up(bsn);
            complete = flow.receiver.take(bsn, BlockPart::Whole, false).complete;
        }
        self.deliver(direction, complete, t, side);
        let flow = if direction == Direction::Up { &mut self.up } else { &mut self.down };
        flow.sender.feed.release(flow.sender.va());
    }

    /// Frames of a lost TBF that are sent again have all their blocks again.
    pub(super) fn unspoil(&mut self, direction: Direction) {
        if !self.forgives {
            return;
        }
        let flow = if direction == Direction::Up { &self.up } else { &self.down };
        for pdu in flow.sender.feed.pdus().filter(|p| !p.delivered) {
            self.frames.get_mut(pdu.token).spoiled = false;
        }
    }
}
