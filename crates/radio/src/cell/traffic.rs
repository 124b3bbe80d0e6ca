//! Traffic classes of a mobile: TBF release delay by class, RLC retransmission by class (non-persistent mode).
//!
//! A packet belongs to the first class whose rule matches. A TBF is kept for the longest delay among the classes whose
//! frames it has carried since it was last idle. A missing block that has only frames of classes without retransmission
//! is abandoned: sender and receiver treat it as received, and its frames are lost.

use super::config::UserConfig;
use super::frames::FrameId;
use super::user::User;
use super::{Direction, Side};
use crate::rlc::receive::BlockPart;
use base::packet::Packet;
use base::{Span, Time};

/// Whether TBFs can be kept without data, downlink and uplink.
pub(super) fn keeps(config: &UserConfig) -> [bool; 2] {
    let usual = [config.tbf.hold_down, config.tbf.hold_up];
    [0, 1].map(|way: usize| {
        let mut all = config.traffic.iter().filter_map(|t| t.hold[way]).chain([usual[way]]);
        config.tbf.permanent || all.any(|hold| !hold.is_zero())
    })
}

impl User {
    /// Index of the packet's traffic class; `u8::MAX` if no rule matches.
    pub(super) fn traffic_of(&self, packet: &Packet) -> u8 {
        let class = self.traffic.iter().position(|t| t.rule.holds(packet));
        class.map_or(u8::MAX, |i| i as u8)
    }

    /// A frame enters RLC: its class may extend the release delay of the TBF.
    pub(super) fn ask_hold(&mut self, direction: Direction, id: FrameId) {
        let way = usize::from(direction == Direction::Up);
        let class = self.traffic.get(usize::from(self.frames.get(id).traffic));
        let hold = class.and_then(|t| t.hold[way]).unwrap_or(self.usual_hold(direction));
        self.hold[way] = self.hold[way].max(hold);
    }

    fn usual_hold(&self, direction: Direction) -> Span {
        if direction == Direction::Up { self.tbf.hold_up } else { self.tbf.hold_down }
    }

    /// Abandons missing blocks that have only frames of classes without retransmission. The last block sent is never
    /// abandoned, because it may carry the end of the TBF.
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

    /// Clears the marks of abandoned blocks after the loss of a TBF: the next TBF sends all blocks of the frames.
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
